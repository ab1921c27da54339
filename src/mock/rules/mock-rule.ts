import { isThenable } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, assertFields, type Fields, expected as wrong } from '../../internal/expect.ts'
import { isError } from '../../internal/realms.ts'
import { isStandardSchema } from '../../internal/schema/check-schema.ts'
import { isMatcher } from '../match/matcher.ts'
import { schema } from '../match/matchers.ts'
import { parseAddress } from './address.ts'
import type { Answer, MockFunction, Standing, StreamEnd } from './answer.ts'
import type { Condition, RuleDefinition } from './definition.ts'
import type { MockedCall } from './mocked-call.ts'

const STREAM_END: Fields<StreamEnd> = { returns: a.value, throws: a.value, intervalMs: a.number(0) }

/**
 * What a tool is to answer, built by chained calls. A rule holds no state: the same one may be used in many tests.
 */
export class MockRule {
  #definition: RuleDefinition

  constructor(address: string) {
    this.#definition = {
      address: parseAddress(address),
      conditions: [],
      answer: undefined,
      delayMs: 0,
      times: undefined,
      optional: false,
      perRun: false,
      name: undefined,
    }
  }

  static definitionOf(rule: MockRule): RuleDefinition {
    return rule.#definition
  }

  /**
   * Answers only these calls. An object is matched partially, at every depth; lists in it must be of the same
   * length. Values may be matchers, regular expressions, or vitest's asymmetric matchers; a function is asked for
   * every call; a zod, valibot or ArkType schema must fit. Several `when` must all hold.
   */
  when(expected: object | ((args: never, call: MockedCall) => boolean)): this {
    return this.#condition(toCondition(expected, 'partial'))
  }

  /** Answers only calls with these arguments, no more and no less. Values may be matchers. */
  whenExactly(expected: unknown): this {
    return this.#condition({ kind: 'args', expected, mode: 'exact' })
  }

  /** The tool returns this; a copy of it for each call. A `ToolResult` says more than its value. */
  returns(value?: unknown): this {
    return this.#answer({ kind: 'value', value: checkValue(value, `${this}.returns()`) })
  }

  /** The tool did its work and reports a failure; `content` is what the model is told. */
  fails(content: string): this {
    return this.#answer({ kind: 'failure', content })
  }

  /** The tool throws this. A text becomes an `Error`. */
  throws(error: unknown): this {
    return this.#answer({ kind: 'error', error })
  }

  /** The tool is this function instead. What it throws, the tool throws; what a generator yields is progress. */
  calls<T = Record<string, unknown>>(fn: (args: T, call: MockedCall) => unknown): this {
    return this.#function(fn as MockFunction, false)
  }

  /** As {@link calls}, shown as `simulated`: for a model that plays the tool. */
  simulatedBy<T = Record<string, unknown>>(fn: (args: T, call: MockedCall) => unknown): this {
    return this.#function(fn as MockFunction, true)
  }

  /**
   * The answers of so many calls, one after the other: an `Error` is thrown, a function called, anything else
   * returned. After the last one the rule is used up, unless `times` says that it starts again.
   */
  sequence(items: readonly unknown[]): this {
    if (!Array.isArray(items) || items.length === 0) {
      throw wrong(`sequence() of ${this} to get a list of at least one answer`, items)
    }
    return this.#answer({
      kind: 'sequence',
      items: items.map((item) => toAnswer(item, `${this}.sequence()`)),
    })
  }

  /** The tool gives partial results before it ends; they reach the runtime's `onProgress`. SDKs are given the end. */
  streams(chunks: readonly unknown[], end: StreamEnd = {}): this {
    assertFields<StreamEnd>(end, STREAM_END, `${this}.streams()`)
    checkMs(end.intervalMs ?? 0, 'intervalMs')
    if (!Array.isArray(chunks)) throw wrong(`${this}.streams() to get a list`, chunks)
    for (const value of [...chunks, end.returns]) checkValue(value, `${this}.streams()`)
    return this.#answer({ kind: 'stream', chunks: [...chunks], end })
  }

  /** Waits so long before the answer, in milliseconds. */
  delays(ms: number): this {
    return this.#with({ delayMs: checkMs(ms, 'delays()') })
  }

  /** The tool throws a `TimeoutError`, after so many milliseconds. @default 0 */
  timesOut(afterMs = 0): this {
    return this.#answer({ kind: 'timeout', afterMs: checkMs(afterMs, 'timesOut()') })
  }

  /** The tool does not answer until its run is aborted. */
  hangs(): this {
    return this.#answer({ kind: 'hang' })
  }

  /** The real tool runs: the one way past `onUnmocked: 'error'` for some calls. */
  passesThrough(): this {
    return this.#answer({ kind: 'live' })
  }

  once(): this {
    return this.times(1)
  }

  /** Answers exactly so many calls: fewer are reported as unused, further ones go to the next rule. */
  times(count: number): this {
    if (!Number.isInteger(count) || count < 1) {
      throw wrong('times() to get a whole number >= 1', count)
    }
    return this.#with({ times: count })
  }

  /** Not being used is no failure. */
  optional(): this {
    return this.#with({ optional: true })
  }

  /** Counts `once`, `times` and `sequence` apart for each run (and its sub-agents), for runs that go on at once. */
  perRun(): this {
    return this.#with({ perRun: true })
  }

  /** The name under which messages and traces show the rule. */
  named(name: string): this {
    return this.#with({ name })
  }

  /** As the rule was written, for messages. */
  toString(): string {
    return `mock(${JSON.stringify(this.#definition.address.text)})`
  }

  #condition(condition: Condition): this {
    return this.#with({ conditions: [...this.#definition.conditions, condition] })
  }

  #function(fn: MockFunction, simulated: boolean): this {
    if (typeof fn !== 'function') throw wrong(`${this} to get a function`, fn)
    return this.#answer({ kind: 'function', fn, simulated })
  }

  #answer(answer: Answer): this {
    if (this.#definition.answer !== undefined) {
      const mend = 'Write a second rule, or sequence([...]) for one call after the other.'
      throw new HookspanError('INVALID_OPTION', `${this} has an answer already. ${mend}`)
    }
    return this.#with({ answer })
  }

  #with(change: Partial<RuleDefinition>): this {
    this.#definition = { ...this.#definition, ...change }
    return this
  }
}

/**
 * A rule for a tool: its name, a glob (`get_*`), with its home (`github/create_issue`), or inside a sub-agent
 * (`researcher > search`).
 *
 * @throws HookspanError `INVALID_OPTION` for an empty name.
 * @example
 * mock('get_weather').when({ city: match.regex(/^Ber/) }).returns({ tempC: 7 })
 */
export function mock(address: string): MockRule {
  return new MockRule(address)
}

function toCondition(expected: unknown, mode: 'exact' | 'partial'): Condition {
  if (isStandardSchema(expected)) return { kind: 'args', expected: schema(expected), mode }
  if (typeof expected === 'function') return { kind: 'predicate', test: expected as never }
  if (typeof expected !== 'object' || expected === null) {
    throw wrong('when() to get an object, a matcher, a schema or a function', expected)
  }
  return { kind: 'args', expected, mode: isMatcher(expected) ? 'exact' : mode }
}

function toAnswer(item: unknown, whose: string): Standing {
  if (isError(item)) return { kind: 'error', error: item }
  if (typeof item === 'function') return { kind: 'function', fn: item as MockFunction, simulated: false }
  return { kind: 'value', value: checkValue(item, whose) }
}

/** What has no copy would reach the agent as nothing. */
function checkValue(value: unknown, whose: string): unknown {
  if (typeof value !== 'function' && !isThenable(value)) return value
  const got = typeof value === 'function' ? 'a function' : 'a promise'
  const mend = 'For what is made anew for each call, or takes its time, write .calls(() => ...).'
  throw new HookspanError('INVALID_OPTION', `Expected ${whose} to get a value, got ${got}. ${mend}`)
}

function checkMs(ms: number, name: string): number {
  if (typeof ms === 'number' && ms >= 0 && Number.isFinite(ms)) return ms
  throw wrong(`${name} to be a number of milliseconds >= 0`, ms)
}
