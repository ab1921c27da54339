import { AsyncLocalStorage } from 'node:async_hooks'
import type { Approver } from '../gates/index.ts'
import { MAX_TIMER_MS, timeoutSignal, unref, untilAborted } from '../internal/async.ts'
import { errorMessage } from '../internal/errors.ts'
import { LONGEST_LOOK_MS } from './drive.ts'

/** Tells an engine that a request of a run was answered. */
export type TellAnswer = (operationId: string, requestId: string) => Promise<void>

/** Requests that are asked about at once. */
const AT_ONCE = 32
const PATIENCE_MS = 10_000
/** For as long who looks on waits for an engine to be told, so that what is answered at once is not all told at once. */
const TELLING_MS = 500

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
    const all = [...this.#waiting].values()
    const next = async () => {
      for (const [id, operationId] of all) await this.#lookAt(id, operationId)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, next))
    this.#watching = this.#waiting.size > 0
    if (this.#watching) this.#later()
  }

  async #lookAt(id: string, operationId: string): Promise<void> {
    try {
      if (!(await atMost(PATIENCE_MS, async () => this.#approver.closed?.(id)))) return
    } catch (error) {
      return this.#warn(error)
    }
    this.#waiting.delete(id)
    await Promise.race([this.#told(id, operationId), pause(TELLING_MS)])
  }

  /** Once, or after a time that is longer each time, until the run has looked by itself. */
  async #told(id: string, operationId: string): Promise<void> {
    for (let waitMs = this.#everyMs; ; waitMs *= 2) {
      try {
        return await atMost(PATIENCE_MS, () => this.#tell(operationId, id))
      } catch (error) {
        this.#warn(error)
      }
      if (waitMs > LONGEST_LOOK_MS) return
      await pause(waitMs)
    }
  }

  #warn(error: unknown): void {
    if (!this.#warned)
      console.warn(`hookspan: an engine could not be told of an answer: ${errorMessage(error)}`)
    this.#warned = true
  }
}

function atMost<T>(ms: number, work: () => Promise<T>): Promise<T> {
  return untilAborted(work(), timeoutSignal(ms))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => unref(setTimeout(resolve, ms)))
}
