import { AsyncLocalStorage } from 'node:async_hooks'
import type { Approver } from '../gates/index.ts'
import { MAX_TIMER_MS, unref } from '../internal/async.ts'
import { errorMessage } from '../internal/errors.ts'

/** Tells an engine that a request of a run was answered. */
export type TellAnswer = (operationId: string, requestId: string) => Promise<void>

/**
 * Tells an engine of answers that came by any channel, as long as this process lives. A suspended run is in no process; one whose
 * watcher died, too, finds its answer when it looks for it the next time.
 */
export class AnswerWatch {
  readonly #approver: Approver
  readonly #tell: TellAnswer
  readonly #everyMs: number
  /** The run that waits for it, by request. */
  readonly #waiting = new Map<string, string>()
  /**
   * Looks are begun by runs and are part of none: DBOS takes whatever is done in a run's context for a step of it, which would not be
   * there when the run is replayed.
   */
  readonly #outside = AsyncLocalStorage.snapshot()
  #watching = false
  #warned = false

  /** Undefined where nobody can say whether a request was answered. */
  static of(
    approver: Approver | undefined,
    everyMs: number | undefined,
    tell: TellAnswer,
  ): AnswerWatch | undefined {
    return approver?.closed === undefined ? undefined : new AnswerWatch(approver, everyMs ?? 500, tell)
  }

  private constructor(approver: Approver, everyMs: number, tell: TellAnswer) {
    this.#approver = approver
    this.#everyMs = Math.min(everyMs, MAX_TIMER_MS)
    this.#tell = tell
  }

  add(operationId: string, requestIds: readonly string[]): void {
    for (const id of requestIds) this.#waiting.set(id, operationId)
    if (this.#watching || this.#waiting.size === 0) return
    this.#watching = true
    this.#later()
  }

  #later(): void {
    this.#outside(() => unref(setTimeout(() => void this.#look(), this.#everyMs)))
  }

  async #look(): Promise<void> {
    for (const [id, operationId] of [...this.#waiting]) {
      try {
        if (!(await this.#approver.closed?.(id))) continue
        await this.#tell(operationId, id)
        this.#waiting.delete(id)
      } catch (error) {
        // Told again at the next look; the run looks by itself, too.
        if (!this.#warned)
          console.warn(`hookspan: an engine could not be told of an answer: ${errorMessage(error)}`)
        this.#warned = true
      }
    }
    this.#watching = this.#waiting.size > 0
    if (this.#watching) this.#later()
  }
}
