import { isDeepStrictEqual } from 'node:util'
import type { Told } from './normal-form.ts'
import type { Part } from './told.ts'

/** Where two differ, in words that are the same wherever it is: `execute_tool hookspan.tool.source`. */
export interface Difference {
  readonly where: string
  readonly expected: unknown
  readonly got: unknown
}

/**
 * Of runs at once, either may be first, and nothing in them says which: sorted by their text they would be sorted by what is made
 * anew in each (a conversation's id). They are taken in the order in which they differ least.
 */
export function differencesOf(expected: Part, got: Part): Difference[] {
  const found = orders(got.runs).map((runs) => differencesInOrder(expected, { ...got, runs }))
  return found.toSorted((a, b) => a.length - b.length)[0] ?? []
}

function orders<T>(list: readonly T[]): T[][] {
  if (list.length < 2) return [[...list]]
  return list.flatMap((first, at) => orders(list.toSpliced(at, 1)).map((rest) => [first, ...rest]))
}

function differencesInOrder(expected: Part, got: Part): Difference[] {
  const [left, right] = [flat(expected.runs), flat(got.runs)]
  const shape = (spans: readonly (readonly [number, Told])[]) =>
    spans.map(([depth, { kind }]) => `${depth} ${kind}`)
  if (!isDeepStrictEqual(shape(left), shape(right))) {
    return [{ where: 'spans', expected: shape(left), got: shape(right) }]
  }
  const spans = left.flatMap(([, span], index) => {
    const other = (right[index] as (typeof right)[number])[1]
    return compare(span.kind, span.attributes, other.attributes)
  })
  const calls = expected.calls.flatMap((call, index) =>
    compare('trajectory', call as Readonly<Record<string, unknown>>, (got.calls[index] ?? {}) as never),
  )
  return [...spans, ...calls]
}

function compare(
  kind: string,
  left: Readonly<Record<string, unknown>>,
  right: Readonly<Record<string, unknown>>,
): Difference[] {
  return [...new Set([...Object.keys(left), ...Object.keys(right)])]
    .filter((name) => !isDeepStrictEqual(left[name], right[name]))
    .map((name) => ({ where: `${kind} ${name}`, expected: left[name], got: right[name] }))
}

function flat(runs: readonly Told[], depth = 0): (readonly [number, Told])[] {
  return runs.flatMap((run) => [[depth, run] as const, ...flat(run.children, depth + 1)])
}
