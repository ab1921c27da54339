import type { HrTime } from '@opentelemetry/api'

/** Milliseconds as the SDK takes them without guessing: a number before the process's start means something else to it. */
export function hrTime(timestamp: number | undefined): HrTime | undefined {
  if (timestamp === undefined) return undefined
  const seconds = Math.floor(timestamp / 1000)
  return [seconds, Math.round((timestamp - seconds * 1000) * 1e6)]
}

export function epochMs([seconds, nanos]: HrTime): number {
  return seconds * 1000 + nanos / 1e6
}

/**
 * Times of one run, finer than the SDK's: it starts spans at whole milliseconds, and the calls of a fast agent
 * would lose their order. Anchored anew with each root operation, because the monotonic clock drifts from the
 * wall's.
 */
export class SpanClock {
  readonly #epochMs = Date.now()
  readonly #anchor = performance.now()

  now(): HrTime {
    return hrTime(this.#epochMs + (performance.now() - this.#anchor)) as HrTime
  }
}
