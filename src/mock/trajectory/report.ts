import { safeStringify } from '../../internal/json.ts'
import { isMatcher } from '../match/matcher.ts'
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
  const lines = alignment.map((line) => formatLine(line, expected, actual))
  return [head, ...lines, ...problems.map((problem) => `! ${problem}`)].join('\n')
}

function formatLine(
  line: AlignedCall,
  expected: readonly Expectation[],
  actual: readonly TrajectoryCall[],
): string {
  const want = () => showExpected(expected[(line as { expected: number }).expected] as Expectation)
  const got = () => showCall(actual[(line as { actual: number }).actual] as TrajectoryCall)
  switch (line.kind) {
    case 'match':
      return `= ${got()}`
    case 'differs':
      return [`~ ${got()}`, ...line.differences.map((difference) => `    ${difference}`)].join('\n')
    case 'moved':
      return `> ${got()}\n    expected as call ${line.expected + 1}, made as call ${line.actual + 1}`
    case 'missing':
      return `- ${want()}    expected as call ${line.expected + 1}, not made`
    case 'extra':
      return line.allowed ? `  ${got()}` : `+ ${got()}    not expected`
  }
}

function showCall({ name, args, outcome }: TrajectoryCall): string {
  const ended =
    outcome === 'completed' || outcome === 'mocked' || outcome === 'unknown' ? '' : ` [${outcome}]`
  return `${name}(${cut(safeStringify(args))})${ended}`
}

function showExpected(expected: Expectation): string {
  return `${expected.name}(${'args' in expected ? cut(showArgs(expected.args)) : '…'})`
}

function showArgs(args: unknown): string {
  return safeStringify(replaceMatchers(args))
}

function replaceMatchers(value: unknown): unknown {
  if (isMatcher(value)) return `<${value.describe}>`
  if (value instanceof RegExp) return String(value)
  if (Array.isArray(value)) return value.map(replaceMatchers)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceMatchers(item)]))
}

const cut = (text: string) => (text.length > 120 ? `${text.slice(0, 119)}…` : text)
const round = (score: number) => String(Math.round(score * 100) / 100)
