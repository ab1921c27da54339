import { callBeside } from '../internal/async.ts'
import { errorMessage } from '../internal/errors.ts'

/** What nobody waits for but the end: telling channels, writing down what was cancelled. */
export class SideWork {
  readonly #onError: (error: unknown, where: string) => void
  readonly #unfinished = new Set<Promise<unknown>>()

  /** `onError`: told what `safely` ran into. @default console.warn */
  constructor(onError: ((error: unknown, where: string) => void) | undefined) {
    const warn = (error: unknown, where: string) =>
      console.warn(`[hookspan] ${where}: ${errorMessage(error)}`)
    this.#onError =
      onError === undefined
        ? warn
        : (error, where) =>
            callBeside(
              () => onError(error, where),
              (another) => {
                warn(error, where)
                warn(another, '`onError` of the approvals failed')
              },
            )
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
