import { MAX_TIMER_MS } from '../../internal/async.ts'

export interface DrainReport {
  /** True when nothing was left to deliver. */
  readonly drained: boolean
  /** Events that still waited or were being handled when the time was over. */
  readonly pending: number
  readonly waitedMs: number
}

interface Waiter {
  readonly pending: () => number
  readonly finish: () => void
}

const DEFAULT_DRAIN_TIMEOUT_MS = 30_000

/** Everybody who waits for handlers to be done. */
export class DrainWaiters {
  readonly #waiters = new Set<Waiter>()

  wait(pending: () => number, timeoutMs = DEFAULT_DRAIN_TIMEOUT_MS): Promise<DrainReport> {
    const startedAt = performance.now()
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined
      const waiter: Waiter = {
        pending,
        finish: () => {
          clearTimeout(timer)
          this.#waiters.delete(waiter)
          const left = pending()
          resolve({ drained: left === 0, pending: left, waitedMs: performance.now() - startedAt })
        },
      }
      if (pending() === 0) return waiter.finish()
      this.#waiters.add(waiter)
      timer = setTimeout(waiter.finish, Math.min(timeoutMs, MAX_TIMER_MS))
    })
  }

  /** Called when an operation has nothing in flight any more. */
  check(): void {
    for (const waiter of [...this.#waiters]) {
      if (waiter.pending() === 0) waiter.finish()
    }
  }
}
