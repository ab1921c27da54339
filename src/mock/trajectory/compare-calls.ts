import { append } from '../../internal/append.ts'
import { ignoreRejection } from '../../internal/async.ts'
import { describeValue } from '../../internal/errors.ts'
import { matchesTool } from '../../internal/glob.ts'
import { differences, formatDifference } from '../match/difference.ts'
import type { ArgsMode, ArgsPredicate, ExpectedCall, TrajectoryCall, TrajectoryOptions } from './types.ts'

export type Expectation = Exclude<ExpectedCall, string>

export function toExpectation(expected: ExpectedCall): Expectation {
  return typeof expected === 'string' ? { name: expected } : expected
}

export interface Comparison {
  /** 1: as expected; 0: another tool. */
  readonly similarity: number
  /** Few of the pairs of a long run are told: only those are put into words. */
  readonly differences: () => readonly string[]
}

/** How much of what is expected a call is: name and agent decide, arguments, result and outcome grade. */
export function compareCalls(
  expected: Expectation,
  actual: TrajectoryCall,
  options: TrajectoryOptions,
): Comparison {
  if (!isNamed(actual, expected.name)) return NOTHING
  if (expected.agent !== undefined && expected.agent !== actual.agent) return NOTHING
  const found = [...compareArgs(expected, actual, options)]
  if ('result' in expected) {
    const result = differences(expected.result, actual.result, 'partial')
    append(
      found,
      result.map((difference) => () => formatDifference(difference, 'result')),
    )
  }
  const { outcome } = expected
  if (
    outcome !== undefined &&
    outcome !== actual.outcome &&
    !(outcome === 'completed' && actual.outcome === 'mocked')
  ) {
    found.push(() => `outcome: expected ${outcome}, got ${actual.outcome}`)
  }
  if (found.length === 0) return { similarity: 1, differences: () => [] }
  // Half for the right tool, the other half for the share of what is as expected of it.
  const leaves = Math.max(found.length, countLeaves(expected.args) + ('result' in expected ? 1 : 0) + 1)
  return {
    similarity: 0.5 + 0.5 * (1 - found.length / leaves) * 0.99,
    differences: () => found.map((tell) => tell()),
  }
}

/** By its name, or by its home and its name. A glob. */
export function isNamed({ name: apiName, identifier }: TrajectoryCall, glob: string): boolean {
  return matchesTool(glob, { apiName, identifier })
}

const NOTHING: Comparison = { similarity: 0, differences: () => [] }

function compareArgs(
  expected: Expectation,
  actual: TrajectoryCall,
  options: TrajectoryOptions,
): (() => string)[] {
  const mode: ArgsMode | ArgsPredicate =
    expected.argsMode ?? modeOf(actual, options.argsByTool) ?? options.args ?? 'exact'
  if (typeof mode === 'function') {
    const passed: unknown = mode(actual.args as never, expected.args)
    ignoreRejection(passed)
    if (passed === true) return []
    return [() => `args: expected to pass ${mode.name || 'the predicate'}, got ${describeValue(actual.args)}`]
  }
  if (mode === 'ignore' || !('args' in expected)) return []
  return differences(expected.args, actual.args, mode).map((difference) => () => formatDifference(difference))
}

/** By the tool's own name before any glob. */
function modeOf(
  actual: TrajectoryCall,
  argsByTool: TrajectoryOptions['argsByTool'] = {},
): ArgsMode | ArgsPredicate | undefined {
  const named = Object.entries(argsByTool).filter(([glob]) => isNamed(actual, glob))
  return (named.find(([glob]) => glob === actual.name) ?? named[0])?.[1]
}

function countLeaves(value: unknown): number {
  const seen = new Set<object>()
  const waiting = [value]
  let leaves = 0
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next !== 'object' || next === null || seen.has(next)) leaves++
    else {
      seen.add(next)
      append(waiting, Object.values(next))
    }
  }
  return leaves
}
