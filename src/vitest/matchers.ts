import type { HumanAction } from '../hooks/index.ts'
import { HUMAN_ACTIONS } from '../hooks/values.ts'
import { errorMessage } from '../internal/errors.ts'
import { a, assertFields, type Fields, TEXT_OR_REGEXP } from '../internal/expect.ts'
import { assertGlob, matchesTool } from '../internal/glob.ts'
import { defined } from '../internal/objects.ts'
import {
  type ExpectedCall,
  type ExpectedSpan,
  type HumanQuestion,
  matchSpans,
  matchTrajectory,
  type ReadableTrajectory,
  readQuestions,
  readTrajectory,
  type TrajectoryCall,
  type TrajectoryOptions,
  type TrajectoryOutcome,
} from '../mock/index.ts'
import { ARGS_MODES, OUTCOMES } from '../mock/trajectory/check-expected.ts'
import { isNamed } from '../mock/trajectory/compare-calls.ts'
import { callsOfEvents } from '../mock/trajectory/event-calls.ts'
import { eventsOf } from '../mock/trajectory/humans.ts'

interface MatcherResult {
  pass: boolean
  message: () => string
}

export interface CalledToolOptions extends Pick<TrajectoryOptions, 'args'> {
  /** Exactly so many fitting calls. @default at least 1 */
  times?: number
  /** May hold matchers; compared partially. */
  result?: unknown
  outcome?: TrajectoryOutcome
  agent?: string
}

export interface DeniedOptions {
  /** `policy_denied`, `no_approver`, `rejected`, ... */
  code?: string
  /** A part of the reason. */
  reason?: string | RegExp
}

export interface AskedHumanOptions {
  action?: HumanAction
  approver?: string
  times?: number
}

/** Before `.not`, an expectation that nothing can meet holds for every run. What is looked at with the run is looked at there. */
const CALLED: Fields<CalledToolOptions> = {
  args: a.oneOf(...ARGS_MODES),
  times: a.integer(0),
  result: a.value,
  outcome: a.oneOf(...OUTCOMES),
  agent: a.string,
}
const DENIED: Fields<DeniedOptions> = { code: a.string, reason: TEXT_OR_REGEXP }
const ASKED: Fields<AskedHumanOptions> = {
  action: a.oneOf(...HUMAN_ACTIONS),
  approver: a.string,
  times: a.integer(0),
}

/** Custom matchers of vitest; `hookspan/vitest` adds them to `expect` when it is imported. */
export const matchers = {
  toMatchTrajectory(
    received: ReadableTrajectory,
    expected: readonly ExpectedCall[],
    options: TrajectoryOptions = {},
  ): MatcherResult {
    const { pass, report } = matchTrajectory(received, expected, options)
    return { pass, message: () => report + failureOf(received) }
  },

  toHaveCalledTool(
    received: ReadableTrajectory,
    name: string,
    args?: unknown,
    options: CalledToolOptions = {},
  ): MatcherResult {
    assertFields<CalledToolOptions>(options, CALLED, 'toHaveCalledTool')
    assertGlob(name, 'the tool of toHaveCalledTool()')
    const { times, args: mode = 'partial', ...more } = options
    const calls = readTrajectory(received)
    const expected = { ...defined({ name, args }), ...more }
    const closest: string[] = []
    const fitting = calls.filter((call) => {
      const { pass, report } = matchTrajectory([call], [expected], { args: mode })
      if (!pass && isNamed(call, name)) closest.push(report.split('\n').slice(1).join('\n'))
      return pass
    })
    const pass = times === undefined ? fitting.length > 0 : fitting.length === times
    const wanted = times === undefined ? 'a call' : `${times} calls`
    const unwanted = times === undefined ? 'no call' : `not ${times} calls`
    return {
      pass,
      message: () =>
        [
          `Expected ${pass ? unwanted : wanted} of "${name}"${args === undefined ? '' : ' with these arguments'}, found ${fitting.length}.`,
          ...(pass
            ? fitting.map(showCall)
            : closest.length > 0
              ? closest
              : ['Calls:', ...calls.map(showCall)]),
        ].join('\n') + failureOf(received),
    }
  },

  toHaveSpans(received: object, expected: readonly ExpectedSpan[]): MatcherResult {
    const { pass, report } = matchSpans(received, expected)
    return { pass, message: () => report + failureOf(received) }
  },

  toHaveBeenDenied(received: ReadableTrajectory, name = '*', options: DeniedOptions = {}): MatcherResult {
    assertFields<DeniedOptions>(options, DENIED, 'toHaveBeenDenied')
    assertGlob(name, 'the tool of toHaveBeenDenied()')
    const events = eventsOf(received)
    const calls = events === undefined ? readTrajectory(received) : callsOfEvents(events)
    const refused = calls.filter(({ outcome }) => outcome === 'denied' || outcome === 'rejected')
    const fitting = refused.filter(
      (call) =>
        isNamed(call, name) &&
        (options.code === undefined || options.code === call.code) &&
        fitsText(options.reason, call.reason ?? ''),
    )
    const pass = fitting.length > 0
    return {
      pass,
      message: () =>
        [
          `Expected ${pass ? 'no' : 'a'} denied call of "${name}"${options.code ? ` with code ${options.code}` : ''}, found ${fitting.length}.`,
          'Denied:',
          ...refused.map(showCall),
        ].join('\n'),
    }
  },

  toHaveAskedHuman(received: ReadableTrajectory, name = '*', options: AskedHumanOptions = {}): MatcherResult {
    assertFields<AskedHumanOptions>(options, ASKED, 'toHaveAskedHuman')
    assertGlob(name, 'the tool of toHaveAskedHuman()')
    const questions = readQuestions(received)
    const { action, approver, times } = options
    const fitting = questions.filter(
      (question) =>
        isAbout(question, name) &&
        (action === undefined || action === question.action) &&
        (approver === undefined || approver === question.approver),
    )
    const pass = times === undefined ? fitting.length > 0 : fitting.length === times
    return {
      pass,
      message: () =>
        [
          `Expected ${pass ? 'nobody' : 'a human'} to be asked about "${name}"${action ? ` and to answer ${action}` : ''}, found ${fitting.length}.`,
          'Asked:',
          ...questions.map(
            (one) =>
              `  ${one.tools.join(', ')}: ${one.action ?? 'no answer'}${one.reason ? ` (${one.reason})` : ''}`,
          ),
        ].join('\n'),
    }
  },
}

function isAbout({ tools, identifiers = [] }: HumanQuestion, glob: string): boolean {
  return tools.some((apiName, index) => matchesTool(glob, { apiName, identifier: identifiers[index] }))
}

/** Why a run that failed did: its calls are missing because of that. */
function failureOf(received: object): string {
  const { status, error } = received as { status?: unknown; error?: unknown }
  return status === 'error' && error !== undefined ? `\nThe run itself failed: ${errorMessage(error)}` : ''
}

function fitsText(expected: string | RegExp | undefined, actual: string): boolean {
  if (expected === undefined) return true
  // Not `test`, which keeps a position for the next time.
  return typeof expected === 'string' ? actual.includes(expected) : actual.search(expected) >= 0
}

function showCall({ name, args, outcome, code, reason }: TrajectoryCall): string {
  const why = code === undefined ? '' : `: ${code}${reason ? `, ${reason}` : ''}`
  return `  ${name}(${JSON.stringify(args) ?? ''}) [${outcome}${why}]`
}
