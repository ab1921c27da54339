import { a, expected } from '../../internal/expect.ts'
import type { Reporter } from '../events/report.ts'

/** Events and spans are sorted by it: where it gives no time, or throws, the real one is told, and that it did once. */
export function checkedClock(clock: () => number, reporter: Reporter, operationId: string): () => number {
  let isTold = false
  const failed = (error: unknown) => {
    if (!isTold) reporter.failure({ kind: 'failed', hookId: 'clock', operationId, error })
    isTold = true
    return Date.now()
  }
  return () => {
    try {
      const now: unknown = clock()
      if (a.finite.fits(now)) return now as number
      return failed(expected('`clock` to give epoch milliseconds', now))
    } catch (error) {
      return failed(error)
    }
  }
}
