import {
  type CallMaker,
  type HookspanError,
  type LlmCallInit,
  type ParentOperation,
  type ToolFunction,
  type ToolOutcome,
  ToolResult,
} from 'hookspan'
import type { HeldCallDecision, OpenLlmCall, OpenToolCall } from 'hookspan/adapter'
import { expect } from 'vitest'
import {
  BOOM,
  type ExpectedCall,
  type ExpectedTool,
  expectAgent,
  expectCompact,
  expectLlm,
  expectTool,
} from './reference.ts'
import type { AgentSpec, CallSpec, CompactSpec, LlmSpec, RunSpec, ToolSpec } from './specs.ts'
import { type Call, nameOf, openStepOf, type Run, type World } from './world.ts'

/** What each reply of a model costs. */
export const TOKENS = 2

type CallOf<S extends CallSpec> = Call & { readonly spec: S }

/** Makes a call from a step that is open, or from the run itself. */
export function makeCall(world: World, run: Run, spec: CallSpec, child: RunSpec): Call {
  const call: Call = {
    key: world.calls.length,
    spec,
    run,
    child,
    memory: { before: new Map(), after: new Map() },
    expected: undefined as never,
    asked: [],
    expectedToAsk: [],
    ran: 0,
    settled: undefined,
    disturbed: !world.isCalm(run),
    waiting: false,
    parked: false,
    waited: false,
    checked: false,
    cut: false,
    left: false,
    late: run.op.ended,
    ending: run.completing,
    counted: isPresent(run) && !run.op.ended,
  }
  world.calls.push(call)
  run.calls.push(call)
  issue(world, call)
  return call
}

/** Whether nothing of it, up to its root, is parked. */
function isPresent({ state, calledBy }: Run): boolean {
  return state !== 'parked' && (calledBy === undefined || isPresent(calledBy.run))
}

/** The same call again, in the resumed run. */
export function goOn(world: World, call: Call): void {
  call.waiting = false
  call.parked = false
  call.waited = true
  call.settled = undefined
  call.checked = false
  call.disturbed ||= !world.isCalm(call.run)
  call.ending ||= call.run.completing
  world.tally('goes on')
  issue(world, call)
}

function issue(world: World, call: Call): void {
  const step = openStepOf(call.run)
  const maker: CallMaker = step?.step ?? call.run.op
  step?.calls.push(call)
  const made = MAKERS[call.spec.kind](world, call as never, maker)
  made.then(
    (value) => {
      call.settled = { value }
    },
    (error: unknown) => {
      call.settled = { error }
    },
  )
}

const MAKERS: {
  [K in CallSpec['kind']]: (
    world: World,
    call: CallOf<Extract<CallSpec, { kind: K }>>,
    maker: CallMaker,
  ) => Promise<unknown>
} = { tool: callTool, llm: callModel, agent: callAgent, compact }

function expectAsWell(call: Call, expected: ExpectedTool | ExpectedCall): void {
  call.expected = expected
  call.expectedToAsk.push(...expected.asked)
}

/** Each body begins with it: it runs at most once, only where it may, and with what was decided. */
function begin(world: World, call: Call, given: unknown, expected: unknown): void {
  call.ran++
  world.tally(`${call.spec.kind} runs`)
  if (isElsewhere(call.spec) && (call.disturbed || !world.isCalm(call.run))) return
  world.hold(() => mayRun(world, call, given, expected))
}

/** Hookspan is only told what came of it, and cannot keep it from running once it has been decided. */
function isElsewhere({ kind, seam }: CallSpec): boolean {
  return seam === 'told' || (kind === 'llm' && seam === 'opened')
}

function mayRun(world: World, call: Call, given: unknown, expected: unknown): void {
  const { run } = call
  const where = `the body of ${nameOf(call)}`
  expect(call.ran, `${where} runs once`).toBe(1)
  expect(call.expected.runs, `${where} may run`).toBe(true)
  expect(run.start.kind, `${where} runs in a run that was let in`).toBe('proceed')
  expect(run.op.ended || call.cut, `${where} runs before the end`).toBe(false)
  expect(run.op.stopRequested, `${where} runs in a run that was not stopped`).toBeUndefined()
  expect(run.controller.signal.aborted, `${where} runs in a run that was not aborted`).toBe(false)
  expect(given, `${where} is given what was decided`).toEqual(expected)
  if (!world.setting.traced) return
  const { activity } = world.watch.current as { activity: object }
  expect(keyOf(activity), `${where} runs in its own scope`).toBe(call.key)
}

interface Named {
  kind: string
  args: { key: number }
  model: string
  agentName: string
  messageCount: number
}

/** Which call an activity is of, as far as it says so. */
export function keyOf(activity: object): number | undefined {
  const { kind, args, model, agentName, messageCount } = activity as unknown as Named
  if (kind === 'tool') return args.key
  if (kind === 'llm') return Number(model.split('-')[1])
  if (kind === 'agent') return Number(agentName.split('-')[1])
  return kind === 'compact' ? messageCount : undefined
}

async function callTool(world: World, call: CallOf<ToolSpec>, maker: CallMaker): Promise<unknown> {
  const { spec, key, memory } = call
  const { toolCallId, rule, body, pace } = spec
  const args = { key, rule }
  const expected = expectTool(world.setting, spec, args, memory)
  expectAsWell(call, expected)
  const result = { key, from: 'the tool' }
  const run = (given: typeof args): unknown => {
    begin(world, call, given, expected.args)
    if (body === 'throws') throw new Error(BOOM)
    if (body === 'yields') {
      return (async function* () {
        yield 'half'
        await world.pacing.at(pace, nameOf(call), () => {})
        return result
      })()
    }
    return world.pacing.at(pace, nameOf(call), async () => {
      if (body === 'rejects') throw new Error(BOOM)
      return body === 'reports a failure'
        ? new ToolResult({ content: 'no', success: false, data: result })
        : result
    })
  }
  const init = { apiName: nameOf(call), args, ...(toolCallId !== undefined && { toolCallId }) }
  const outcome: ToolOutcome = await (spec.seam === 'called'
    ? maker.toolCall(init, run)
    : openedTool(world, call, maker.openToolCall<unknown>(init), run as ToolFunction<unknown, unknown>))
  call.waiting = outcome.state === 'waiting'
  const message = outcome.toToolMessage()
  expect(message.content).toEqual(expect.any(String))
  if (toolCallId !== undefined) expect(message.tool_call_id).toBe(toolCallId)
  return outcome
}

async function openedTool(
  world: World,
  call: CallOf<ToolSpec>,
  opened: OpenToolCall,
  body: ToolFunction<unknown, unknown>,
): Promise<ToolOutcome> {
  const decided = await opened.decided
  if (decided.state !== 'run') {
    const outcome = await opened.outcome
    world.hold(() => expect(outcome).toBe(decided))
    return outcome
  }
  await pause(world, call)
  // Ended with its step in between, it ends no more.
  const ended = (error: HookspanError) => {
    world.hold(() => expect(error.code).toBe('CALL_SETTLED'))
    return opened.outcome
  }
  // A stream of events is read by hookspan.
  if (call.spec.seam === 'opened' || call.spec.body === 'yields') return opened.run(body).catch(ended)
  try {
    const result = await opened.enter(() => body(decided.args, decided.context))
    return await opened.settle(result).catch(ended)
  } catch (error) {
    return opened.fail(error).catch(ended)
  }
}

async function pause(world: World, call: Call): Promise<void> {
  world.tally(`${call.spec.kind} ${call.spec.seam}`)
  await world.pacing.at(call.spec.pause, `decided ${nameOf(call)}`, () => {})
}

async function callModel(world: World, call: CallOf<LlmSpec>, maker: CallMaker): Promise<unknown> {
  const { spec, key } = call
  const { body, pace, reader, standIn } = spec
  const request = { key }
  const expected = expectLlm(world.setting, spec, request)
  expectAsWell(call, expected)
  const chunk = (content: string) => ({ choices: [{ index: 0, delta: { content } }] })
  async function* stream() {
    yield chunk('a')
    await world.pacing.at(pace, `stream of ${nameOf(call)}`, () => {})
    yield chunk('b')
    if (body === 'streams and fails') throw new Error(BOOM)
    yield chunk('c')
  }
  const replyOf = (content: string) => ({
    choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }],
  })
  const usage = { prompt_tokens: TOKENS, completion_tokens: 1 }
  const init: LlmCallInit<unknown> = {
    model: nameOf(call),
    request,
    ...(standIn && { standIn: (message: { content?: string }) => replyOf(message.content ?? '') }),
  }
  const ask = (given: unknown): unknown => {
    begin(world, call, given, expected.given)
    if (body === 'streams' || body === 'streams and fails') return stream()
    return world.pacing.at(pace, nameOf(call), async () => {
      if (body === 'rejects') throw new Error(BOOM)
      return { ...replyOf('a reply'), usage }
    })
  }
  const reply = await (spec.seam === 'called'
    ? maker.llmCall<unknown>(init, ask)
    : openedModel(world, call, maker.openLlmCall<unknown>(init), ask))
  if (Symbol.asyncIterator in (reply as object)) {
    if (reader === 'none') return ''
    let read = ''
    for await (const { choices } of reply as AsyncIterable<ReturnType<typeof chunk>>) {
      read += choices[0]?.delta.content
      if (reader === 'one') break
    }
    return read
  }
  return (reply as ReturnType<typeof replyOf>).choices[0]?.message.content
}

async function openedModel(
  world: World,
  call: CallOf<LlmSpec>,
  opened: OpenLlmCall,
  ask: (given: unknown) => unknown,
): Promise<unknown> {
  const decided = await opened.decided
  if (decided.state === 'answered') return decided.reply
  await pause(world, call)
  let reply: unknown
  try {
    reply = await opened.run(() => ask(decided.request))
  } catch (error) {
    opened.fail(error)
    throw error
  }
  return opened.settle(reply)
}

/** A call that waited is told nothing of its gates again: they decided before. */
async function callAgent(world: World, call: CallOf<AgentSpec>, maker: CallMaker): Promise<unknown> {
  const { spec } = call
  const name = nameOf(call)
  const again = call.expected !== undefined
  const expected = (again ? call.expected : expectAgent(world.setting, spec, name)) as ExpectedCall
  if (!again) expectAsWell(call, expected)
  const parked = world.runs.find(({ calledBy, state }) => calledBy === call && state === 'parked')
  const child = async (parent: ParentOperation, { instruction }: { instruction: string }) => {
    if (parked === undefined) begin(world, call, instruction, expected.given)
    if (spec.body === 'is a run') {
      if (parked !== undefined) world.resume(parked, call.run.dispatcher, parent)
      const run = parked ?? world.start(call.child, { call, parent })
      return run.done.promise
    }
    return world.pacing.at(spec.pace, name, async () => {
      if (spec.body === 'rejects') throw new Error(BOOM)
      return { content: 'done', status: 'done' }
    })
  }
  const init = { agentName: name, instruction: name }
  const made = async () =>
    spec.seam === 'called'
      ? maker.callAgent(init, child)
      : openedHeld(world, call, maker.openAgentCall<unknown>(init), (given) => child(given.parent, given))
  const result = await made().catch((error) => {
    // Where nothing is begun any more, what waits goes on waiting.
    if (again && /RUN_DENIED|OPERATION_ENDED/.test(error.code)) call.waiting = call.parked = true
    throw error
  })
  if (typeof result === 'string') return result
  const { status, content } = result as { status: string; content: string }
  // Told of a call that has ended, it waits for nobody.
  call.waiting = status === 'waiting_for_human' && !call.left
  return content
}

async function compact(world: World, call: CallOf<CompactSpec>, maker: CallMaker): Promise<unknown> {
  const { spec, key } = call
  const counts = { messageCount: key, tokenCount: 10 * key }
  const expected = expectCompact(world.setting, spec, counts)
  expectAsWell(call, expected)
  const body = async () => {
    begin(world, call, counts, counts)
    return world.pacing.at(spec.pace, nameOf(call), async () => {
      if (spec.body === 'rejects') throw new Error(BOOM)
      return { messagesAfter: 2, summary: 'the body' }
    })
  }
  return spec.seam === 'called'
    ? maker.compact(counts, body)
    : openedHeld(world, call, maker.openCompaction(counts), body)
}

/** The call of an agent, or a compaction. */
async function openedHeld<R, G extends object>(
  world: World,
  call: CallOf<AgentSpec | CompactSpec>,
  opened: Held<R, G>,
  body: (given: G) => Promise<R> | R,
): Promise<R> {
  const decided = await opened.decided
  if (decided.state === 'run') await pause(world, call)
  if (call.spec.seam === 'opened' || decided.state !== 'run') return opened.run(body)
  let result: R
  try {
    // Where an agent runs that is begun after its call has ended, nothing says.
    if (!opened.isOpen) throw new Error(BOOM)
    result = await opened.within(() => body(decided))
  } catch (error) {
    opened.fail(error)
    throw error
  }
  return opened.settle(result)
}

/** What is public of both. */
interface Held<R, G> {
  readonly decided: Promise<HeldCallDecision<G>>
  readonly isOpen: boolean
  run(body: (given: G) => R | PromiseLike<R>): Promise<R>
  within<T>(fn: () => T): T
  settle(result: R): R
  fail(error: unknown): void
}

/** A call that has settled came to what was told in advance, unless something came between. */
export function checkCall(world: World, call: Call): void {
  const { settled, expected, disturbed, spec, asked, expectedToAsk } = call
  if (settled === undefined || call.checked) return
  call.checked = true
  const name = nameOf(call)
  if (spec.kind === 'tool') checkOutcome(world, call)
  if (disturbed) return
  expect(asked, `gates asked about ${name}`).toEqual(expectedToAsk)
  expect(call.ran, `runs of ${name}`).toBe(expected.runs ? 1 : 0)
  if (spec.kind === 'tool' || call.waiting) return
  const { value, throws } = expected as ExpectedCall
  const seen = 'value' in settled ? { value: settled.value } : { throws: nameOfError(settled.error) }
  const wanted = throws === undefined ? { value } : { throws }
  if (value === 'a refusal') expect(seen).toEqual({ value: expect.any(String) })
  else expect(seen, name).toEqual(wanted)
}

function nameOfError(error: unknown): string {
  const { code, message } = error as { code?: string; message: string }
  return code ?? message
}

function checkOutcome(world: World, call: Call): void {
  const { settled, disturbed, ran } = call
  const expected = call.expected as ExpectedTool
  const name = nameOf(call)
  // A tool call never throws for what a tool, a gate, a hook or a human did.
  expect(settled, name).toHaveProperty('value')
  const outcome = (settled as { value: ToolOutcome }).value
  world.tally(`tool ${outcome.state}`)
  if (outcome.state === 'completed') expect(ran, `${name} is completed`).toBe(1)
  if (outcome.state === 'mocked' || outcome.state === 'skipped') {
    expect(ran, `${name} is ${outcome.state}`).toBe(0)
  }
  if (disturbed) return
  const { state, code, result } = outcome as { state: string; code?: string; result?: unknown }
  expect(
    { state, ...(code !== undefined && { code }), ...(result !== undefined && { result }) },
    name,
  ).toEqual({
    state: expected.state,
    ...(expected.code !== undefined && { code: expected.code }),
    ...(expected.result !== undefined && { result: expected.result }),
  })
}
