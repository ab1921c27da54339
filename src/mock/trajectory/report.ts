import { safeStringify } from '../../internal/json.ts'
import { fewLines, oneLine } from '../../internal/short-text.ts'
import { withNames } from '../match/matcher.ts'
import type { Expectation } from './compare-calls.ts'
import type { AlignedCall, TrajectoryCall, TrajectoryMode, TrajectoryResult } from './types.ts'

/** The alignment, one call a line: `=` as expected, `~` differs, `-` missing, `+` too much, `>` at another place. */
export function formatReport(
  { pass, score, alignment, problems }: Omit<TrajectoryResult, 'report'>,
  expected: readonly Expectation[],
  actual: readonly TrajectoryCall[],
  { mode, minScore }: { mode: TrajectoryMode; minScore: number },
): string {
  const wanted = minScore < 1 ? `, at least ${minScore} wanted` : ''
  const head = `Trajectory ${pass ? 'matches' : 'does not match'}: mode ${mode}, score ${round(score)}${wanted}, ${expected.length} calls expected, ${actual.length} made`
  const byWhom = areSeveralAgents(expected, actual)
  const linesOf = (some: readonly AlignedCall[]) =>
    some.flatMap((line) => formatLine(line, expected, actual, byWhom))
  const lines = fewLines(linesOf(alignment), linesOf(alignment.filter(isNews)))
  return [head, ...lines, ...fewLines(problems).map((problem) => `! ${oneLine(problem)}`)].join('\n')
}

/** A call that another agent made differs in that alone. */
function areSeveralAgents(expected: readonly Expectation[], actual: readonly TrajectoryCall[]): boolean {
  return (
    expected.some(({ agent }) => agent !== undefined) || new Set(actual.map(({ agent }) => agent)).size > 1
  )
}

function isNews(line: AlignedCall): boolean {
  return line.kind !== 'match' && !(line.kind === 'extra' && line.allowed)
}

function formatLine(
  line: AlignedCall,
  expected: readonly Expectation[],
  actual: readonly TrajectoryCall[],
  byWhom: boolean,
): string[] {
  const want = () => showExpected(expected[(line as { expected: number }).expected] as Expectation)
  const got = () => showCall(actual[(line as { actual: number }).actual] as TrajectoryCall, byWhom)
  switch (line.kind) {
    case 'match':
      return [`= ${got()}`]
    case 'differs':
      return [
        `~ ${got()}${why(actual[line.actual] as TrajectoryCall)}`,
        ...line.differences.map((difference) => `    ${oneLine(difference)}`),
      ]
    case 'moved':
      return [`> ${got()}`, `    expected as call ${line.expected + 1}, made as call ${line.actual + 1}`]
    case 'missing':
      return [`- ${want()}    expected as call ${line.expected + 1}, not made`]
    case 'extra':
      return [line.allowed ? `  ${got()}` : `+ ${got()}    not expected`]
  }
}

function showCall({ name, args, outcome, agent }: TrajectoryCall, byWhom: boolean): string {
  const ended =
    outcome === 'completed' || outcome === 'mocked' || outcome === 'unknown' ? '' : ` [${outcome}]`
  const by = byWhom && agent !== undefined ? `  by ${agent}` : ''
  return `${oneLine(name)}(${oneLine(safeStringify(args), MAX_ARGS)})${oneLine(ended)}${oneLine(by)}`
}

/** A call that failed has no result: what is said of it is why. */
function why({ code, reason }: TrajectoryCall): string {
  const told = [code, reason].filter(Boolean).join(', ')
  return told && ` ! ${oneLine(told)}`
}

function showExpected(expected: Expectation): string {
  const args = 'args' in expected ? oneLine(safeStringify(withNames(expected.args)), MAX_ARGS) : '…'
  return `${oneLine(expected.name)}(${args})${expected.agent === undefined ? '' : oneLine(`  by ${expected.agent}`)}`
}

const MAX_ARGS = 120
const round = (score: number) => String(Math.round(score * 100) / 100)
