import { errorMessage } from '../internal/errors.ts'

/** What nobody waits for but the end: telling channels, writing down what was cancelled. */
export class SideWork {
  readonly #onError: (error: unknown, where: string) => void
  readonly #unfinished = new Set<Promise<unknown>>()

  /** `onError`: told what `safely` ran into. @default console.warn */
  constructor(onError: ((error: unknown, where: string) => void) | undefined) {
    this.#onError = onError ?? ((error, where) => console.warn(`[hookspan] ${where}: ${errorMessage(error)}`))
  }

  /** Lets `finish()` wait for it. */
  track<T>(work: Promise<T>): Promise<T> {
    const finished = work.then(
      () => {},
      () => {},
    )
    this.#unfinished.add(finished)
    finished.then(() => this.#unfinished.delete(finished))
    return work
  }

  /** Runs it, tracks it, and reports what it throws. */
  safely(where: string, run: () => unknown): void {
    const report = (error: unknown) => this.#onError(error, where)
    try {
      this.track(Promise.resolve(run()).catch(report))
    } catch (error) {
      report(error)
    }
  }

  async finish(): Promise<void> {
    while (this.#unfinished.size > 0) await Promise.all(this.#unfinished)
  }
}
