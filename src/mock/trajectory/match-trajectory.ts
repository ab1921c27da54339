import { bestAlignment, bestAssignment } from './assignment.ts'
import { assertExpected, assertTrajectoryOptions } from './check-expected.ts'
import { type Comparison, compareCalls, type Expectation, isNamed, toExpectation } from './compare-calls.ts'
import { assertNotMisspelt } from './misspelt.ts'
import { assignInOrder, type Precedence, readPrecedences } from './precedence.ts'
import { type ReadableTrajectory, readTrajectory } from './read-trajectory.ts'
import { formatReport } from './report.ts'
import type {
  AlignedCall,
  ExpectedCall,
  TrajectoryCall,
  TrajectoryMode,
  TrajectoryOptions,
  TrajectoryResult,
} from './types.ts'
import { callerIn, callsInTree } from './whole-tree.ts'

/**
 * Holds the tool calls of a run against those that are expected. Pairs them by the best assignment, or the best
 * alignment where the order counts, so that the score is as high as it can be and the report as short.
 *
 * @param source an `AgentRun`, events, spans, OTLP or Jaeger JSON, chat messages, or calls.
 * @throws HookspanError `INVALID_OPTION`, or `TRAJECTORY_UNREADABLE` for a source that is none of these.
 */
export function matchTrajectory(
  source: ReadableTrajectory,
  expected: readonly ExpectedCall[],
  options: TrajectoryOptions = {},
): TrajectoryResult {
  const { mode = 'strict', minScore = 1 } = options
  assertTrajectoryOptions(options)
  assertExpected(expected)
  const actual = readTrajectory(source)
  assertNotMisspelt(source, unwanted(options))
  const wanted = expected.map(toExpectation)
  const precedences = readPrecedences(wanted)
  const compare = (row: number, column: number) =>
    compareCalls(wanted[row] as Expectation, actual[column] as TrajectoryCall, options)
  // Numbers only: what differs in each of millions of pairs has no place in memory.
  const compared = wanted.map((_, row) => actual.map((_, column) => compare(row, column).similarity))
  const assigned = assign(compared, actual.length, mode, precedences)
  const alignment = align(wanted, actual, compared, compare, assigned, mode)
  const problems = [
    ...orderProblems(wanted, assigned, precedences),
    ...(isLimited(options) ? limitProblems(callsInTree(source), actual, options) : []),
  ]
  const score = scoreOf(compared, assigned, actual.length, mode) * orderShare(assigned, precedences)
  const followed = alignment.every((line) => line.kind === 'match' || (line.kind === 'extra' && line.allowed))
  const complete = mode === 'subset' ? followedSubset(alignment) : followed
  const pass = (complete || (minScore < 1 && score >= minScore)) && problems.length === 0
  const result = { pass, score, alignment, problems }
  return { ...result, report: formatReport(result, wanted, actual, { mode, minScore }) }
}

/** How similar each expectation is to each call. */
type Compared = readonly (readonly number[])[]

function assign(
  compared: Compared,
  actualCount: number,
  mode: TrajectoryMode,
  precedences: readonly Precedence[],
): number[] {
  if (mode === 'strict' || mode === 'subsequence') return bestAlignment(compared, actualCount)
  const best = bestAssignment(compared)
  if (orderShare(best, precedences) === 1) return best
  const isMatch = (expected: number, actual: number) => compared[expected]?.[actual] === 1
  return assignInOrder(isMatch, compared.length, actualCount, precedences, mode === 'subset') ?? best
}

function align(
  wanted: readonly Expectation[],
  actual: readonly TrajectoryCall[],
  compared: Compared,
  compare: (row: number, column: number) => Comparison,
  assigned: readonly number[],
  mode: TrajectoryMode,
): AlignedCall[] {
  const ordered = mode === 'strict' || mode === 'subsequence'
  const expectedOf = new Map(assigned.flatMap((column, row) => (column >= 0 ? [[column, row] as const] : [])))
  const moved = ordered ? findMoved(compared, assigned, expectedOf) : new Map<number, number>()
  const allowed = mode === 'subsequence' || mode === 'superset'
  const lines: AlignedCall[] = []
  let next = 0
  const flush = (until: number) => {
    for (; next < until; next++) {
      if (assigned[next] === -1 && !moved.has(next)) lines.push({ kind: 'missing', expected: next })
    }
  }
  const movedTo = new Map([...moved].map(([row, column]) => [column, row]))
  for (const column of actual.keys()) {
    const row = expectedOf.get(column)
    if (row !== undefined) {
      if (ordered) flush(row)
      if (compared[row]?.[column] === 1) lines.push({ kind: 'match', expected: row, actual: column })
      else {
        const { similarity, differences } = compare(row, column)
        lines.push({ kind: 'differs', expected: row, actual: column, similarity, differences: differences() })
      }
      continue
    }
    const from = movedTo.get(column)
    if (from !== undefined) lines.push({ kind: 'moved', expected: from, actual: column })
    else lines.push({ kind: 'extra', actual: column, allowed })
  }
  flush(wanted.length)
  return lines
}

/** Calls that are there, at another place. */
function findMoved(
  compared: Compared,
  assigned: readonly number[],
  expectedOf: ReadonlyMap<number, number>,
): Map<number, number> {
  const moved = new Map<number, number>()
  const taken = new Set<number>(expectedOf.keys())
  for (const [row, column] of assigned.entries()) {
    if (column !== -1) continue
    const at = compared[row]?.findIndex((similarity, index) => similarity === 1 && !taken.has(index)) ?? -1
    if (at === -1) continue
    moved.set(row, at)
    taken.add(at)
  }
  return moved
}

function followedSubset(alignment: readonly AlignedCall[]): boolean {
  return alignment.every((line) => line.kind === 'match' || line.kind === 'missing')
}

function scoreOf(
  compared: Compared,
  assigned: readonly number[],
  actualCount: number,
  mode: TrajectoryMode,
): number {
  const expectedCount = compared.length
  const sum = assigned.reduce(
    (total, column, row) => total + (column < 0 ? 0 : (compared[row]?.[column] ?? 0)),
    0,
  )
  const most =
    mode === 'subset'
      ? actualCount
      : mode === 'subsequence' || mode === 'superset'
        ? expectedCount
        : Math.max(expectedCount, actualCount)
  return most === 0 ? 1 : sum / most
}

function isBroken(assigned: readonly number[], { index, after }: Precedence): boolean {
  const [later, earlier] = [assigned[index] ?? -1, assigned[after] ?? -1]
  return later >= 0 && later < (earlier === -1 ? Number.POSITIVE_INFINITY : earlier)
}

function orderShare(assigned: readonly number[], precedences: readonly Precedence[]): number {
  if (precedences.length === 0) return 1
  return precedences.filter((precedence) => !isBroken(assigned, precedence)).length / precedences.length
}

function orderProblems(
  wanted: readonly Expectation[],
  assigned: readonly number[],
  precedences: readonly Precedence[],
): string[] {
  const label = (index: number) => wanted[index]?.id ?? wanted[index]?.name
  return precedences
    .filter((precedence) => isBroken(assigned, precedence))
    .map(
      ({ index, after }) =>
        `wrong order: "${label(index)}" was called ${assigned[after] === -1 ? 'without' : 'before'} "${label(after)}", expected after it`,
    )
}

/** Which tools must not be called, or not often. */
function unwanted({ forbidden = [], maxCalls }: TrajectoryOptions): string[] {
  return [...forbidden, ...(typeof maxCalls === 'object' ? Object.keys(maxCalls) : [])]
}

function isLimited({ forbidden = [], maxCalls }: TrajectoryOptions): boolean {
  return forbidden.length > 0 || maxCalls !== undefined
}

/** @param calls those of sub-agents, too, while `own` are those that are aligned. */
function limitProblems(
  calls: readonly TrajectoryCall[],
  own: readonly TrajectoryCall[],
  { forbidden = [], maxCalls = {} }: TrajectoryOptions,
): string[] {
  const caller = callerIn(calls)
  const place = (index: number) => (calls.length === own.length ? ` (call ${index + 1})` : '')
  const limits = typeof maxCalls === 'number' ? { '*': maxCalls } : maxCalls
  return [
    ...calls.flatMap((call, index) =>
      forbidden.some((glob) => isNamed(call, glob))
        ? [`forbidden call: "${call.name}" was called${caller(call)}${place(index)}`]
        : [],
    ),
    ...Object.entries(limits).flatMap(([glob, most]) => {
      const counted = calls.filter((call) => isNamed(call, glob))
      if (counted.length <= most) return []
      const what = glob === '*' ? 'calls' : `calls of "${glob}"`
      const callers = [...Map.groupBy(counted, caller)].filter(([by]) => by !== '')
      const each = callers.map(([by, { length }]) => `${length}${by}`).join(', ')
      const byWhom = each && ` (${each})`
      return [`too many calls: ${counted.length} ${what}${byWhom}, at most ${most} allowed`]
    }),
  ]
}
