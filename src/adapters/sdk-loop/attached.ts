import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { expected, type Fields } from '../../internal/expect.ts'

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
    if (before !== undefined && before.dispatcher !== dispatcher) {
      throw new HookspanError('INVALID_OPTION', clash)
    }
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

  constructor(observer: string, what: string) {
    super()
    this.#observer = observer
    this.#what = what
  }

  /**
   * @throws HookspanError `INVALID_OPTION` for what is no object, a wrong option, and for one that is observed by another
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
    if (typeof object !== 'object' || object === null) {
      throw expected(`the first argument of ${observer} to be ${this.#what}`, object)
    }
    const clash = `This is observed by another dispatcher. Call un${observer}() on it first.`
    this.observe(object, options.dispatcher, clash, patch)
    return object
  }
}
