import type { HumanAction } from '../hooks/index.ts'
import { HUMAN_ACTIONS } from '../hooks/values.ts'
import { errorMessage, HookspanError } from '../internal/errors.ts'
import { a, assertFields, type Fields, TEXT_OR_REGEXP } from '../internal/expect.ts'
import { assertGlob, matchesTool } from '../internal/glob.ts'
import { safeStringify } from '../internal/json.ts'
import { defined, isRecord } from '../internal/objects.ts'
import { fewLines, oneLine } from '../internal/short-text.ts'
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
import { describeExpected } from '../mock/match/matcher.ts'
import { ARGS_MODES, OUTCOMES } from '../mock/trajectory/check-expected.ts'
import { isNamed } from '../mock/trajectory/compare-calls.ts'
import { callsOfEvents } from '../mock/trajectory/event-calls.ts'
import { eventsOf } from '../mock/trajectory/humans.ts'
import { assertNoSpanSlip } from '../mock/trajectory/match-spans.ts'
import { assertNoSlip, assertNoSlipOf, assertNotMisspelt } from '../mock/trajectory/misspelt.ts'
import { callerIn, callsInTree, eventsInTree, questionsInTree } from '../mock/trajectory/whole-tree.ts'
import { isEmptyTraceList } from './trace-lists.ts'

/** What a matcher says to `expect`. */
export interface MatcherResult {
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
    this: unknown,
    received: ReadableTrajectory,
    expected: readonly ExpectedCall[],
    options: TrajectoryOptions = {},
  ): MatcherResult {
    assertRan(received)
    const own = matchTrajectory(received, expected, options)
    // Neither its own calls nor those with its sub-agents' may be these.
    const { pass, report } =
      isNot(this) && !own.pass ? matchTrajectory(callsInTree(received), expected, options) : own
    if (isNot(this)) for (const call of expected) assertNoSlip(received, call)
    return { pass, message: () => report + failureOf(received) }
  },

  toHaveCalledTool(
    this: unknown,
    received: ReadableTrajectory,
    name: string,
    args?: unknown,
    options: CalledToolOptions = {},
  ): MatcherResult {
    assertFields<CalledToolOptions>(options, CALLED, 'toHaveCalledTool')
    assertGlob(name, 'the tool of toHaveCalledTool()')
    assertRan(received)
    const { times, args: mode = 'partial', ...more } = options
    const calls = isNone(this, times) ? callsInTree(received) : readTrajectory(received)
    const expected = { ...defined({ name, args }), ...more }
    if (isNot(this) || times === 0) assertNoSlip(received, expected)
    const closest: string[] = []
    const fitting = calls.filter((call) => {
      const { pass, report } = matchTrajectory([call], [expected], { args: mode })
      if (!pass && isNamed(call, name)) closest.push(report.split('\n').slice(1).join('\n'))
      return pass
    })
    const pass = times === undefined ? fitting.length > 0 : fitting.length === times
    const wanted = times === undefined ? 'a call' : `${times} calls`
    const unwanted = times === undefined ? 'no call' : `not ${times} calls`
    const { outcome, agent, result } = options
    return {
      pass,
      message: () =>
        failure(
          `Expected ${pass ? unwanted : wanted} of "${name}"${withAll({
            'these arguments': args !== undefined && '',
            outcome,
            agent,
            result: result !== undefined && describeExpected(result),
          })}`,
          fitting.length,
          times === 0 || pass
            ? showCalls(fitting, calls)
            : closest.length > 0
              ? closest
              : under('Calls', showCalls(calls)),
          received,
        ),
    }
  },

  toHaveSpans(this: unknown, received: object, expected: readonly ExpectedSpan[]): MatcherResult {
    assertRan(received)
    const { pass, report } = matchSpans(received, expected)
    if (isNot(this)) assertNoSpanSlip(received, expected)
    return { pass, message: () => report + failureOf(received) }
  },

  toHaveBeenDenied(
    this: unknown,
    received: ReadableTrajectory,
    name = '*',
    options: DeniedOptions = {},
  ): MatcherResult {
    assertFields<DeniedOptions>(options, DENIED, 'toHaveBeenDenied')
    assertGlob(name, 'the tool of toHaveBeenDenied()')
    assertRan(received)
    const events = isNot(this) ? eventsInTree(received) : eventsOf(received)
    const read = isNot(this) ? callsInTree : readTrajectory
    const calls = events === undefined ? read(received) : callsOfEvents(events)
    if (isNot(this)) assertNotMisspelt(received, [name])
    const refused = calls.filter(({ outcome }) => outcome === 'denied' || outcome === 'rejected')
    const codes = refused.flatMap(({ code }) => code ?? [])
    if (isNot(this)) assertNoSlipOf('No call was refused with the code', options.code, codes)
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
        failure(
          `Expected ${pass ? 'no' : 'a'} denied call of "${name}"${withAll({ ...options })}`,
          fitting.length,
          under('Denied', showCalls(refused, calls)),
          received,
        ),
    }
  },

  toHaveAskedHuman(
    this: unknown,
    received: ReadableTrajectory,
    name = '*',
    options: AskedHumanOptions = {},
  ): MatcherResult {
    assertFields<AskedHumanOptions>(options, ASKED, 'toHaveAskedHuman')
    assertGlob(name, 'the tool of toHaveAskedHuman()')
    assertRan(received)
    const { action, approver, times } = options
    const questions = isNone(this, times) ? questionsInTree(received) : readQuestions(received)
    if (isNot(this) || times === 0) assertNotMisspelt(received, [name])
    const fitting = questions.filter(
      (question) =>
        isAbout(question, name) &&
        (action === undefined || action === question.action) &&
        (approver === undefined || approver === question.approver),
    )
    const pass = times === undefined ? fitting.length > 0 : fitting.length === times
    const wanted = times === undefined ? 'a human to be asked' : `humans to be asked ${times} times`
    const unwanted = times === undefined ? 'nobody to be asked' : `humans not to be asked ${times} times`
    return {
      pass,
      message: () =>
        failure(
          `Expected ${pass ? unwanted : wanted} about "${name}"${withAll({ answer: action, approver })}`,
          fitting.length,
          under('Asked', questions.map(showQuestion)),
          received,
        ),
    }
  },
}

/** Of an agent that was not given the test's dispatcher, whatever must not happen has not. */
function assertRan(received: unknown): void {
  if (!isEmptyTraceList(received)) {
    if (!isRecord(received) || typeof received.tree !== 'function') return
    const { events, spans, dropped } = received
    if (![events, spans].every((list) => Array.isArray(list) && list.length === 0) || dropped !== 0) return
  }
  throw new HookspanError(
    'TRAJECTORY_UNREADABLE',
    'The trace is empty: nothing has run on the dispatcher of this test. Give it to the agent, and await the run. ' +
      'Where nothing is to run, say so: expect(trace.spans).toEqual([]).',
  )
}

/** Whether it stands behind `.not`, as vitest says in `this`. */
function isNot(state: unknown): boolean {
  return isRecord(state) && state.isNot === true
}

/** Whether nothing of what is expected may have happened. */
function isNone(state: unknown, times: number | undefined): boolean {
  return isNot(state) ? times === undefined : times === 0
}

function isAbout({ tools, identifiers = [] }: HumanQuestion, glob: string): boolean {
  return tools.some((apiName, index) => matchesTool(glob, { apiName, identifier: identifiers[index] }))
}

/** The message of a failed expectation: all that was expected, how much of it there was, and what there was instead. */
function failure(expected: string, found: number, lines: readonly string[], received: object): string {
  return [oneLine(`${expected}, found ${found}.`, 1_000), ...fewLines(lines)].join('\n') + failureOf(received)
}

/** What there was instead; that there was nothing is said, too. */
function under(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [`${title}: none.`] : [`${title}:`, ...lines]
}

/** ` with code x, reason y`: what else was expected of it. */
function withAll(parts: Readonly<Record<string, unknown>>): string {
  const said = Object.entries(parts).filter(([, value]) => value !== undefined && value !== false)
  if (said.length === 0) return ''
  return ` with ${said.map(([name, value]) => (value === '' ? name : `${name} ${value}`)).join(', ')}`
}

/** Why a run that failed did: its calls are missing because of that. */
function failureOf(received: object): string {
  const { status, error } = received as { status?: unknown; error?: unknown }
  if (status !== 'error' || error === undefined) return ''
  return `\nThe run itself failed: ${oneLine(errorMessage(error), 1_000)}`
}

function fitsText(expected: string | RegExp | undefined, actual: string): boolean {
  if (expected === undefined) return true
  // Not `test`, which keeps a position for the next time.
  return typeof expected === 'string' ? actual.includes(expected) : actual.search(expected) >= 0
}

/** @param among of several agents each call says whose it is. */
function showCalls(calls: readonly TrajectoryCall[], among = calls): string[] {
  const caller = callerIn(among)
  return calls.map((call) => {
    const { name, args, outcome, code, reason } = call
    const told = [code, reason].filter(Boolean).join(', ')
    const why = told && `: ${told}`
    const shown = `${name}(${oneLine(safeStringify(args))})`
    return `  ${oneLine(shown)} [${oneLine(`${outcome}${why}`)}]${oneLine(caller(call))}`
  })
}

function showQuestion({ tools, action, reason }: HumanQuestion): string {
  return `  ${oneLine(`${tools.join(', ')}: ${action ?? 'no answer'}${reason ? ` (${reason})` : ''}`)}`
}
