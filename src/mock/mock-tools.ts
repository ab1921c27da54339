import type { HookDispatcher, Plugin, StandIn, StandInAnswer, StandInCall } from '../dispatcher/index.ts'
import { assertDispatcher } from '../dispatcher/is-dispatcher.ts'
import type { HookEvent, ToolMock } from '../hooks/index.ts'
import { delay, isThenable } from '../internal/async.ts'
import { errorMessage, errorSentence, HookspanError } from '../internal/errors.ts'
import { expected } from '../internal/expect.ts'
import { isFailedExpectation } from '../internal/failed-expectation.ts'
import { checkSchema, formatProblems } from '../internal/schema/check-schema.ts'
import type { SchemaProblem } from '../internal/schema/problem.ts'
import { isToolResult } from '../wire/mcp-result.ts'
import { assertMockToolsOptions } from './assert-mock-options.ts'
import { attach } from './attached.ts'
import { Failures } from './failures.ts'
import { Layers, type RecordingLayer, type RulesLayer } from './layers.ts'
import type { MockCoverage, MockToolsCall, MockToolsOptions } from './mock-tools-types.ts'
import { isForAgent, isForTool, parseAddress } from './rules/address.ts'
import { type Answer, give, hungTooLong, type Standing, sourceOf } from './rules/answer.ts'
import { describeCall, explainUnmatched } from './rules/explain.ts'
import type { MockRule } from './rules/mock-rule.ts'
import { type ActiveRule, RuleSet } from './rules/rule-set.ts'
import { isSubAgent } from './sub-agent.ts'
import { ToolCatalog } from './tool-catalog.ts'
import { assertNoSlipOf, assertNoToolSlip } from './trajectory/misspelt.ts'
import { UnaskedCalls } from './unasked-calls.ts'
import { rulesForMadeUp, unusedRules } from './unused-rules.ts'

let nextId = 0

/**
 * Lets rules stand in for the tools of every operation of a dispatcher, until it is disposed. Mocked calls pass
 * gates and hooks as real ones do, and the real tool is never touched. Rules of newer mocks of a dispatcher go before those
 * of older ones, and all of them before a recording (`replayTools()`), which is asked for what no rule takes.
 *
 * Leaving its `using` block fails the test when a call had no rule, broke a schema, or a rule was not used.
 *
 * @throws HookspanError `INVALID_OPTION` for a rule without an answer, or an unknown option.
 * @example
 * using mocks = mockTools(dispatcher, [mock('get_weather').returns({ tempC: 7 })])
 */
export function mockTools(
  dispatcher: HookDispatcher,
  rules: readonly MockRule[] = [],
  options: MockToolsOptions = {},
): MockTools {
  return new MockTools(dispatcher, rules, options)
}

/** Ends the calls that hang on a mock: their test is out of time. */
export let letGo: (mocks: MockTools) => void

export class MockTools implements Disposable {
  readonly #rules: RuleSet
  readonly #options: MockToolsOptions
  readonly #onUnmocked: 'error' | 'passthrough' | 'warn'
  readonly #catalog: ToolCatalog
  readonly #failures = new Failures()
  readonly #calls: MockToolsCall[] = []
  readonly #unasked: UnaskedCalls
  readonly #warned = new Set<string>()
  readonly #layers: Layers
  readonly #leave: () => void
  readonly #unattach: () => void
  readonly #undo: Disposable
  /** Rules whose failure a test was told of. */
  readonly #told = new Set<ActiveRule>()
  readonly #letGo = new AbortController()
  #disposed = false

  static {
    letGo = (mocks) => mocks.#letGo.abort(hungTooLong())
  }

  constructor(dispatcher: HookDispatcher, rules: readonly MockRule[], options: MockToolsOptions) {
    const { onUnmocked = 'error' } = options
    assertDispatcher(dispatcher, 'mockTools')
    assertMockToolsOptions(rules, options)
    this.#rules = new RuleSet(rules)
    this.#options = options
    this.#onUnmocked = onUnmocked
    this.#catalog = new ToolCatalog(options.tools)
    this.#unasked = new UnaskedCalls(this.#rules, this.#catalog, options)
    const layer: RulesLayer = {
      appliesTo(operation) {
        const applies: unknown = options.appliesTo?.(operation)
        if (!isThenable(applies)) return applies !== false
        throw expected('`appliesTo` of mockTools to say at once true or false', applies)
      },
      hasRule: (call) => this.#hasRule(call),
      answer: (call) => this.#answer(call),
    }
    const standIn: StandIn = (call) => this.#layers.askRules(call, layer)
    standIn.unasked = (call, error) => {
      const failure = layer.appliesTo(call.operation) ? this.#unasked.note(call, error) : undefined
      if (failure !== undefined) this.#failures.add(failure)
    }
    const plugin: Plugin = {
      name: `mocks:${nextId}`,
      standIn,
      standsInFor: () => this.#rules.all.map(({ definition }) => definition.address.tool),
      hooks: [
        {
          id: `hookspan.mocks.${nextId++}`,
          type: 'beforeLlmCall',
          handler: (event) => this.#catalog.readRequest(event as HookEvent<'beforeLlmCall'>),
        },
        {
          id: `hookspan.mocks.${nextId++}`,
          type: 'afterLlmCall',
          handler: (event) => this.#catalog.readReply(event as HookEvent<'afterLlmCall'>),
        },
      ],
    }
    this.#layers = Layers.of(dispatcher)
    this.#undo = dispatcher.use(plugin)
    this.#leave = this.#layers.addRules(layer)
    this.#unattach = attach(dispatcher, this)
  }

  /**
   * Every call that reached the mocks, in order; those of one tool when it is named, as rules name it.
   *
   * @throws HookspanError `MOCK_UNKNOWN_TOOL` for a name that is a letter away from a tool that there is, and is none itself.
   */
  calls(tool = '*'): readonly MockToolsCall[] {
    const address = parseAddress(tool, 'calls()')
    const ofTool = this.#calls.filter((call) => isForTool(address, call))
    const calls = ofTool.filter(({ agentPath }) => isForAgent(address, agentPath))
    // None by a slip would be taken for a tool that was rightly not called.
    if (ofTool.length === 0) assertNoToolSlip([address.tool], [...this.#catalog.names])
    if (calls.length === 0) {
      const agents = ofTool.flatMap(({ agentPath }) => agentPath)
      for (const agent of address.agents) assertNoSlipOf('No agent with a call is named', agent, agents)
    }
    return calls
  }

  /** What has gone wrong so far, unused rules not included. */
  get failures(): readonly HookspanError[] {
    return this.#failures.all
  }

  /** Adds rules that are asked before those that are there. */
  use(...rules: MockRule[]): this {
    this.#rules.prepend(rules)
    return this
  }

  coverage(): MockCoverage {
    const names = (...kinds: MockToolsCall['answeredBy'][]) =>
      sorted(this.#calls.filter((call) => kinds.includes(call.answeredBy)).map((call) => call.apiName))
    const agents = new Set(names('agent'))
    const known = [...this.#catalog.names, ...this.#calls.map((call) => call.apiName)]
    return {
      discovered: sorted(known.filter((name) => !agents.has(name))),
      mocked: names('mock', 'simulated', 'replay'),
      live: names('live'),
      refused: names('refused'),
    }
  }

  /**
   * Fails when a rule was not used, when a rule is for a tool that no agent has, or answered a call of one that the calling agent
   * does not have, and when any call failed before.
   *
   * @throws HookspanError with the code of the failure, or `MOCKS_FAILED` for several.
   */
  assertUsed(): void {
    const wrong = this.#wrongRules()
    for (const { rule } of wrong) this.#told.add(rule)
    this.#failures.throwAll(
      'mocks',
      wrong.map(({ failure }) => failure),
    )
  }

  /** Takes the mocks out. @throws HookspanError for what `assertUsed()` did not tell yet. */
  [Symbol.dispose](): void {
    if (this.#disposed) return
    this.detach()
    const untold = this.#wrongRules().filter(({ rule }) => !this.#told.has(rule))
    this.#failures.throwUntold(
      'mocks',
      untold.map(({ failure }) => failure),
    )
  }

  #wrongRules() {
    const rules = this.#rules.all
    const forMadeUp = rulesForMadeUp(rules, [...this.#calls, ...this.#unasked.all], this.#catalog)
    const others = rules.filter((rule) => forMadeUp.every((wrong) => wrong.rule !== rule))
    return [...forMadeUp, ...unusedRules(others, this.#calls, this.#unasked.all, this.#catalog.names)]
  }

  /** Takes the mocks out without a check. */
  detach(): void {
    this.#disposed = true
    this.#leave()
    this.#unattach()
    this.#undo[Symbol.dispose]()
  }

  #hasRule(call: StandInCall): boolean {
    try {
      return this.#rules.find(call) !== undefined
    } catch {
      // The rule's own function threw: that is told where the rule is.
      return true
    }
  }

  async #answer(call: StandInCall): Promise<StandInAnswer | undefined> {
    const checked = this.#checkArguments(call)
    // Awaited only when there is something to wait for: calls get rules in the order in which they were made.
    if (checked instanceof Promise) await checked
    const taken = this.#take(call)
    if (taken === undefined) return this.#unmocked(call)
    const { rule, mocked } = taken
    const answer = rule.definition.answer as Answer
    const { delayMs } = rule.definition
    const source = sourceOf(answer)
    // Before anything is waited for: calls are told in the order in which they were made, one that hangs among them.
    this.#note(call, source, rule)
    this.#layers.recording?.overrule(call, String(rule), source === 'live')
    if (source === 'live') {
      if (delayMs > 0) await delay(delayMs, call.signal)
      return undefined
    }
    const given = await give(answer as Standing, mocked, call.onProgress, this.#letGo.signal)
    if (answer.kind !== 'error') this.#checkExpectation(call, given, rule)
    await this.#checkResult(call, given, rule)
    const mock = delayMs > 0 ? { ...given, delayMs: delayMs + (given.delayMs ?? 0) } : given
    return { mock, source, rule: String(rule) }
  }

  #take(call: StandInCall): ReturnType<RuleSet['take']> {
    try {
      return this.#rules.take(call)
    } catch (error) {
      this.#note(call, 'refused')
      throw this.#fail(
        'MOCK_UNMATCHED',
        `A \`when\` function of "${call.apiName}" threw: ${errorMessage(error)}\n  called   ${describeCall(call)}`,
        error,
      )
    }
  }

  #unmocked(call: StandInCall): StandInAnswer | undefined {
    const { recording } = this.#layers
    if (recording !== undefined) return this.#replayed(call, recording)
    if (isSubAgent(call)) return this.#note(call, 'agent') as undefined
    if (this.#onUnmocked === 'error') {
      this.#note(call, 'refused')
      throw this.#fail(
        'MOCK_UNMATCHED',
        `Tool "${call.apiName}" was called, and no mock fits.\n${explainUnmatched(call, this.#rules)}\n` +
          `Add a mock that fits, or let the real tool run: mock("${call.apiName}").passesThrough().`,
      )
    }
    this.#note(call, 'live')
    if (this.#onUnmocked === 'warn' && !this.#warned.has(call.apiName)) {
      this.#warned.add(call.apiName)
      console.warn(
        `hookspan: the real tool "${call.apiName}" runs, no mock fits.\n${explainUnmatched(call, this.#rules)}`,
      )
    }
    return undefined
  }

  #replayed(call: StandInCall, recording: RecordingLayer): StandInAnswer | undefined {
    try {
      const answer = recording.answer(call)
      this.#note(call, answer !== undefined ? 'replay' : isSubAgent(call) ? 'agent' : 'live')
      return answer
    } catch (error) {
      this.#note(call, 'refused')
      throw error
    }
  }

  #checkArguments(call: StandInCall): void | Promise<void> {
    const { apiName, operation } = call
    const schema = call.inputSchema ?? this.#catalog.inputSchema(operation.operationId, apiName)
    if (schema === undefined || this.#options.schemas === 'off') return
    if (!this.#rules.forTool(call).some(({ definition }) => definition.answer?.kind !== 'live')) return
    const problems = this.#check(schema, call.args, call.apiName, 'input')
    if (problems instanceof Promise) return problems.then((found) => this.#refuseArguments(call, found))
    this.#refuseArguments(call, problems)
  }

  #check(schema: unknown, value: unknown, apiName: string, which: 'input' | 'output') {
    try {
      return checkSchema(schema, value)
    } catch (error) {
      throw this.#fail(
        which === 'input' ? 'MOCK_ARGUMENTS' : 'MOCK_RESULT',
        `The ${which} schema of "${apiName}" cannot be checked: ${errorSentence(error)}\n` +
          "Mend it, or give `schemas: 'off'`.",
        error,
      )
    }
  }

  #refuseArguments(call: StandInCall, problems: readonly SchemaProblem[]): void {
    if (problems.length === 0) return
    this.#note(call, 'refused')
    const places = indent(formatProblems(problems, 'args'))
    throw this.#fail(
      'MOCK_ARGUMENTS',
      `The arguments of "${call.apiName}" break the tool's input schema.\n  called   ${describeCall(call)}\n${places}`,
    )
  }

  /** The agent takes it for a tool that failed, and goes on. */
  #checkExpectation(call: StandInCall, given: ToolMock, rule: ActiveRule): void {
    if (!('error' in given) || !isFailedExpectation(given.error)) return
    this.#fail(
      'MOCK_EXPECTATION',
      `What a mock of "${call.apiName}" expects is not so: ${errorMessage(given.error)}\n  called   ${describeCall(call)}\n  rule     ${rule}`,
      given.error,
    )
  }

  async #checkResult(call: StandInCall, mock: ToolMock, rule: ActiveRule): Promise<void> {
    const schema = call.outputSchema ?? this.#catalog.outputSchema(call.apiName)
    if (schema === undefined || this.#options.schemas === 'off' || 'error' in mock || mock.success === false)
      return
    const given = mock.data === undefined ? mock.content : mock.data
    const served = call.source === 'mcp' && isToolResult(given) ? given : undefined
    if (served?.isError === true) return
    const result = served === undefined ? given : served.structuredContent
    const problems = await this.#check(schema, result, call.apiName, 'output')
    if (problems.length === 0) return
    throw this.#fail(
      'MOCK_RESULT',
      `The mocked result of "${call.apiName}" breaks the tool's output schema.\n  rule     ${rule}\n${indent(formatProblems(problems, 'result'))}`,
    )
  }

  #note(call: StandInCall, answeredBy: MockToolsCall['answeredBy'], rule?: ActiveRule): void {
    const { apiName, identifier, args, toolCallId, agentPath, operation, stepIndex } = call
    const { operationId } = operation
    this.#calls.push({
      ...{ apiName, identifier, args, toolCallId, agentPath, operationId, stepIndex, answeredBy },
      ...(rule !== undefined && { rule: String(rule) }),
    })
  }

  #fail(code: HookspanError['code'], message: string, cause?: unknown): HookspanError {
    return this.#failures.add(new HookspanError(code, message, cause === undefined ? {} : { cause }))
  }
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].sort()
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ')
}
