import { HookspanError } from '../../internal/errors.ts'

/** What was put into objects of the SDK, so that all of it can be taken out again. Holds none of the objects. */
export class Patches {
  readonly #undo = new WeakMap<object, (() => void)[]>()
  readonly #objects = new Set<WeakRef<object>>()
  readonly #gone = new FinalizationRegistry<WeakRef<object>>((ref) => this.#objects.delete(ref))

  has(object: object): boolean {
    return this.#undo.has(object)
  }

  /**
   * Puts a function in the place of a method, once. It shows up in the object as the method did.
   *
   * @throws HookspanError `INVALID_OPTION` where the object is frozen.
   */
  replace<T extends object, K extends keyof T>(object: T, key: K, value: T[K]): void {
    const own = Object.getOwnPropertyDescriptor(object, key)
    const enumerable = own?.enumerable ?? false
    const descriptor = { value, configurable: true, writable: true, enumerable }
    if (!Reflect.defineProperty(object, key, descriptor)) {
      throw new HookspanError(
        'INVALID_OPTION',
        `Cannot observe \`${String(key)}\` of ${nameOf(object)}: it is frozen. Hand the SDK one that is not.`,
      )
    }
    this.#note(object, () => {
      // Somebody else's patch above ours stays; ours in it lets everything through.
      if (object[key] !== value) return
      if (own === undefined) delete object[key]
      else Object.defineProperty(object, key, own)
    })
  }

  #note(object: object, undo: () => void): void {
    const before = this.#undo.get(object)
    if (before !== undefined) {
      before.push(undo)
      return
    }
    const ref = new WeakRef(object)
    this.#undo.set(object, [undo])
    this.#objects.add(ref)
    this.#gone.register(object, ref, object)
  }

  undoAll(): void {
    for (const ref of this.#objects) {
      const object = ref.deref()
      if (object === undefined) continue
      for (const undo of this.#undo.get(object)?.reverse() ?? []) undo()
      this.#undo.delete(object)
      this.#gone.unregister(object)
    }
    this.#objects.clear()
  }
}

function nameOf(object: object): string {
  const { name } = object as { name?: unknown }
  return typeof name === 'string' ? `"${name}"` : `a ${object.constructor?.name ?? 'object'}`
}
