import { AsyncLocalStorage } from 'node:async_hooks'
import { HookDispatcher } from 'hookspan'
import type { ContractReply } from 'hookspan/adapter/contract'
import { observeClaudeAgent, runWith } from 'hookspan/claude-agent'
import { deny } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { traced } from '../support/span-tree.ts'
import { dispatcherWith, findAll, toldLines } from '../support/told-events.ts'
import { askClaude as ask, saying } from './support/ask-claude.ts'
import type { Untyped } from './support/sdks.ts'

const bash = {
  toolCalls: [{ id: 'call_1', name: 'Bash', args: { command: 'echo hello', description: 'Says it' } }],
}
const only = (told: readonly string[], words: RegExp) => told.filter((line) => words.test(line))

describe('Claude Code’s own tools', () => {
  it('are asked about by canUseTool, which is told as a human, and tell their result', async () => {
    const { dispatcher, told } = toldLines()
    const mine = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const canUseTool = async () => {
      seen.push(mine.getStore())
      return { behavior: 'deny', message: 'not today' }
    }
    const touch = { ...bash.toolCalls[0], args: { command: 'touch made', description: 'Makes it' } }
    await mine.run('mine', () =>
      ask(dispatcher, [{ toolCalls: [touch] } as ContractReply, { content: 'done' }], {
        tools: ['Bash'],
        canUseTool,
      }),
    )
    expect(seen).toEqual(['mine'])
    expect(only(told, /Tool|Human/)).toEqual([
      'beforeToolCall Bash',
      'beforeHumanIntervention claude',
      'afterHumanIntervention rejectAndContinue',
      'afterToolCall Bash',
    ])
  })

  it('are run, and tell what came of it', async () => {
    const { dispatcher, told } = toldLines()
    const messages = await ask(dispatcher, [bash, { content: 'done' }], {
      tools: ['Bash'],
      allowedTools: ['Bash'],
    })
    expect(JSON.stringify(messages)).toContain('hello')
    expect(messages.filter(({ type }) => type === 'stream_event')).toEqual([])
    expect(only(told, /Tool/)).toEqual(['beforeToolCall Bash', 'afterToolCall Bash'])
  })
})

describe('an agent that Claude Code calls', () => {
  it('is told below the run, with its turns', async () => {
    const { dispatcher, told } = toldLines()
    const call = {
      id: 'call_1',
      name: 'Agent',
      args: { description: 'Helps', prompt: 'help', subagent_type: 'expert' },
    }
    const agents = {
      expert: { description: 'Knows.', prompt: 'You know.', tools: ['Bash'], model: 'expert' },
    }
    const replies = [{ toolCalls: [call] }, { content: 'asked' }, { content: 'done' }]
    await ask(
      dispatcher,
      replies,
      { tools: ['Agent', 'Bash'], allowedTools: ['Agent'], agents },
      { others: { expert: [{ content: 'it is 42' }] } },
    )
    expect(only(told, /CallAgent|onStart|onComplete/)).toEqual(
      expect.arrayContaining([
        'beforeCallAgent expert',
        'onStart expert',
        'onComplete expert',
        'afterCallAgent expert',
        'onComplete claude',
      ]),
    )
  })
})

describe('a compaction', () => {
  it('is told with what is left, and shown as without us', async () => {
    const { dispatcher, told } = toldLines()
    const after: unknown[] = []
    dispatcher.use({
      name: 'after',
      hooks: [{ id: 's', type: 'afterCompact', handler: (event) => void after.push(event) }],
    })
    const answered = Promise.withResolvers<void>()
    async function* prompt() {
      yield saying('Do it.')
      await answered.promise
      yield saying('/compact')
    }
    const messages = await ask(
      dispatcher,
      [{ content: 'done' }, { content: '<summary>It was done.</summary>' }],
      { tools: [] },
      { prompt: prompt(), onMessage: ({ type }) => type === 'result' && answered.resolve() },
    )
    expect(messages.map(({ subtype }) => subtype)).toContain('compact_boundary')
    // As without us, where it says that it asks its model only to whoever wants pieces of messages.
    expect(messages.flatMap(({ status }) => status ?? [])).toEqual(['compacting'])
    expect(only(told, /Compact/)).toEqual(['beforeCompact claude', 'afterCompact claude'])
    expect(after).toEqual([
      expect.objectContaining({
        messagesBefore: 1,
        messagesAfter: 1,
        tokensBefore: 5,
        tokensAfter: expect.any(Number),
        summary: expect.stringContaining('It was done.'),
      }),
    ])
    expect(JSON.stringify(messages)).not.toContain('PostCompact')
    expect(told.at(-1)).toBe('onComplete claude')
  })
})

describe('the spans that Claude Code makes itself', () => {
  const own = (collector: { names(): string[] }) =>
    collector.names().filter((name) => name.startsWith('claude_code.'))
  const telemetry = (url: string) => ({
    CLAUDE_CODE_ENABLE_TELEMETRY: '1',
    CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: '1',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
  })
  const look = async (sdkSpans: 'omit' | 'nest') => {
    const collector = await startCollector()
    using tracing = traced()
    const options = { tools: ['Bash'], allowedTools: ['Bash'] }
    const env = telemetry(collector.url)
    await ask(tracing.dispatcher, [bash, { content: 'done' }], options, { sdkSpans, env })
    return { collector, root: tracing.span('invoke_agent claude').spanContext() }
  }

  it('are left out, where it is told to send them', async () => {
    const { collector } = await look('omit')
    expect(own(collector)).toEqual([])
    await collector.stop()
  })

  it('lie below the run where they are to be nested', async () => {
    const { collector, root } = await look('nest')
    await collector.until(() => own(collector).includes('claude_code.interaction'), 60_000)
    const interaction = collector.spans.find(({ name }) => name === 'claude_code.interaction')
    expect(interaction).toMatchObject({ traceId: root.traceId, parentSpanId: root.spanId })
    const traces = collector.spans.filter(({ name }) => name.startsWith('claude_code.'))
    expect(new Set(traces.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]))
    await collector.stop()
  })
})

describe('observeClaudeAgent', () => {
  const idle: Untyped = async function* () {}

  it('is attached once, and refuses what is no function, wrong options and a second dispatcher', () => {
    const dispatcher = new HookDispatcher()
    const query = observeClaudeAgent(idle, { dispatcher })
    expect(observeClaudeAgent(query, { dispatcher })).toBe(query)
    const wrong = [
      () => observeClaudeAgent({} as never, { dispatcher }),
      () => observeClaudeAgent(idle, {} as never),
      () => observeClaudeAgent(idle, { dispatcher, spans: 'nest' } as never),
      () => observeClaudeAgent(query, { dispatcher: new HookDispatcher() }),
    ]
    for (const attach of wrong) expect(attach).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  })

  it('is one observation where what is observed is observed from outside again', async () => {
    const [inner, outer] = [toldLines(), toldLines()]
    const given: Untyped[] = []
    const sdk: Untyped = (params: Untyped) => {
      given.push(params)
      return idle()
    }
    const observed: Untyped = observeClaudeAgent(sdk, { dispatcher: inner.dispatcher })
    const query: Untyped = observeClaudeAgent((params: Untyped) => observed(params), {
      dispatcher: outer.dispatcher,
    })
    for await (const _ of query({ prompt: 'Hi.', options: {} }));
    await outer.dispatcher.drain()
    expect(given).toHaveLength(1)
    expect(given[0].options.hooks.PreToolUse).toHaveLength(1)
    expect(only(outer.told, /onStart|onComplete/)).toEqual(['onStart claude', 'onComplete claude'])
    expect(inner.told).toEqual([])
  })

  it('refuses what cannot be held, when the run starts', () => {
    const mocked = new HookDispatcher()
    mocked.use({ name: 'mocks', standIn: () => undefined })
    const gated = new HookDispatcher()
    gated.use({ name: 'careful', gates: [{ id: 'no', point: 'beforeLlmCall', decide: () => deny('no') }] })
    for (const dispatcher of [mocked, gated]) {
      const query: Untyped = observeClaudeAgent(idle, { dispatcher })
      expect(() => query({ prompt: 'Hi.', options: {} })).toThrow(
        expect.objectContaining({ code: 'NOT_CAPABLE' }),
      )
    }
    const query: Untyped = observeClaudeAgent(idle, { dispatcher: mocked })
    const remote = { tools: [], mcpServers: { far: { type: 'http', url: 'http://127.0.0.1:1' } } }
    expect(() => query({ prompt: 'Hi.', options: remote })).toThrow(/far/)
  })

  it.each(['omit', 'nest'] as const)('of the spans of Claude Code: %s', async (sdkSpans) => {
    let given: Untyped
    const spy: Untyped = (params: Untyped) => {
      given = params.options.env
      return idle()
    }
    const query: Untyped = observeClaudeAgent(spy, { dispatcher: new HookDispatcher(), sdkSpans })
    for await (const _ of query({
      prompt: 'Hi.',
      options: { env: { CLAUDE_CODE_ENABLE_TELEMETRY: '1', MINE: 'x' } },
    }));
    expect(given).toMatchObject({ MINE: 'x', OTEL_TRACES_EXPORTER: sdkSpans === 'omit' ? 'none' : 'otlp' })
  })
})

it.each([
  [{ maxTurns: 1 }, 'max_steps', 'turns'],
  [{ maxBudgetUsd: 1e-7 }, 'cost_limit', 'budget'],
] as const)('a query that ends at %j has the reason %s', async (limit, reason, said) => {
  const { dispatcher, events } = dispatcherWith()
  const say = (id: string) => ({
    toolCalls: [{ id, name: 'Bash', args: { command: 'true', description: 'd' } }],
  })
  const asked = { tools: ['Bash'], allowedTools: ['Bash'], ...limit }
  await expect(ask(dispatcher, [say('a'), say('b')], asked)).rejects.toThrow(said)
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason }])
})

it('a run that goes on with nothing to ask is told of no user that says nothing', async () => {
  const dispatcher = new HookDispatcher()
  const resume = dispatcher.startOperation({ agentName: 'a', input: 'Do it.' }).park({ waitingFor: 'human' })
  const asked: unknown[] = []
  dispatcher.use({
    name: 'sees',
    hooks: [{ id: 'asked', type: 'afterLlmCall', handler: ({ request }) => void asked.push(request) }],
  })
  async function* claude() {
    const content = [{ type: 'text', text: 'Gone on.' }]
    yield { type: 'assistant', message: { id: 'm', role: 'assistant', model: 'c', content } }
    yield { type: 'result', subtype: 'success', result: 'Gone on.' }
  }
  const query: Untyped = observeClaudeAgent(claude as never, { dispatcher })
  await runWith({ resume }, async () => {
    for await (const _message of query({ prompt: '' }));
  })
  await dispatcher.drain()
  expect(asked).toEqual([expect.objectContaining({ messages: [] })])
})
