import { replace } from '../replace.ts'

/** What was put into objects of the SDK, so that all of it can be taken out again. Holds none of the objects. */
export class Patches {
  readonly #undo = new WeakMap<object, (() => void)[]>()
  readonly #objects = new Set<WeakRef<object>>()
  readonly #gone = new FinalizationRegistry<WeakRef<object>>((ref) => this.#objects.delete(ref))

  has(object: object): boolean {
    return this.#undo.has(object)
  }

  /**
   * Puts a function in the place of a method, once.
   *
   * @throws HookspanError `NOT_CAPABLE` where the object is locked.
   */
  replace<T extends object, K extends keyof T>(object: T, key: K, value: T[K]): void {
    // Somebody else's patch above ours stays; ours in it lets everything through.
    this.note(object, replace(object, key, value))
  }

  /** What else was put into an object, and how it is taken out. */
  note(object: object, undo: () => void): void {
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
