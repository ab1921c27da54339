import type { HrTime, TimeInput } from '@opentelemetry/api'

/**
 * A time as processors and exporters read it: as it is where it is one, else from a date, from epoch milliseconds, from
 * milliseconds of `performance.now()`, which are smaller than those can be, or now.
 */
export function hrTimeOf(time: TimeInput | undefined): HrTime {
  if (isHrTime(time)) return time
  if (time instanceof Date) return fromMillis(time.getTime())
  if (typeof time !== 'number') return fromMillis(Date.now())
  const { timeOrigin } = performance
  const now = performance.now()
  if (time > now) return fromMillis(time)
  // The monotonic clock may have drifted from the wall's since the process started.
  return sumOf(fromMillis(timeOrigin), fromMillis(time + (Date.now() - (now + timeOrigin))))
}

export function isTimeInput(value: unknown): value is TimeInput {
  return isHrTime(value) || typeof value === 'number' || value instanceof Date
}

export function isHrTime(value: unknown): value is HrTime {
  return (
    Array.isArray(value) && value.length === 2 && typeof value[0] === 'number' && typeof value[1] === 'number'
  )
}

export function durationOf([startSeconds, startNanos]: HrTime, [endSeconds, endNanos]: HrTime): HrTime {
  const nanos = endNanos - startNanos
  return nanos < 0 ? [endSeconds - startSeconds - 1, nanos + 1e9] : [endSeconds - startSeconds, nanos]
}

function sumOf([seconds, nanos]: HrTime, [moreSeconds, moreNanos]: HrTime): HrTime {
  const sum = nanos + moreNanos
  return sum >= 1e9 ? [seconds + moreSeconds + 1, sum - 1e9] : [seconds + moreSeconds, sum]
}

function fromMillis(millis: number): HrTime {
  return [Math.trunc(millis / 1000), Math.round((millis % 1000) * 1e6)]
}
