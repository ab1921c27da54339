import { a, assertKnown, expected as wrong } from '../../internal/expect.ts'
import { GLOB, GLOB_LIST } from '../../internal/glob.ts'
import type { ExpectedCall, TrajectoryOptions, TrajectoryOutcome } from './types.ts'

const MODES = ['strict', 'subsequence', 'unordered', 'superset', 'subset']
export const ARGS_MODES = ['exact', 'partial', 'ignore']
export const OUTCOMES: readonly TrajectoryOutcome[] = [
  ...(['completed', 'mocked', 'skipped', 'errored', 'denied', 'rejected', 'waiting', 'unknown'] as const),
]
const OPTIONS = ['mode', 'args', 'argsByTool', 'forbidden', 'maxCalls', 'minScore']
const EXPECTED = ['name', 'args', 'argsMode', 'result', 'outcome', 'agent', 'id', 'after']
/** What a call that was read from somewhere has beside them: it may be expected of another run as it is. */
const READ = ['agentPath', 'identifier', 'toolCallId', 'code', 'reason', 'mockSource']

/**
 * A misspelt expectation would hold for every run.
 *
 * @throws HookspanError `INVALID_OPTION` naming the value.
 */
export function assertExpected(expected: unknown): asserts expected is readonly ExpectedCall[] {
  if (!Array.isArray(expected)) throw wrong('a list of expected calls', expected)
  for (const [index, call] of expected.entries()) {
    const where = `expected[${index}]`
    if (typeof call === 'string' && call !== '') continue
    if (typeof call !== 'object' || call === null || Array.isArray(call)) {
      throw wrong(`${where} to be a tool's name or an object`, call)
    }
    assertKnown(call, [...EXPECTED, ...READ], where)
    const { name, outcome, argsMode, agent, id } = call as Record<string, unknown>
    if (typeof name !== 'string' || name === '') throw wrong(`${where}.name to be a tool's name`, name)
    if (outcome !== undefined && !OUTCOMES.includes(outcome as never)) {
      throw wrong(`${where}.outcome to be one of ${OUTCOMES.join(', ')}`, outcome)
    }
    for (const [key, value] of Object.entries({ agent, id })) {
      if (value !== undefined && !a.string.fits(value)) throw wrong(`${where}.${key} to be a string`, value)
    }
    assertArgsMode(argsMode, `${where}.argsMode`)
  }
}

/** @throws HookspanError `INVALID_OPTION` naming the value. */
export function assertTrajectoryOptions(options: TrajectoryOptions): void {
  assertKnown(options, OPTIONS, 'the trajectory')
  const { mode, args, argsByTool, forbidden, maxCalls, minScore } = options
  if (mode !== undefined && !MODES.includes(mode)) {
    throw wrong(`\`mode\` to be one of ${MODES.join(', ')}`, mode)
  }
  if (typeof args === 'function') throw wrong(`\`args\` to be one of ${ARGS_MODES.join(', ')}`, args)
  assertArgsMode(args, '`args`')
  if (argsByTool !== undefined && !a.object.fits(argsByTool)) {
    throw wrong('`argsByTool` to be an object of ways to compare, by tool', argsByTool)
  }
  for (const [tool, each] of Object.entries(argsByTool ?? {})) {
    if (!GLOB.fits(tool)) throw wrong(`each name in \`argsByTool\` to be ${GLOB.words}`, tool)
    assertArgsMode(each, `argsByTool.${tool}`)
  }
  if (forbidden !== undefined && !GLOB_LIST.fits(forbidden)) {
    throw wrong(`\`forbidden\` to be ${GLOB_LIST.words}`, forbidden)
  }
  const byTool = a.object.fits(maxCalls)
  const limits: unknown[] = byTool
    ? Object.values(maxCalls as object)
    : [maxCalls === undefined ? 0 : maxCalls]
  if (!limits.every((most) => typeof most === 'number' && most >= 0)) {
    throw wrong('`maxCalls` to be a number >= 0, or such numbers by tool', maxCalls)
  }
  for (const glob of byTool ? Object.keys(maxCalls as object) : []) {
    if (!GLOB.fits(glob)) throw wrong(`each name in \`maxCalls\` to be ${GLOB.words}`, glob)
  }
  if (minScore !== undefined && !(typeof minScore === 'number' && minScore >= 0 && minScore <= 1)) {
    throw wrong('`minScore` to be a number from 0 to 1', minScore)
  }
}

function assertArgsMode(mode: unknown, where: string): void {
  if (mode === undefined || typeof mode === 'function' || ARGS_MODES.includes(mode as never)) return
  throw wrong(`${where} to be one of ${ARGS_MODES.join(', ')}, or a function`, mode)
}
