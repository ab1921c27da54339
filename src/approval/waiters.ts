import { delay } from '../internal/async.ts'
import { joinSignals } from '../internal/join-signals.ts'

/** Those who wait in this process for a request to change. */
export class Waiters {
  readonly #byRequest = new Map<string, Set<() => void>>()

  /** Until the request may have changed; for `patienceMs` at most, and no longer than the signal lets it. */
  async change(id: string, patienceMs: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiters = this.#byRequest.get(id) ?? new Set()
    this.#byRequest.set(id, waiters.add(resolve))
    const timer = new AbortController()
    const either = joinSignals(signal, timer.signal)
    await Promise.race([promise, delay(patienceMs, either.signal).catch(() => {})])
    timer.abort()
    either.release()
    waiters.delete(resolve)
    if (waiters.size === 0) this.#byRequest.delete(id)
  }

  wake(id: string): void {
    for (const resolve of this.#byRequest.get(id) ?? []) resolve()
  }
}
