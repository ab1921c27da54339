import { AsyncLocalStorage } from 'node:async_hooks'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { HookDispatcher } from 'hookspan'
import { adapterContract } from 'hookspan/adapter/contract'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { deny, type Gate, mutate } from 'hookspan/gates'
import { mock, mockTools, type ScriptedStep, scriptedFetch } from 'hookspan/mock'
import { redact, requireHuman, toolPolicy } from 'hookspan/policies'
import { observeStrands, runWith, unobserveStrands } from 'hookspan/strands'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { requestContent } from '../../src/wire/request.ts'
import { traced } from '../support/span-tree.ts'
import { dispatcherWith, eventsOf, findAll } from '../support/told-events.ts'
import { oldestStrandsSubject, strandsSubject } from './subjects/strands.ts'
import { elsewhere } from './support/elsewhere.ts'
import type { Untyped } from './support/sdks.ts'

const sdk = '@strands-agents/sdk'
const {
  Agent,
  ExecuteToolStage,
  InvokeModelStage,
  BeforeToolCallEvent,
  AfterInvocationEvent,
  McpClient,
  tool,
}: Untyped = await import(sdk)
const { OpenAIModel }: Untyped = await import(`${sdk}/models/openai`)

const PARAMETERS = { type: 'object', properties: { q: { type: 'string' } } }
const LOOK_THEN_DONE = [
  { toolCalls: [{ id: 'call_1', name: 'look', arguments: { q: 'a' } }] },
  { content: 'done' },
]

function scripted(steps: readonly ScriptedStep[], config: object = {}) {
  const left = [...steps]
  const fetch = scriptedFetch({ respond: () => left.shift() })
  const client = new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 })
  return { fetch, model: new OpenAIModel({ api: 'responses', modelId: 'gpt-x', client, ...config }) }
}

function look(callback: (args: { q: string }, context: Untyped) => unknown, name = 'look') {
  return tool({ name, description: 'Looks it up.', inputSchema: PARAMETERS, callback })
}

function agentOn(steps: readonly ScriptedStep[], tools: readonly Untyped[], more: object = {}): Untyped {
  return new Agent({ name: 'support', model: scripted(steps).model, tools, printer: false, ...more })
}

const textOf = (result: Untyped) => result.lastMessage.content.map((block: Untyped) => block.text).join('')

describe.each([strandsSubject, oldestStrandsSubject])('the contract holds for $name', (subject) => {
  for (const { name, run } of adapterContract({ ...subject, elsewhere: elsewhere(subject.name) })) {
    it(name, run)
  }
})

it('the tools of MCP servers are at home in them, by which a gate knows them', async () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['stock/*'] })] })
  const events = eventsOf(dispatcher)
  const asked: string[] = []
  const clients = await Promise.all(
    ['orders', 'stock'].map(async (name) => {
      const server = new McpServer({ name, version: '1.0.0' })
      server.registerTool('look', {}, async () => {
        asked.push(name)
        return { content: [{ type: 'text', text: 'found' }] }
      })
      const [transport, far] = InMemoryTransport.createLinkedPair()
      await server.connect(far)
      return new McpClient({ transport, prefix: name })
    }),
  )
  const replies = ['orders_look', 'stock_look'].map((name) => ({
    toolCalls: [{ id: name, name, arguments: {} }],
  }))
  const agent = observeStrands(agentOn([...replies, { content: 'done' }], clients), { dispatcher })

  await agent.invoke('go')

  expect(asked).toEqual(['orders'])
  expect(findAll(events, 'afterToolCall')).toMatchObject([
    { source: 'mcp', identifier: 'orders', apiName: 'orders_look', success: true },
    { source: 'mcp', identifier: 'stock', apiName: 'stock_look', success: false },
  ])
  await Promise.all(clients.map((client) => client.disconnect()))
})

it.each(['omit', 'nest'] as const)(
  'each call is one span of ours where the SDK makes its own: %s',
  async (sdkSpans) => {
    using tracing = traced()
    expect(tracing.makeGlobal()).toBe(true)
    const tenant = new AsyncLocalStorage<string>()
    let seen: string | undefined
    const agent = agentOn(LOOK_THEN_DONE, [
      look(async () => {
        await Promise.resolve()
        seen = tenant.getStore()
        tracing.tracer.startSpan('database').end()
        return 'found'
      }),
    ])
    observeStrands(agent, { dispatcher: tracing.dispatcher, sdkSpans })
    await tenant.run('acme', () => agent.invoke('go'))
    const spans = tracing.spans()
    const named = (name: string) => spans.filter((span) => span.name === name)
    expect(seen).toBe('acme')
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1)
    expect(named('chat gpt-x')).toHaveLength(2)
    if (sdkSpans === 'omit') {
      expect(tracing.tree().split('\n').slice(0, 5)).toEqual([
        'invoke_agent support',
        '  step 0',
        '    chat gpt-x',
        '    execute_tool look',
        '      database',
      ])
      expect(spans).toHaveLength(7)
    } else {
      expect(named('execute_tool look')).toHaveLength(2)
      expect(named('invoke_agent support')).toHaveLength(2)
    }
  },
)

it.each([true, false])(
  'what a gate leaves alone in a reply stays as its model gave it, streamed: %s',
  async (streams) => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'privacy', gates: [redact({ kinds: ['email'] })] })
    const agent = agentOn([{ content: 'done' }], [look(() => 'found')])
    let asked = 0
    const rest = agent.model.streamAggregated.bind(agent.model)
    agent.model.streamAggregated = async function* (messages: Untyped, options: Untyped) {
      if (asked++ > 0) return yield* rest(messages, options)
      const content = [
        { reasoning: { text: 'Whose?', signature: 'Eq8=' } },
        { reasoning: { redactedContent: 'gAAA' } },
        { text: 'Of ann@shop.test.' },
        { citations: { citations: [], content: [{ text: 'ann@shop.test' }] } },
        { toolUse: { toolUseId: 'c1', name: 'look', input: { q: 'a' }, reasoningSignature: 'Cs0=' } },
      ]
      const message = messages[0].constructor.fromMessageData({ role: 'assistant', content })
      const delta = (own: object) => ({ type: 'modelContentBlockDeltaEvent', delta: own })
      if (streams) {
        yield delta({ type: 'reasoningContentDelta', text: 'Whose?' })
        yield { type: 'modelContentBlockStopEvent' }
        yield delta({ type: 'textDelta', text: 'Of ann@shop.test.' })
        yield message.content[4]
      }
      const metadata = { usage: { inputTokens: 9, outputTokens: 4, totalTokens: 13 } }
      return { message, stopReason: 'toolUse', metadata }
    }
    observeStrands(agent, { dispatcher })
    expect(textOf(await agent.invoke('Whose is it?'))).toBe('done')
    expect(agent.messages[1].toJSON().content).toEqual([
      { reasoning: { text: 'Whose?', signature: 'Eq8=' } },
      { reasoning: { redactedContent: 'gAAA' } },
      { text: 'Of [email].' },
      { toolUse: { toolUseId: 'c1', name: 'look', input: { q: 'a' }, reasoningSignature: 'Cs0=' } },
    ])
  },
)

it.each([
  ['observed', () => undefined, 'Taken back.'],
  ['decided on', () => mutate({ content: 'Changed.' }), 'Changed.'],
])("of a reply that the SDK's guardrails take back, what they say is %s", async (_how, decide, said) => {
  const payloads: unknown[] = []
  const sees: Gate = {
    id: 'sees',
    point: 'afterLlmCall',
    decide: ({ payload }) => {
      payloads.push(payload)
      return decide()
    },
  }
  const { dispatcher, events } = dispatcherWith()
  dispatcher.use({ name: 'decides', gates: [sees] })
  const agent = agentOn([], [])
  const delta = (text: string) => ({
    type: 'modelContentBlockDeltaEvent',
    delta: { type: 'textDelta', text },
  })
  agent.model.stream = async function* () {
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    yield { type: 'modelContentBlockStartEvent' }
    yield* ['PLANTED', ' secret'].map(delta)
    yield { type: 'modelContentBlockStopEvent' }
    yield { type: 'modelMessageStopEvent', stopReason: 'guardrailIntervened' }
    yield { type: 'modelRedactionEvent', outputRedaction: { replaceContent: 'Taken back.' } }
    yield { type: 'modelMetadataEvent', usage: { inputTokens: 9, outputTokens: 4, totalTokens: 13 } }
  }
  observeStrands(agent, { dispatcher })
  expect(textOf(await agent.invoke('go'))).toBe(said)
  expect(payloads).toMatchObject([{ content: 'Taken back.' }])
  expect(findAll(events, 'afterLlmCall')).toMatchObject([
    { response: { content: said }, usage: { outputTokens: 4 } },
  ])
  expect(JSON.stringify(events)).not.toContain('PLANTED')
})

it('is interrupted, and not done, where it stops at a checkpoint of the SDK', async () => {
  const told: unknown[] = []
  const dispatcher = new HookDispatcher()
  dispatcher.use({
    name: 'told',
    hooks: [{ id: 'ends', type: 'onComplete', handler: ({ reason }) => void told.push(reason) }],
  })
  // The SDK keeps no reply that it stops after: its model is asked again.
  const agent = agentOn([LOOK_THEN_DONE[0]!, ...LOOK_THEN_DONE], [look(() => 'seen')], {
    checkpointing: true,
  })
  observeStrands(agent, { dispatcher })
  let result = await agent.invoke('go')
  const positions: unknown[] = []
  while (result.stopReason === 'checkpoint') {
    positions.push(result.checkpoint.position)
    result = await agent.invoke({ checkpointResume: { checkpoint: result.checkpoint.toJSON() } })
  }
  expect(positions).toEqual(['afterModel', 'afterTools'])
  expect(textOf(result)).toBe('done')
  expect(told).toEqual(['interrupted', 'interrupted', 'done'])
})

it('ends as cancelled where its model is aborted for a reason, whoever decides on replies', async () => {
  const run = async (observe: (agent: Untyped) => void) => {
    const agent = agentOn([{ content: 'late', latencyMs: 10_000 }], [])
    observe(agent)
    const controller = new AbortController()
    const result = agent.invoke('go', { cancelSignal: controller.signal })
    setTimeout(() => controller.abort(new Error('enough')), 20)
    return (await result).stopReason
  }
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'careful', gates: [{ id: 'reads', point: 'afterLlmCall', decide: () => {} }] })

  expect(await run(() => {})).toBe('cancelled')
  expect(await run((agent) => observeStrands(agent, { dispatcher: new HookDispatcher() }))).toBe('cancelled')
  expect(await run((agent) => observeStrands(agent, { dispatcher }))).toBe('cancelled')
})

it('an agent that is observed twice is observed once, and not any more once it is left', async () => {
  const dispatcher = new HookDispatcher()
  const told: string[] = []
  dispatcher.use({
    name: 'count',
    hooks: [{ id: 'count', type: 'beforeToolCall', handler: ({ apiName }) => void told.push(apiName) }],
  })
  const agent = agentOn([...LOOK_THEN_DONE, ...LOOK_THEN_DONE], [look(() => 'found')])
  const own = Object.getOwnPropertyNames(agent)
  expect(observeStrands(agent, { dispatcher })).toBe(agent)
  observeStrands(agent, { dispatcher })
  await agent.invoke('go')
  expect(told).toEqual(['look'])
  expect(() => observeStrands(agent, { dispatcher: new HookDispatcher() })).toThrow(/another dispatcher/)
  unobserveStrands(agent)
  expect(Object.getOwnPropertyNames(agent)).toEqual(own)
  await agent.invoke('again')
  expect(told).toEqual(['look'])
})

it('what is no agent of Strands is refused', () => {
  const dispatcher = new HookDispatcher()
  const older = { stream() {}, messages: [] }
  expect(() => observeStrands(older, { dispatcher })).toThrow(/no middleware/)
  expect(() => observeStrands(agentOn([], []), {} as never)).toThrow(/dispatcher/)
  expect(() => observeStrands(agentOn([], []), { dispatcher, agentname: 'x' } as never)).toThrow(/agentName/)
})

describe('a tool that the provider of the model runs', async () => {
  const { AnthropicModel }: Untyped = await import(`${sdk}/models/anthropic`)
  const { GoogleModel }: Untyped = await import(`${sdk}/models/google`)
  const ofOpenAI = () =>
    scripted([{ content: 'done' }], { params: { tools: [{ type: 'web_search' }] } }).model
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const ofAnthropic = () => new AnthropicModel({ apiKey: 'k', anthropicTools: [search] })
  const ofGoogle = () => new GoogleModel({ apiKey: 'k', builtInTools: [{ googleSearch: {} }] })

  it.each([
    ['OpenAI', ofOpenAI, 'web_search'],
    ['Anthropic', ofAnthropic, 'web_search'],
    ['Google', ofGoogle, 'google_search'],
  ])('is neither mocked nor guarded: %s', async (_name, model, match) => {
    const mocked = new HookDispatcher()
    mockTools(mocked, [mock(match).returns('nothing')])
    const guarded = new HookDispatcher()
    guarded.use({
      name: 'guard',
      gates: [{ id: 'no', point: 'beforeToolCall', match, decide: () => deny('no') }],
    })
    for (const dispatcher of [mocked, guarded]) {
      const agent = observeStrands(agentOn([], [], { model: model() }), { dispatcher })
      await expect(agent.invoke('go')).rejects.toMatchObject({ code: 'NOT_CAPABLE' })
    }
  })

  it('is the SDK’s and the provider’s affair where nobody names it', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({
      name: 'guard',
      gates: [{ id: 'no', point: 'beforeToolCall', match: 'look', decide: () => deny('no') }],
    })
    const agent = agentOn([], [look(() => 'found')], { model: ofOpenAI() })
    expect(textOf(await observeStrands(agent, { dispatcher }).invoke('go'))).toBe('done')
  })
})

it('agents that are tools are observed with the agent that has them, and left with it', async () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({
    name: 'guard',
    gates: [{ id: 'no', point: 'beforeToolCall', match: 'look', decide: () => deny('not here') }],
  })
  const bodies: string[] = []
  const expert = agentOn(
    [LOOK_THEN_DONE[0] as ScriptedStep, { content: 'I may not' }],
    [look(({ q }) => void bodies.push(q))],
    { name: 'expert' },
  )
  const ask = { id: 'c', name: 'expert', arguments: { input: 'help' } }
  const agent = agentOn([{ toolCalls: [ask] }, { content: 'done' }], [expert])
  observeStrands(agent, { dispatcher })
  const result = await agent.invoke('go')
  expect(textOf(result)).toBe('done')
  expect(bodies).toEqual([])
  unobserveStrands(agent)
  expect(Object.hasOwn(expert, 'stream')).toBe(false)
})

it.each([
  'a tool that a hook puts in its place',
  'an agent that a hook puts in its place',
  'an agent that it brings along',
])('gates decide on %s', async (how) => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  dispatcher.use({ name: 'guard', gates: [toolPolicy({ deny: ['wipe'] })] })
  const bodies: string[] = []
  const wipe = look(() => void bodies.push('wiped'), 'wipe')
  const asking = (name: string): ScriptedStep => ({
    toolCalls: [{ id: name, name, arguments: { input: 'go' } }],
  })
  const expert = agentOn([asking('wipe'), { content: 'I may not' }], [wipe], { name: 'expert' })
  const brings = how === 'an agent that it brings along'
  const steps = brings ? [asking('look'), asking('expert')] : [asking('look')]
  const agent = agentOn([...steps, { content: 'done' }], [look(() => 'found')])
  agent.addHook(BeforeToolCallEvent, (event: Untyped) => {
    if (event.toolUse.name !== 'look') return
    if (brings) agent.toolRegistry.add(expert.asTool())
    else event.selectedTool = how.startsWith('a tool') ? wipe : expert.asTool()
  })
  observeStrands(agent, { dispatcher })

  expect(textOf(await agent.invoke('go'))).toBe('done')
  expect(bodies).toEqual([])
  const denied = findAll(events, 'afterToolCall').filter(({ outcome }) => outcome === 'denied')
  expect(denied.map(({ apiName }) => apiName)).toEqual(['wipe'])
  unobserveStrands(agent)
  expect(Object.hasOwn(expert, 'stream')).toBe(false)
})

it('gates decide on what other middleware made of the arguments', async () => {
  const dispatcher = new HookDispatcher()
  const decided: unknown[] = []
  dispatcher.use({
    name: 'guard',
    gates: [{ id: 'see', point: 'beforeToolCall', decide: ({ payload }) => void decided.push(payload) }],
  })
  const agent = agentOn(LOOK_THEN_DONE, [look(({ q }) => q)])
  observeStrands(agent, { dispatcher })
  agent.addMiddleware(ExecuteToolStage, async function* (ctx: Untyped, next: Untyped) {
    return yield* next({ ...ctx, toolUse: { ...ctx.toolUse, input: { q: 'swapped' } } })
  })
  await agent.invoke('go')
  expect(decided).toEqual([{ q: 'swapped' }])
})

it('a beforeLlmCall gate changes messages and tools; what the model object keeps is refused', async () => {
  const dispatcher = new HookDispatcher()
  const { model, fetch } = scripted([{ content: 'hello' }])
  const agent = new Agent({ model, systemPrompt: 'Be kind.', tools: [look(() => 'x')], printer: false })
  let change: (payload: Untyped) => object = ({ messages }) => ({
    messages: [...messages.slice(0, -1), { role: 'user', content: 'redacted' }],
    tools: [],
  })
  dispatcher.use({
    name: 'redact',
    gates: [{ id: 'r', point: 'beforeLlmCall', decide: ({ payload }) => mutate(change(payload)) }],
  })
  observeStrands(agent, { dispatcher })
  await agent.invoke('my secret')
  const sent = JSON.stringify(fetch.requests[0]?.body)
  expect(sent).toContain('redacted')
  expect(sent).toContain('Be kind.')
  expect(sent).not.toMatch(/secret|look/)
  change = () => ({ temperature: 0 })
  await expect(agent.invoke('again')).rejects.toThrow(/temperature/)
})

it.each<[object, RegExp]>([
  [{ tool_choice: 'none' }, /`tool_choice` to "none", which Strands does not ask.*take tools away/],
  [{ tools: [{ type: 'web_search' }] }, /a tool of type "web_search", which Strands keeps in the model/],
])('asks no model where a gate says what Strands cannot: %j', async (set, refusal) => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'beforeLlmCall', decide: () => mutate(set) }] })
  const { model, fetch } = scripted([{ content: 'hello' }])
  const agent = new Agent({ model, tools: [look(() => 'x')], printer: false })
  observeStrands(agent, { dispatcher })
  await expect(agent.invoke('go')).rejects.toThrow(refusal)
  expect(fetch.requests).toEqual([])
})

it('of the results of a turn a gate changes one, and all are one message, as they came out', async () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'redact', gates: [redact({ patterns: { word: /secret/ }, in: ['modelInput'] })] })
  const { model } = scripted([
    {
      toolCalls: [
        { id: 'c1', name: 'look', arguments: { q: 'a' } },
        { id: 'c2', name: 'look', arguments: { q: 'b' } },
      ],
    },
    { content: 'done' },
  ])
  const asked: Untyped[] = []
  const own = model.stream.bind(model)
  model.stream = (messages: Untyped[], ...more: unknown[]) => {
    asked.push(messages.map((message) => message.toJSON()))
    return own(messages, ...more)
  }
  const fails = ({ q }: { q: string }) => {
    if (q === 'a') throw new Error('a secret')
    return { found: 3 }
  }
  const agent = new Agent({ model, tools: [look(fails)], printer: false })
  observeStrands(agent, { dispatcher })
  await agent.invoke('go')
  expect(asked[1].map(({ role }: Untyped) => role)).toEqual(['user', 'assistant', 'user'])
  expect(asked[1][2].content).toMatchObject([
    {
      toolResult: {
        toolUseId: 'c1',
        status: 'error',
        content: [{ text: expect.not.stringContaining('secret') }],
      },
    },
    { toolResult: { toolUseId: 'c2', status: 'success', content: [{ json: { found: 3 } }] } },
  ])
})

it('a system prompt that a gate says in parts is sent', async () => {
  const dispatcher = new HookDispatcher()
  const decide = ({ payload }: Untyped) =>
    mutate({
      messages: [{ role: 'system', content: [{ type: 'text', text: 'Be kind.' }] }, ...payload.messages],
    })
  dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'beforeLlmCall', decide }] })
  const { model, fetch } = scripted([{ content: 'hello' }])
  const agent = new Agent({ model, printer: false })
  observeStrands(agent, { dispatcher })
  await agent.invoke('go')
  expect(JSON.stringify(fetch.requests[0]?.body)).toContain('Be kind.')
})

it('pictures and documents are told, and stay where a gate changes the text beside them', async () => {
  const dispatcher = new HookDispatcher()
  const { model, fetch } = scripted([{ content: 'a cat' }])
  const agent = new Agent({ model, printer: false })
  dispatcher.use({ name: 'redact', gates: [redact({ patterns: { word: /secret/ }, in: ['modelInput'] })] })
  const requests: Untyped[] = []
  const handler = ({ request }: Untyped) => void requests.push(requestContent(request).messages)
  dispatcher.use({ name: 'h', hooks: [{ id: 'h', type: 'beforeLlmCall', handler }] })
  observeStrands(agent, { dispatcher })
  const bytes = new Uint8Array(Buffer.from('iVBORw0KGgo=', 'base64'))
  await agent.invoke([
    { text: 'my secret' },
    { image: { format: 'png', source: { bytes } } },
    { document: { name: 'order 7', format: 'pdf', source: { bytes } } },
  ])
  const sent = JSON.stringify(fetch.requests[0]?.body)
  expect(sent).not.toContain('secret')
  expect(sent.match(/iVBORw0KGgo=/g)).toHaveLength(2)
  expect(requests[0]![0].parts.slice(1)).toEqual([
    { type: 'blob', modality: 'image', mime_type: 'image/png', content: 'iVBORw0KGgo=' },
    {
      ...{ type: 'blob', modality: 'document', mime_type: 'application/pdf', content: 'iVBORw0KGgo=' },
      filename: 'order 7',
    },
  ])
})

it('gates answer in the place of the model, before it is asked and after it has answered', async () => {
  for (const point of ['beforeLlmCall', 'afterLlmCall'] as const) {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'g', gates: [{ id: 'g', point, decide: () => deny('not now') }] })
    const agent = observeStrands(agentOn([{ content: 'the secret' }], []), { dispatcher })
    const shown: string[] = []
    for await (const event of agent.stream('go')) shown.push(JSON.stringify(event.event?.delta ?? ''))
    expect(shown.join()).not.toContain('secret')
    expect(textOf({ lastMessage: agent.messages.at(-1) })).toContain('not now')
  }
})

it('a gate that ends the run ends the agent', async () => {
  const dispatcher = new HookDispatcher()
  const reasons: string[] = []
  dispatcher.use({
    name: 'g',
    gates: [{ id: 'g', point: 'beforeToolCall', decide: () => deny('enough', { stop: true }) }],
    hooks: [{ id: 'end', type: 'onComplete', handler: ({ reason }) => void reasons.push(reason) }],
  })
  const agent = observeStrands(agentOn(LOOK_THEN_DONE, [look(() => 'x')]), { dispatcher })
  expect((await agent.invoke('go')).stopReason).toBe('endTurn')
  expect(reasons).toEqual(['denied'])
})

it('cancel() ends the run as interrupted', async () => {
  const dispatcher = new HookDispatcher()
  const reasons: string[] = []
  dispatcher.use({
    name: 'h',
    hooks: [{ id: 'end', type: 'onComplete', handler: ({ reason }) => void reasons.push(reason) }],
  })
  const agent = agentOn(LOOK_THEN_DONE, [
    look(() => {
      agent.cancel()
      return 'found too late'
    }),
  ])
  observeStrands(agent, { dispatcher })
  expect((await agent.invoke('go')).stopReason).toBe('cancelled')
  expect(reasons).toEqual(['interrupted'])
  expect(JSON.stringify(agent.messages)).toContain('found too late')
})

it('a call that waits beside one that runs goes on, also when it was asked again too early', async () => {
  const dispatcher = new HookDispatcher()
  const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
  dispatcher.use(approvals)
  dispatcher.use({ name: 'h', gates: [requireHuman({ match: 'refund' })] })
  const bodies: string[] = []
  const both = {
    toolCalls: [
      { id: '1', name: 'refund', arguments: { q: 'a' } },
      { id: '2', name: 'look', arguments: { q: 'b' } },
    ],
  }
  const note = (name: string) => look(() => void bodies.push(name), name)
  const agent = agentOn([both, { content: 'done' }], [note('refund'), note('look')])
  observeStrands(agent, { dispatcher })
  const first = await agent.invoke('go')
  expect(first.stopReason).toBe('interrupt')
  expect(bodies).toEqual(['look'])
  const [asked] = first.interrupts
  expect(asked.reason).toMatchObject({ hookspan: 'approval', apiName: 'refund', args: { q: 'a' } })
  const answer = (interrupt: Untyped) => [
    { interruptResponse: { interruptId: interrupt.id, response: 'yes' } },
  ]
  const second = await agent.invoke(answer(asked))
  expect(second.stopReason).toBe('interrupt')
  const [again] = second.interrupts
  const [{ request }] = (await approvals.list({ status: 'pending' })) as Untyped
  await approvals.respond(request.id, {
    decision: 'approve',
    approver: 'ann',
    argsDigest: request.argsDigest,
  })
  const third = await agent.invoke(answer(again))
  expect(textOf(third)).toBe('done')
  expect(bodies).toEqual(['look', 'refund'])
})

it("a tool's own interrupt parks the run, which goes on with the same agent", async () => {
  const dispatcher = new HookDispatcher()
  const told: string[] = []
  const types = ['onStart', 'beforeToolCall', 'afterToolCall', 'onComplete'] as const
  dispatcher.use({
    name: 'h',
    hooks: types.map((type) => ({ id: type, type, handler: () => void told.push(type) })),
  })
  const ask = (_args: unknown, { interrupt }: Untyped) =>
    `size ${interrupt({ name: 'size', reason: 'which?' })}`
  const agent = observeStrands(agentOn(LOOK_THEN_DONE, [look(ask)]), { dispatcher })
  const first = await agent.invoke('go')
  expect(first.stopReason).toBe('interrupt')
  expect(told).toEqual(['onStart', 'beforeToolCall'])
  const [{ id: interruptId }] = first.interrupts
  const second = await agent.invoke([{ interruptResponse: { interruptId, response: 'L' } }])
  expect(textOf(second)).toBe('done')
  expect(JSON.stringify(agent.messages)).toContain('size L')
  expect(told).toEqual(types)
})

it("an agent that is a tool ends with its tool's own question, whose call is told once", async () => {
  using tracing = traced()
  const ask = look((_args, { interrupt }) => interrupt({ name: 'size', reason: 'which?' }))
  const inner = agentOn(LOOK_THEN_DONE, [ask], { name: 'inner', description: 'Looks.' })
  const outer = agentOn(
    [{ toolCalls: [{ id: 'b', name: 'inner', arguments: { input: 'go' } }] }, { content: 'ok' }],
    [inner],
  )
  observeStrands(outer, { dispatcher: tracing.dispatcher })
  expect(textOf(await outer.invoke('go'))).toBe('ok')
  expect(tracing.tree().split('\n')).toEqual([
    'invoke_agent support',
    '  step 0',
    '    chat gpt-x',
    '    execute_tool inner',
    '      invoke_agent inner',
    '        step 0',
    '          chat gpt-x',
    '          execute_tool look',
    '  step 1',
    '    chat gpt-x',
  ])
  expect(tracing.span('execute_tool look').status.message).toContain('size')
})

it('says whose run it is, and mocks hold in it', async () => {
  const dispatcher = new HookDispatcher()
  const users: (string | undefined)[] = []
  dispatcher.use({
    name: 'h',
    hooks: [{ id: 's', type: 'onStart', handler: ({ userId }) => void users.push(userId) }],
  })
  using mocks = mockTools(dispatcher, [mock('look').returns({ price: 7 })], { onUnmocked: 'error' })
  const agent = agentOn(LOOK_THEN_DONE, [look(() => Promise.reject(new Error('live')))])
  observeStrands(agent, { dispatcher })
  const stream = runWith({ userId: 'ines' }, () => agent.stream('go'))
  for await (const _event of stream);
  expect(users).toEqual(['ines'])
  expect(agent.messages[2].content[0].content[0].json).toEqual({ price: 7 })
  mocks.assertUsed()
})

it('a second invocation at the same time is refused by the SDK, and harms nothing', async () => {
  const dispatcher = new HookDispatcher()
  const agent = agentOn(LOOK_THEN_DONE, [
    look(async () => {
      await expect(agent.invoke('meanwhile')).rejects.toThrow(/invo/i)
      return 'found'
    }),
  ])
  observeStrands(agent, { dispatcher })
  expect(textOf(await agent.invoke('go'))).toBe('done')
})

it("the agent's events are the same with and without it", async () => {
  const run = async (agent: Untyped) => {
    const events: string[] = []
    for await (const event of agent.stream('go')) events.push(event.type)
    return events
  }
  const parallel = {
    toolCalls: ['a', 'b'].map((q) => ({ id: q, name: 'look', arguments: { q } })),
  }
  const steps = [{ content: 'let me see', ...parallel }, { content: 'done' }]
  const streaming = look(async function* ({ q }: { q: string }) {
    yield 'half'
    return q
  } as Untyped)
  const bare = await run(agentOn(steps, [streaming]))
  const observed = observeStrands(agentOn(steps, [streaming]), { dispatcher: new HookDispatcher() })
  expect(await run(observed)).toEqual(bare)
  expect(bare.filter((type) => type === 'toolStreamUpdateEvent')).toHaveLength(2)
})

it('a run that its limit of turns ends is one of too many steps', async () => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const agent = observeStrands(agentOn(LOOK_THEN_DONE, [look(() => 'found')]), { dispatcher })
  expect(await agent.invoke('go', { limits: { turns: 1 } })).toMatchObject({ stopReason: 'limitTurns' })
  expect(await agent.invoke('go on')).toMatchObject({ stopReason: 'endTurn' })
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'max_steps' }, { reason: 'done' }])
})

it('a run that its limit of tokens ends is at its limit of cost', async () => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const steps = [{ ...LOOK_THEN_DONE[0], usage: { inputTokens: 3, outputTokens: 2 } }]
  const agent = observeStrands(agentOn(steps, [look(() => 'found')]), { dispatcher })
  const limited = await agent.invoke('go', { limits: { totalTokens: 1 } })
  expect(limited).toMatchObject({ stopReason: 'limitTotalTokens' })
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'cost_limit' }])
})

it.each([
  ['that is at its limit of tokens', { content: 'a', finishReason: 'length' }],
  ['whose arguments nobody can read', { toolCalls: [{ id: '1', name: 'look', arguments: '{"q"' }] }],
])('a reply %s counts what it took, though the SDK throws', async (_which, step) => {
  using tracing = traced()
  const { dispatcher } = tracing
  const events = eventsOf(dispatcher)
  const steps = [{ ...step, usage: { inputTokens: 3, outputTokens: 2 } }]
  const agent = observeStrands(agentOn(steps, [look(() => 'found')]), { dispatcher })
  await expect(agent.invoke('go')).rejects.toThrow(/maximum token limit|unable to parse/)
  expect(findAll(events, 'onLlmCallError')).toMatchObject([{ usage: { inputTokens: 3, outputTokens: 2 } }])
  expect(tracing.span('chat gpt-x').attributes).toMatchObject({ 'gen_ai.usage.input_tokens': 3 })
})

it('structured output is a tool call, which an allow-list has to name', async () => {
  const run = async (allow: string[]) => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ allow })] })
    const answer = { toolCalls: [{ id: '1', name: 'strands_structured_output', arguments: { n: 7 } }] }
    const replies = [answer, { content: 'I may not.' }, { content: 'I may not.' }]
    const agent = agentOn(replies, [], { structuredOutputSchema: z.object({ n: z.number() }) })
    return await observeStrands(agent, { dispatcher }).invoke('how many?')
  }
  expect(await run(['look', 'strands_structured_output'])).toMatchObject({ structuredOutput: { n: 7 } })
  await expect(run(['look'])).rejects.toThrow('structured output tool')
})

it('runs of one agent that wait at once, each in its snapshot, go on as themselves', async () => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const size = look((_args, { interrupt }) => interrupt({ name: 'size', reason: 'which?' }))
  const asks = (id: string) => ({ toolCalls: [{ id, name: 'look', arguments: { q: id } }] })
  const replies = [asks('ann'), asks('bob'), { content: 'for ann' }, { content: 'for bob' }]
  const agent = observeStrands(agentOn(replies, [size]), { dispatcher })
  const empty = agent.takeSnapshot({ preset: 'session' })
  const ask = async (who: string) => {
    agent.loadSnapshot(empty)
    const { interrupts } = await agent.invoke(who)
    return { interruptId: interrupts[0].id, snapshot: agent.takeSnapshot({ preset: 'session' }) }
  }
  const [ann, bob] = [await ask('ann'), await ask('bob')]

  for (const { interruptId, snapshot } of [ann, bob]) {
    agent.loadSnapshot(snapshot)
    await agent.invoke([{ interruptResponse: { interruptId, response: 'L' } }])
  }

  const ids = findAll(events, 'onStart').map(({ operationId }) => operationId)
  expect(findAll(events, 'onComplete')).toMatchObject([
    { operationId: ids[0], reason: 'done', content: 'for ann' },
    { operationId: ids[1], reason: 'done', content: 'for bob' },
  ])
})

it('interrupts of hooks and answers that they give at once are left to the SDK', async () => {
  const dispatcher = new HookDispatcher()
  const bodies: string[] = []
  const agent = agentOn(LOOK_THEN_DONE, [look(({ q }) => void bodies.push(q))])
  agent.addHook(BeforeToolCallEvent, (event: Untyped) => event.interrupt({ name: 'ok', reason: 'sure?' }))
  agent.addHook(AfterInvocationEvent, (event: Untyped) => {
    const asked = Object.values(agent._interruptState.interrupts).find(
      (one: Untyped) => !one.response,
    ) as Untyped
    if (asked) event.resume = [{ interruptResponse: { interruptId: asked.id, response: true } }]
  })
  observeStrands(agent, { dispatcher })
  expect(textOf(await agent.invoke('go'))).toBe('done')
  expect(bodies).toEqual(['a'])
})

// biome-ignore lint/correctness/useYield: it fails before.
async function* failing(): AsyncGenerator<never> {
  throw new Error('no')
}

it('a model that is asked again after a failure stays in its step', async () => {
  const dispatcher = new HookDispatcher()
  const told: string[] = []
  dispatcher.use({
    name: 'h',
    hooks: (['beforeStep', 'beforeLlmCall'] as const).map((type) => ({
      id: type,
      type,
      handler: () => void told.push(type),
    })),
  })
  const agent = observeStrands(agentOn([{ content: 'done' }], []), { dispatcher })
  agent.addMiddleware(InvokeModelStage, async function* (ctx: Untyped, next: Untyped) {
    const broken = {
      ...ctx.model,
      modelId: 'broken',
      streamAggregated: failing,
    }
    try {
      return yield* next({ ...ctx, model: broken })
    } catch {
      return yield* next(ctx)
    }
  })
  expect(textOf(await agent.invoke('go'))).toBe('done')
  expect(told).toEqual(['beforeStep', 'beforeLlmCall', 'beforeLlmCall'])
})
