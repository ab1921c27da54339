import { isRecord } from '../internal/objects.ts'
import { asText, type Loose } from '../wire/reading.ts'

export type Changed = readonly (readonly [before: string, after: string | undefined])[]

/** Texts that are no longer said as they were, with what is said there now. */
export function changedTexts(before: unknown, after: unknown): Changed {
  if (typeof before === 'string') return before === after || before === '' ? [] : [[before, asText(after)]]
  if (typeof before !== 'object' || before === null) return []
  const now = isRecord(after) || Array.isArray(after) ? (after as Loose) : {}
  return Object.entries(before).flatMap(([key, value]) => changedTexts(value, now[key]))
}

/** Without what says once more what a gate took out: some packages send that, and not the message's own words. */
export function without(
  about: Loose | undefined,
  gone: Changed,
  saysAgain: (value: string, was: string) => boolean = overlap,
): Loose | undefined {
  const repeats = (value: unknown): boolean =>
    typeof value === 'string'
      ? gone.some(([was, now]) => saysAgain(value, was) && !now?.includes(value))
      : value !== null && typeof value === 'object' && Object.values(value).some(repeats)
  return about && Object.fromEntries(Object.entries(about).filter(([, value]) => !repeats(value)))
}

/** One of the two stands in the other: all of a text, or a part of it. */
export function overlap(value: string, was: string): boolean {
  return value.includes(was) || (value.length > 2 && was.includes(value))
}
