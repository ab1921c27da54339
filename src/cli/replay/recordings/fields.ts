/** Reading objects of unknown shape without losing what has no meaning here. */
import { describeValue } from '../../../internal/errors.ts'
import { isRecord } from '../../../internal/objects.ts'
import { RecordingError, type RecordingPlace } from './recording-error.ts'
import type { RecordedOrigin } from './types.ts'

export type Fields = Readonly<Record<string, unknown>>

/**
 * The origin of a message whose fields in `known` were understood; the others are kept as they are.
 * `rebuild` makes the object again from the origin and what was understood.
 */
export function originOf(object: Fields, known: Fields): RecordedOrigin {
  const extra: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(object)) {
    if (!Object.hasOwn(known, key)) Object.defineProperty(extra, key, { value, enumerable: true })
  }
  return { keys: Object.keys(object), extra }
}

export function rebuild({ keys, extra }: RecordedOrigin, known: Fields): Fields {
  return Object.fromEntries(keys.map((key) => [key, Object.hasOwn(extra, key) ? extra[key] : known[key]]))
}

export function expectString(value: unknown, what: string, place: RecordingPlace): string {
  if (typeof value === 'string') return value
  throw new RecordingError(place, `expected ${what} to be a string, got ${describeValue(value)}.`)
}

export function optionalNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** The text below these keys, if it is one. */
export function textAt(value: unknown, ...path: string[]): string | undefined {
  for (const key of path) value = isRecord(value) ? value[key] : undefined
  return typeof value === 'string' ? value : undefined
}

/** What no message of a recording is made again from. */
export const NO_ORIGIN: RecordedOrigin = { keys: [], extra: {} }

/** Recorders leave the zone out and mean, as far as one can tell, UTC. Undefined when it is no time. */
export function toEpochMs(text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined
  const iso = text.replace(/^(\d{4}-\d\d-\d\d) /, '$1T')
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso : `${iso}Z`
  const ms = Date.parse(zoned)
  return Number.isNaN(ms) ? undefined : ms
}
