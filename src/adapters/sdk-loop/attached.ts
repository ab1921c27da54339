import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import { clashes } from '../../dispatcher/yielding.ts'
import { HookspanError } from '../../internal/errors.ts'
import type { Fields } from '../../internal/expect.ts'
import { wrongTarget } from '../wrong-target.ts'

/** What is observed: each object once, by one dispatcher. */
export class ObservedOnce {
  readonly #observed = new WeakMap<
    object,
    { readonly dispatcher: HookDispatcher; readonly undo: () => void }
  >()

  /**
   * Observes an object; one that is observed already from now on in this way.
   *
   * @throws HookspanError `INVALID_OPTION` with the message `clash` for one that is observed by another dispatcher.
   */
  observe(object: object, dispatcher: HookDispatcher, clash: string, patch: () => () => void): void {
    const before = this.#observed.get(object)
    if (clashes(before?.dispatcher, dispatcher)) throw new HookspanError('INVALID_OPTION', clash)
    before?.undo()
    this.#observed.set(object, { dispatcher, undo: patch() })
  }

  /** Leaves the object as it was before. */
  detach<T extends object>(object: T): T {
    this.#observed.get(object)?.undo()
    this.#observed.delete(object)
    return object
  }
}

/** The objects of one kind that `observer` observes. */
export class AttachedObjects extends ObservedOnce {
  /** The function that observes them, as messages name it. */
  readonly #observer: string
  readonly #what: string
  readonly #is: (object: object) => boolean
  readonly #mend: (object: object) => string | undefined

  /**
   * @param is whether it is one, of whatever version: what is not is refused.
   * @param mend what is said of an object that is often handed in instead.
   */
  constructor(
    observer: string,
    what: string,
    is: (object: never) => boolean,
    mend: (object: never) => string | undefined = () => undefined,
  ) {
    super()
    this.#observer = observer
    this.#what = what
    this.#is = is as (object: object) => boolean
    this.#mend = mend as (object: object) => string | undefined
  }

  /**
   * @throws HookspanError `INVALID_OPTION` for what is none, a wrong option, and for one that is observed by another
   * dispatcher.
   */
  attach<T extends object, O extends { dispatcher: HookDispatcher }>(
    object: T,
    options: O,
    fields: Fields<O>,
    patch: () => () => void,
  ): T {
    const observer = this.#observer
    assertAdapterOptions(options, fields, observer)
    if (typeof object !== 'object' || object === null) throw wrongTarget(observer, this.#what, object)
    if (!this.#is(object)) throw wrongTarget(observer, this.#what, object, this.#mend(object))
    const clash = `This is observed by another dispatcher. Call un${observer}() on it first.`
    this.observe(object, options.dispatcher, clash, patch)
    return object
  }
}
