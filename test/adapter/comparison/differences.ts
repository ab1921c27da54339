import { isDeepStrictEqual } from 'node:util'
import type { Told } from './normal-form.ts'
import type { Part } from './told.ts'

/** Where two differ, in words that are the same wherever it is: `execute_tool hookspan.tool.source`. */
export interface Difference {
  readonly where: string
  readonly expected: unknown
  readonly got: unknown
}

export function differencesOf(expected: Part, got: Part): Difference[] {
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
