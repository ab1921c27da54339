import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { HookDispatcher, type HookEvent } from 'hookspan'
import {
  mock,
  mockTools,
  recordEvents,
  type ScriptedModel,
  scriptedFetch,
  scriptedModel,
  summarizeCalls,
} from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { traceHooks } from 'hookspan/tracing'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
afterAll(() => {
  context.disable()
  trace.disable()
})

const usage = { inputTokens: 100, outputTokens: 10 }
const modelReply = {
  choices: [{ message: { role: 'assistant', content: 'ok' } }],
  usage: { prompt_tokens: 7, completion_tokens: 2 },
}

/** One run with a real and three mocked tool calls, a real and a scripted model call. */
async function run() {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const dispatcher = new HookDispatcher({ priceOf: ({ usage }) => usage.inputTokens })
  const events: HookEvent[] = []
  dispatcher.use(traceHooks({ tracer: provider.getTracer('test') }))
  dispatcher.use({
    name: 'events',
    hooks: (['beforeToolCall', 'afterToolCall', 'onToolCallError', 'afterLlmCall'] as const).map((type) => ({
      id: `log ${type}`,
      type,
      handler: (event: HookEvent) => void events.push(event),
    })),
  })
  using _mocks = mockTools(dispatcher, [
    mock('search').named('search rule').returns('found'),
    mock('buy').throws(new Error('sold out')),
    mock('chat').simulatedBy(() => 'played'),
    mock('real').passesThrough(),
  ])
  const client = new OpenAI({ apiKey: 'k', fetch: scriptedFetch({ steps: [{ content: 'hi', usage }] }) })
  const operation = dispatcher.startOperation({ agentName: 'support' })
  await operation.step(async (step) => {
    await step.llmCall({ model: 'scripted-1', request: {} }, () =>
      client.chat.completions.create({ model: 'scripted-1', messages: [{ role: 'user', content: 'hi' }] }),
    )
    await step.llmCall({ model: 'real-1', request: {} }, () => modelReply)
    for (const apiName of ['search', 'buy', 'chat', 'real']) {
      await step.toolCall({ apiName, args: { q: 1 } }, () => 'real')
    }
  })
  await operation.complete()
  await dispatcher.drain()
  return { events, spans: exporter.getFinishedSpans() }
}

it('makes the same spans for a mocked call as for a real one, marked with source and rule', async () => {
  const { spans } = await run()
  const tools = spans.filter((span) => span.name.startsWith('execute_tool'))
  const parents = new Set(tools.map((span) => span.parentSpanContext?.spanId))
  expect(parents.size).toBe(1)
  const keys = (name: string) =>
    Object.keys(tools.find((span) => span.name === `execute_tool ${name}`)?.attributes ?? {}).filter(
      // From the call that failed in between on, the run is worth keeping whole.
      (key) => !key.startsWith('hookspan.mock.') && key !== 'hookspan.operation.keep',
    )
  expect(keys('search')).toEqual(keys('real'))
  const marks = tools.map(({ attributes }) => [
    attributes['gen_ai.tool.name'],
    attributes['hookspan.tool.mocked'],
    attributes['hookspan.mock.source'],
    attributes['hookspan.mock.rule'],
  ])
  expect(marks).toEqual([
    ['search', true, 'mock', 'mock("search").named("search rule")'],
    ['buy', true, 'mock', 'mock("buy").throws(sold out)'],
    ['chat', true, 'simulated', 'mock("chat").simulatedBy(…)'],
    ['real', false, undefined, undefined],
  ])
  const models = spans.filter((span) => span.name.startsWith('chat ') && span.kind === 2)
  expect(models.map(({ attributes }) => attributes['hookspan.mock.source'])).toEqual(['scripted', undefined])
})

it('fires the same hooks for a mocked call, marked with source and rule', async () => {
  const { events } = await run()
  const tools = events.filter((event) => 'apiName' in event)
  expect(
    tools.map((event) => [
      event.hookType,
      'apiName' in event && event.apiName,
      'mocked' in event && event.mocked,
      'mockSource' in event && event.mockSource,
    ]),
  ).toEqual([
    ['beforeToolCall', 'search', false, false],
    ['afterToolCall', 'search', true, 'mock'],
    ['beforeToolCall', 'buy', false, false],
    ['onToolCallError', 'buy', true, 'mock'],
    ['beforeToolCall', 'chat', false, false],
    ['afterToolCall', 'chat', true, 'simulated'],
    ['beforeToolCall', 'real', false, false],
    ['afterToolCall', 'real', false, false],
  ])
})

it('leaves what was not real out of cost and latency', async () => {
  const { events } = await run()
  const summary = summarizeCalls(events)
  expect(Object.keys(summary.tools)).toEqual(['real'])
  expect(Object.keys(summary.models)).toEqual(['real-1'])
  expect(summary).toMatchObject({
    costUsd: 7,
    inputTokens: 7,
    outputTokens: 2,
    leftOut: { mock: 2, simulated: 1, scripted: 1 },
  })
})

async function read(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

describe('a scripted model', () => {
  const steps = [
    { content: 'hi', usage },
    { error: { status: 429, message: 'slow' } },
    { content: 'bye', usage },
  ]
  const body = { model: 'scripted-1', messages: [{ role: 'user' as const, content: 'hi' }] }
  const script = () => scriptedModel([...steps, { content: 'cut', cutAfterChunks: 1 }])

  /** Four calls, one of them refused, one streamed, one cut. */
  async function ask(
    model: ScriptedModel,
    client: OpenAI,
    call: (fn: () => Promise<unknown>) => Promise<unknown>,
  ) {
    await call(() => client.chat.completions.create(body))
    await call(() => client.chat.completions.create(body)).catch(() => {})
    const stream = (await call(() =>
      client.chat.completions.create({ ...body, stream: true }),
    )) as AsyncIterable<unknown>
    await read(stream)
    const cut = (await call(() =>
      client.chat.completions.create({ ...body, stream: true }),
    )) as AsyncIterable<unknown>
    await expect(read(cut)).rejects.toThrow('terminated')
    model.assertDone()
  }

  const leftOut = { models: {}, inputTokens: 0, leftOut: { scripted: 4 } }

  it.each(['in process', 'over HTTP'])(
    'is left out of summaries, errors and streams included: %s',
    async (how) => {
      using model = script()
      await using server = await model.listen()
      const client = new OpenAI(
        how === 'in process' ? model.clientOptions : { apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 },
      )
      const dispatcher = new HookDispatcher()
      using log = recordEvents(dispatcher)
      const operation = dispatcher.startOperation({ agentName: 'support' })
      await operation.step((step) =>
        ask(model, client, (fn) => step.llmCall<unknown>({ model: 'scripted-1', request: body }, fn)),
      )
      await operation.complete()
      expect(summarizeCalls(log.events)).toMatchObject(leftOut)
    },
  )

  it('is left out over HTTP also where an observed client asks it', async () => {
    using model = script()
    await using server = await model.listen()
    const dispatcher = new HookDispatcher()
    using log = recordEvents(dispatcher)
    const client = observeOpenAI(new OpenAI({ apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 }), {
      dispatcher,
    })
    await ask(model, client, (fn) => fn())
    await dispatcher.drain()
    expect(summarizeCalls(log.events)).toMatchObject(leftOut)
  })
})
