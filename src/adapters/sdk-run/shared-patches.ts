import { Patches } from './patches.ts'

/** What is in the SDK's classes for as long as somebody needs it there: who observes, and the runs under way. */
export class SharedPatches extends Patches {
  #users = 0
  /** What nobody has any more does not observe. */
  readonly #dropped = new FinalizationRegistry<undefined>(() => this.release())

  /** A run is under way, which goes on to be guarded. */
  use(): void {
    this.#users++
  }

  /** It is over. With the last one all is taken out. */
  release(): void {
    this.#users--
    if (this.#users === 0) this.undoAll()
  }

  /** An object observes, until `drop`, or until nobody has it any more. */
  hold(object: object): void {
    this.use()
    this.#dropped.register(object, undefined, object)
  }

  drop(object: object): void {
    this.#dropped.unregister(object)
    this.release()
  }
}
