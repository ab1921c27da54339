/** Reading objects of unknown shape without losing what has no meaning here. */
import { describeValue } from '../../../internal/errors.ts'
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

/** Recorders leave the zone out and mean, as far as one can tell, UTC. Undefined when it is no time. */
export function toEpochMs(text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`
  const ms = Date.parse(zoned)
  return Number.isNaN(ms) ? undefined : ms
}
