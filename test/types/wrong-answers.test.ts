/** What functions of the user's, and stores of theirs, give that is nothing which could be an answer. */
import { HookDispatcher, type HookDispatcherOptions, type HookFailure, type OperationInit } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { createApprovals } from 'hookspan/approval'
import { requireApproval } from 'hookspan/gates'
import { mock, mockTools, recordTools, scriptedModel } from 'hookspan/mock'
import { budget, requireHuman } from 'hookspan/policies'
import { type ReadableSpan, startTracing, traceHooks } from 'hookspan/tracing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const unhandled: unknown[] = []
const note = (error: unknown) => void unhandled.push(error)
beforeEach(() => void process.on('unhandledRejection', note))
afterEach(async () => {
  await new Promise((resolve) => setTimeout(resolve, 5))
  process.off('unhandledRejection', note)
  expect(unhandled.splice(0)).toEqual([])
})

const late = async (): Promise<never> => {
  throw new Error('later')
}
const ANSWERS: [string, () => unknown][] = [
  ['nothing', () => undefined],
  ['null', () => null],
  ['NaN', () => Number.NaN],
  ['a number < 0', () => -1],
  ['Infinity', () => Number.POSITIVE_INFINITY],
  ['a number as text', () => '5'],
  ['an object', () => ({})],
  ['a symbol', () => Symbol('wrong')],
  ['a promise', () => Promise.resolve(false)],
  ['what fails later', late],
  [
    'what throws',
    () => {
      throw new Error('at once')
    },
  ],
]

function world(options: HookDispatcherOptions = {}) {
  const failures: HookFailure[] = []
  const tool = vi.fn(() => 'ran')
  const dispatcher = new HookDispatcher({ onHookError: (failure) => void failures.push(failure), ...options })
  return { failures, tool, dispatcher }
}

/** A call of a tool in a run. */
async function called({ dispatcher, tool }: ReturnType<typeof world>, init: OperationInit) {
  const op = dispatcher.startOperation(init)
  const outcome = await op.toolCall({ apiName: 'pay', args: {} }, tool)
  await op.complete()
  return outcome
}

/** The same after a call of a model. */
async function spent(
  here: ReturnType<typeof world>,
  init: OperationInit,
  reply: unknown,
  read?: () => unknown,
) {
  const op = here.dispatcher.startOperation(init)
  const call = { model: 'm', request: {}, ...(read && { read: read as never }) }
  expect(await op.llmCall(call, () => reply)).toBe(reply)
  const outcome = await op.toolCall({ apiName: 'pay', args: {} }, here.tool)
  await op.complete()
  return outcome
}

describe.each(ANSWERS)('%s lets no tool run', (_what, answer) => {
  it('of `when`', async () => {
    const here = world()
    const gates = [requireHuman({ when: answer as never })]
    expect(await called(here, { gates })).toMatchObject({ state: 'denied', code: 'gate_error' })
    expect(here.tool).not.toHaveBeenCalled()
  })

  it('of `needsApproval`', async () => {
    const { dispatcher, tool } = world()
    const run = await execAgent({
      agent: {
        name: 'a',
        model: 'm',
        // A promise of an answer is one.
        tools: [{ name: 'pay', execute: tool, needsApproval: answer as never }],
      },
      prompt: 'pay',
      client: scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'done']),
      dispatcher,
    })
    expect(run.status).toBe('done')
    expect(tool).toHaveBeenCalledTimes(_what === 'a promise' ? 1 : 0)
  })

  it.each(['claim', 'state'])('of a ledger: its %s', async (part) => {
    const here = world()
    const claim = part === 'claim' ? answer : async () => ({ state: await answer() })
    const approver = {
      requestApproval: async () => ({ decision: 'approve' as const }),
      ledger: { claim: claim as never, settle: async () => {} },
    }
    const gates = [{ id: 'ask', point: 'beforeToolCall' as const, decide: () => requireApproval() }]
    expect(await called(here, { gates, approver })).toMatchObject({ state: 'denied', code: 'approval_error' })
    expect(here.tool).not.toHaveBeenCalled()
  })

  it('of a store of checkpoints', async () => {
    const { dispatcher, tool } = world()
    const nothing = async () => {}
    const checkpoint = { claim: answer, append: nothing, release: nothing, list: async () => [] }
    const run = execAgent({
      agent: { name: 'a', model: 'm', tools: [{ name: 'pay', execute: tool }] },
      prompt: 'pay',
      client: scriptedModel([]),
      dispatcher,
      checkpoint: checkpoint as never,
    })
    await expect(run).rejects.toMatchObject({
      code: 'CHECKPOINT_FAILED',
      message: expect.stringContaining('Nothing was run'),
    })
  })
})

describe.each(ANSWERS)('a budget holds although %s', (_what, answer) => {
  const usage = { inputTokens: 5, outputTokens: 5 }

  it('is what a reply is priced at', async () => {
    const here = world({ priceOf: answer as never })
    const gates = [budget({ maxCostUsd: 1 })]
    expect(await spent(here, { gates }, { content: '', usage })).toMatchObject({ code: 'budget_exceeded' })
  })

  it('is what `estimateTokens` gives', async () => {
    const { dispatcher } = world()
    const gates = [budget({ maxTokens: 3, estimateTokens: answer as never })]
    const call = dispatcher.startOperation({ gates }).llmCall({ model: 'm', request: {} }, () => ({}))
    await expect(call).rejects.toThrow(/denied \((gate_error|budget_exceeded)\)/)
  })

  it.each(['read', 'usage', 'costUsd'])('is the %s of a reply', async (part) => {
    const here = world()
    const whole = { response: {}, usage, costUsd: 0.1 }
    const gates = [budget({ maxCostUsd: 1, maxTokens: 20 })]
    const read = () => {
      const given = answer()
      if (given instanceof Promise) given.catch(() => {})
      return part === 'read' ? given : { ...whole, [part]: given }
    }
    expect(await spent(here, { gates }, { any: 'shape' }, read)).toMatchObject({ code: 'budget_exceeded' })
    expect(here.tool).not.toHaveBeenCalled()
  })
})

/** Of a count that is there and is none, nobody knows how much it stands for. */
describe.each([
  ['-1', -1],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['a text', '5'],
  ['a list', [5]],
])('a reply that counts %s tokens', (_what, count) => {
  it.each([
    [
      'chat completions',
      { object: 'chat.completion', choices: [], usage: { prompt_tokens: 1, completion_tokens: count } },
    ],
    ['a plain one', { content: 'hi', usage: { inputTokens: 1, outputTokens: count } }],
    ['messages', { type: 'message', content: [], usage: { input_tokens: count, output_tokens: 1 } }],
  ])('has used an unknown number: %s', async (_format, reply) => {
    const here = world()
    const outcome = await spent(here, { gates: [budget({ maxTokens: 100 })] }, reply)
    expect(outcome).toMatchObject({ code: 'budget_exceeded', reason: expect.stringContaining('did not say') })
  })
})

it('one of the two counts alone is counted', async () => {
  const here = world()
  const op = here.dispatcher.startOperation()
  await op.llmCall({ model: 'm', request: {} }, () => ({ content: 'hi', usage: { inputTokens: 7 } }))
  const ended = vi.fn()
  here.dispatcher.register(op.operationId, [{ id: 'end', type: 'onComplete', handler: ended }])
  await op.complete()
  expect(ended.mock.calls[0]?.[0].totals.usage).toEqual({ inputTokens: 7, outputTokens: 0 })
  expect(here.failures).toEqual([])
})

describe.each(ANSWERS)('%s changes nothing of a run', (_what, answer) => {
  const outcome = { state: 'completed', result: 'ran' }

  it('of a clock; events have the real time then', async () => {
    const here = world()
    const times: number[] = []
    const hooks = [
      {
        id: 'h',
        type: 'afterToolCall' as const,
        handler: (e: { timestamp: number }) => void times.push(e.timestamp),
      },
    ]
    const from = Date.now()
    here.dispatcher.use(traceHooks())
    expect(await called(here, { hooks, clock: answer as never })).toMatchObject(outcome)
    if (_what === 'a number < 0') return expect(times).toEqual([-1])
    expect(times[0]).toBeGreaterThanOrEqual(from)
    expect(here.failures.map(({ hookId }) => hookId)).toEqual(['clock'])
  })

  it('of an instrument', async () => {
    const here = world()
    const each = answer as never
    const scope = { run: (fn: () => void) => [fn(), answer()][1], end: each, annotate: each }
    here.dispatcher.use({
      name: 'a',
      instrument: { start: () => scope as never, onEvent: each, onRelease: each },
    })
    here.dispatcher.use({ name: 'b', instrument: { start: each } })
    expect(await called(here, {})).toMatchObject(outcome)
  })

  it('of who is told of text, of progress, or that a plugin is attached', async () => {
    const here = world()
    if (_what !== 'what throws') here.dispatcher.use({ name: 'p', attached: answer as never })
    const op = here.dispatcher.startOperation()
    const call = { apiName: 'pay', args: {}, onProgress: answer as never }
    expect(
      await op.toolCall(call, async function* () {
        yield 1
        return 'ran'
      } as never),
    ).toMatchObject(outcome)
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const run = execAgent({
      agent: { name: 'a', model: 'm' },
      prompt: 'hi',
      client: scriptedModel(['hello']),
      onText: answer as never,
    })
    expect(await run).toMatchObject({ content: 'hello' })
    vi.restoreAllMocks()
  })

  it('of who is told what failed beside an approval', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const here = world()
    const channel = { name: 'c', requested: late, open: answer as never }
    const throws = _what.startsWith('what')
    const approvals = createApprovals({
      channels: [throws ? { name: 'c', requested: late } : channel],
      onError: answer as never,
    })
    here.dispatcher.use(approvals)
    const gates = [{ id: 'ask', point: 'beforeToolCall' as const, decide: () => requireApproval() }]
    const outcomeOf = called(here, { gates })
    await vi.waitFor(async () => expect(await approvals.list()).toHaveLength(1))
    await approvals.respond((await approvals.list())[0]?.request.id as string, { decision: 'approve' })
    expect(await outcomeOf).toMatchObject(outcome)
    await approvals.close()
    vi.restoreAllMocks()
  })

  it('of what redacts, and nothing is shown that was not redacted', async () => {
    const here = world()
    const spans: ReadableSpan[] = []
    const tracing = startTracing({
      captureContent: true,
      redact: answer as never,
      exporter: {
        export: (batch, done) => [spans.push(...batch), done({ code: 0 })],
        shutdown: async () => {},
      },
    })
    here.dispatcher.use(tracing)
    expect(await called(here, {})).toMatchObject(outcome)
    await tracing.shutdown()
    expect(spans.length).toBeGreaterThan(1)
    expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain('"ran"')
  })

  it('of an exporter', async () => {
    const here = world()
    const exporter = { export: answer as never, shutdown: answer as never }
    const queue = { requestTimeoutMs: 1, onTrouble: answer as never }
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const tracing = startTracing({ exporter, queue })
    here.dispatcher.use(tracing)
    expect(await called(here, {})).toMatchObject(outcome)
    await tracing.shutdown({ timeoutMs: 50 })
    vi.restoreAllMocks()
  })
})

it('a `match` that answers later is no match, and is told', async () => {
  const here = world()
  const handler = (event: { mock(given: object): void }) => event.mock({ content: 'mocked' })
  const hooks = [{ id: 'h', type: 'beforeToolCall' as const, match: (async () => false) as never, handler }]
  expect(await called(here, { hooks: hooks as never })).toMatchObject({ state: 'completed' })
  expect(here.failures[0]?.message).toContain('`match` to say at once')
})

it('rules that apply later to a run answer nothing in it', async () => {
  const here = world()
  mockTools(here.dispatcher, [mock('pay').returns(1)], {
    appliesTo: (async () => false) as never,
  })
  expect(await called(here, {})).toMatchObject({ state: 'errored' })
  expect(here.tool).not.toHaveBeenCalled()
})

it('a recording has nothing of what was not redacted yet', async () => {
  const here = world()
  const recorder = recordTools(here.dispatcher, { redact: late })
  expect(await called(here, {})).toMatchObject({ state: 'completed' })
  expect(recorder.recording().calls).toEqual([])
  expect(here.failures[0]?.message).toContain('`redact` of a recording to give a value')
})

it('a result that is not there yet is none of a gate', async () => {
  const here = world()
  const decide = () => ({ decision: 'skip' as const, result: Promise.resolve('cached') })
  const gates = [{ id: 'cache', point: 'beforeToolCall' as const, decide }]
  expect(await called(here, { gates })).toMatchObject({
    code: 'gate_invalid',
    reason: expect.stringContaining('await'),
  })
})

it.each([Number.POSITIVE_INFINITY, 2 ** 31, 1.5])('an exporter has %s ms', async (requestTimeoutMs) => {
  const troubles: string[] = []
  const done = vi.fn()
  const tracing = startTracing({
    exporter: {
      export: (_, give) => setTimeout(() => [give({ code: 0 }), done()], 30),
      shutdown: async () => {},
    },
    queue: { requestTimeoutMs, onTrouble: (message) => void troubles.push(message) },
  })
  const here = world()
  here.dispatcher.use(tracing)
  await called(here, {})
  await tracing.shutdown()
  expect(done).toHaveBeenCalled()
  expect(troubles).toEqual([])
})
