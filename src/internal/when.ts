/** Lengths and points of time, as people write them in queries and flags. */

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** `500ms`, `10s`, `2m`, `1.5h`, `7d`, `2w` in milliseconds. Undefined for anything else. */
export function lengthMs(text: string): number | undefined {
  const [, count, unit] = /^(\d+(?:\.\d+)?)(ms|[smhdw])$/.exec(text) ?? []
  return unit === undefined ? undefined : Number(count) * (UNITS[unit] as number)
}

const TIME = /^\d{4}-\d\d(?:-\d\d(?<clock>T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?<zone>Z|[+-]\d\d:?\d\d)?)?)?$/

/**
 * `2026-11`, `2026-11-22`, `2026-11-22T10:00`, with seconds and a zone or without, in epoch milliseconds. Undefined for anything else.
 *
 * @param zone of a time without one.
 */
export function timeMs(text: string, zone: 'utc' | 'local'): number | undefined {
  const read = TIME.exec(text)
  if (read === null) return undefined
  const { clock, zone: told } = read.groups ?? {}
  const day = text.length === 7 ? `${text}-01` : text
  const whole = clock === undefined ? `${day}T00:00` : day
  const ms = Date.parse(told === undefined && zone === 'utc' ? `${whole}Z` : whole)
  return Number.isFinite(ms) ? ms : undefined
}
