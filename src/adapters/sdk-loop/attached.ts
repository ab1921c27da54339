import type { HookDispatcher } from '../../dispatcher/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { assertFields, expected, type Fields } from '../../internal/expect.ts'

interface Attached {
  readonly dispatcher: HookDispatcher
  readonly undo: () => void
}

/** The objects of other SDKs that are observed: each once, by one dispatcher. */
export class AttachedObjects {
  /** The function that observes them, as messages name it. */
  readonly #observer: string
  readonly #what: string
  readonly #attached = new WeakMap<object, Attached>()

  constructor(observer: string, what: string) {
    this.#observer = observer
    this.#what = what
  }

  /**
   * Observes an object; one that is observed already from now on with these options.
   *
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
    if (typeof options?.dispatcher?.startOperation !== 'function') {
      throw new HookspanError('INVALID_OPTION', `${observer} needs a \`dispatcher\`: new HookDispatcher().`)
    }
    assertFields<O>(options, fields, observer)
    if (typeof object !== 'object' || object === null) {
      throw expected(`the first argument of ${observer} to be ${this.#what}`, object)
    }
    const before = this.#attached.get(object)
    if (before !== undefined && before.dispatcher !== options.dispatcher) {
      throw new HookspanError(
        'INVALID_OPTION',
        `This is observed by another dispatcher. Call un${observer}() on it first.`,
      )
    }
    before?.undo()
    this.#attached.set(object, { dispatcher: options.dispatcher, undo: patch() })
    return object
  }

  /** Leaves the object as it was before. */
  detach<T extends object>(object: T): T {
    this.#attached.get(object)?.undo()
    this.#attached.delete(object)
    return object
  }
}
