import { describeValue, HookspanError } from '../../internal/errors.ts'
import type { Expectation } from './compare-calls.ts'

/** "The call at `index` comes later than the one at `after`", both positions in the expected list. */
export interface Precedence {
  readonly index: number
  readonly after: number
}

/** @throws HookspanError `INVALID_OPTION` for an id that no call has, that two have, or a circle. */
export function readPrecedences(expected: readonly Expectation[]): Precedence[] {
  const found = expected.flatMap(({ after = [] }, index) =>
    [after].flat().map((id) => ({ index, after: find(expected, id) })),
  )
  topological(expected.length, found)
  return found
}

function find(expected: readonly Expectation[], id: string): number {
  const named = expected.flatMap((call, index) => (call.id === id ? [index] : []))
  const found =
    named.length > 0
      ? named
      : expected.flatMap((call, index) => (call.name === id && call.id === undefined ? [index] : []))
  if (found.length === 1) return found[0] as number
  const problem =
    found.length === 0 ? 'no expected call has it' : `${found.length} expected calls have it; give them ids`
  throw new HookspanError('INVALID_OPTION', `\`after\` names ${describeValue(id)}: ${problem}.`)
}

function topological(count: number, precedences: readonly Precedence[]): number[] {
  const order: number[] = []
  const placed = new Set<number>()
  while (order.length < count) {
    const free = [...Array(count).keys()].find(
      (index) => !placed.has(index) && precedences.every((p) => p.index !== index || placed.has(p.after)),
    )
    if (free === undefined)
      throw new HookspanError('INVALID_OPTION', 'The `after` of the expected calls goes round in a circle.')
    placed.add(free)
    order.push(free)
  }
  return order
}

/** Tries at most so many places, so that a hopeless search ends. */
const MAX_TRIES = 200_000

/**
 * An assignment of every expected call to an actual one that it matches wholly and that keeps the order, where
 * there is one. The best assignment alone may pick calls of the wrong order where others would do.
 *
 * @param onlySome Every actual call is to have an expected one, which may be left over itself.
 */
export function assignInOrder(
  matches: (expected: number, actual: number) => boolean,
  expectedCount: number,
  actualCount: number,
  precedences: readonly Precedence[],
  onlySome: boolean,
): number[] | undefined {
  const order = topological(expectedCount, precedences)
  const assigned: number[] = Array(expectedCount).fill(-1)
  const taken = new Set<number>()
  let tries = 0
  const place = (position: number): boolean => {
    const index = order[position]
    if (index === undefined) return !onlySome || taken.size === actualCount
    const before = precedences.filter((p) => p.index === index).map((p) => assigned[p.after] as number)
    // What is to come after a call that was not made is not to be made.
    const from = before.includes(-1) ? actualCount : Math.max(-1, ...before) + 1
    for (let actual = from; actual < actualCount; actual++) {
      if (taken.has(actual) || !matches(index, actual)) continue
      if (++tries > MAX_TRIES) return false
      taken.add(actual)
      assigned[index] = actual
      if (place(position + 1)) return true
      taken.delete(actual)
      assigned[index] = -1
    }
    return onlySome && actualCount - taken.size < expectedCount - position && place(position + 1)
  }
  return place(0) ? assigned : undefined
}
