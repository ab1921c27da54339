/** What one dispatcher observes, at work in a run of another one: the guards of both hold, and each tells what is its own. */
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import * as ai from 'ai'
import { HookDispatcher, type Operation } from 'hookspan'
import { wrapTools } from 'hookspan/adapter'
import { observeAISDK } from 'hookspan/ai-sdk'
import { deny, type GatePoint } from 'hookspan/gates'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { callTool, mock, mockTools, scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { traceHooks } from 'hookspan/tracing'
import OpenAI from 'openai'
import { describe, expect, it, vi } from 'vitest'
import { clientOf as googleOf } from './google-client.ts'
import { scripted } from './subjects/ai-sdk.ts'

const PARAMETERS = { type: 'object', properties: {} } as const
const messages = [{ role: 'user' as const, content: 'Wipe it.' }]

function told(dispatcher: HookDispatcher): string[] {
  const events: string[] = []
  const types = ['onStart', 'afterLlmCall', 'afterToolCall', 'onComplete'] as const
  const hooks = types.map((type) => ({ id: type, type, handler: () => void events.push(type) }))
  dispatcher.use({ name: 'told', hooks })
  return events
}

function spansOf(dispatcher: HookDispatcher): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  dispatcher.use(traceHooks({ tracer: provider.getTracer('test') }))
  return exporter
}

function denies(dispatcher: HookDispatcher, point: GatePoint) {
  dispatcher.use({ name: 'no', gates: [{ id: 'no', point, decide: () => deny('never') }] })
}

function clientOf(dispatcher: HookDispatcher, steps: Parameters<typeof scriptedFetch>[0]['steps']) {
  return observeOpenAI(new OpenAI({ apiKey: 'none', fetch: scriptedFetch({ steps }) }), { dispatcher })
}

async function inRunOf<T>(dispatcher: HookDispatcher, fn: () => PromiseLike<T> | T): Promise<T> {
  const op = dispatcher.startOperation({ agentName: 'outer' })
  try {
    return await op.step(async () => await fn())
  } finally {
    await op.complete()
    await dispatcher.drain()
  }
}

const WAYS: Record<string, (inner: HookDispatcher, wipe: () => string) => Promise<unknown>> = {
  wrapTools: async (inner, wipe) => wrapTools({ wipe }, { dispatcher: inner, onRefused: 'tell' }).wipe(),
  'runTools()': (inner, wipe) => {
    const client = clientOf(inner, [callTool('wipe', {}), { content: 'Bye.' }])
    const fn = { name: 'wipe', description: '', parameters: PARAMETERS, parse: JSON.parse, function: wipe }
    const tools = [{ type: 'function' as const, function: fn }]
    return client.chat.completions.runTools({ model: 'm', messages, tools }).finalContent()
  },
  generateText: (inner, wipe) =>
    observeAISDK(ai, { dispatcher: inner }).generateText({
      model: scripted([{ toolCalls: [{ id: '1', name: 'wipe', args: {} }] }, { content: 'Bye.' }]),
      prompt: 'Wipe it.',
      tools: { wipe: ai.tool({ inputSchema: ai.jsonSchema(PARAMETERS), execute: wipe }) },
      stopWhen: ai.isStepCount(3),
    }),
}

describe.each(Object.entries(WAYS))('%s in a run of another dispatcher', (_, call) => {
  const dispatchers = () => [new HookDispatcher(), new HookDispatcher()] as const

  it('runs no tool that its own gates refuse, and tells its own hooks', async () => {
    const [outer, inner] = dispatchers()
    denies(inner, 'beforeToolCall')
    const events = told(inner)
    const wipe = vi.fn(() => 'gone')
    await inRunOf(outer, () => call(inner, wipe))
    await inner.drain()
    expect(wipe).not.toHaveBeenCalled()
    expect(events).toEqual(expect.arrayContaining(['onStart', 'afterToolCall', 'onComplete']))
  })

  it('lies below the run, in spans of its own', async () => {
    const [outer, inner] = dispatchers()
    const [above, below] = [spansOf(outer), spansOf(inner)]
    await inRunOf(outer, () => call(inner, () => 'gone'))
    await inner.drain()
    const ids = above.getFinishedSpans().map((span) => span.spanContext().spanId)
    const root = below.getFinishedSpans().find(({ name }) => name.startsWith('invoke_agent'))
    expect(below.getFinishedSpans().map(({ name }) => name)).toContain('execute_tool wipe')
    expect(ids).toContain(root?.parentSpanContext?.spanId)
  })

  it('runs no tool that the gates of the run refuse', async () => {
    const [outer, inner] = dispatchers()
    denies(outer, 'beforeToolCall')
    const wipe = vi.fn(() => 'gone')
    await inRunOf(outer, () => call(inner, wipe)).catch(() => {})
    expect(wipe).not.toHaveBeenCalled()
  })

  it('runs no tool that is mocked in the run', async () => {
    const [outer, inner] = dispatchers()
    using mocks = mockTools(outer, [mock('wipe').returns('mocked')])
    const wipe = vi.fn(() => 'gone')
    await inRunOf(outer, () => call(inner, wipe))
    expect(wipe).not.toHaveBeenCalled()
    expect(mocks.calls()).toHaveLength(1)
  })
})

const unsafe = { content: 'unsafe' }

/** A question to a client that the dispatcher observes, outside of its runs in a given one. */
const QUESTIONS: Record<
  string,
  (dispatcher: HookDispatcher, operation?: Operation) => () => Promise<string>
> = {
  'a chat of OpenAI': (dispatcher, operation) => async () => {
    const client = new OpenAI({ apiKey: 'none', fetch: scriptedFetch({ steps: [unsafe] }) })
    const { chat } = observeOpenAI(client, { dispatcher, ...(operation && { operation }) })
    return (await chat.completions.create({ model: 'm', messages })).choices[0]?.message.content ?? ''
  },
  'content of Google': (dispatcher, operation) => async () => {
    const { models } = observeGoogleGenAI(googleOf(unsafe).ai, {
      dispatcher,
      ...(operation && { operation }),
    })
    return (await models.generateContent({ model: 'm', contents: 'Wipe it.' })).text ?? ''
  },
  'a stream of Google': (dispatcher, operation) => async () => {
    const { models } = observeGoogleGenAI(googleOf(unsafe).ai, {
      dispatcher,
      ...(operation && { operation }),
    })
    let text = ''
    for await (const chunk of await models.generateContentStream({ model: 'm', contents: 'Wipe it.' })) {
      text += chunk.text ?? ''
    }
    return text
  },
  'an interaction of Google': (dispatcher, operation) => async () => {
    const { interactions } = observeGoogleGenAI(googleOf(unsafe).ai, {
      dispatcher,
      ...(operation && { operation }),
    })
    return (await interactions.create({ model: 'm', input: 'Wipe it.' })).output_text ?? ''
  },
}

describe.each(Object.entries(QUESTIONS))('%s in a model call of another dispatcher', (_, question) => {
  const byHand = async <T>(outer: HookDispatcher, ask: () => Promise<T>) => {
    const op = outer.startOperation({})
    try {
      return await op.step((step) => step.llmCall({ model: 'm', request: {} }, ask))
    } finally {
      await op.complete()
    }
  }

  it('is refused by its own gates, in a step and where the run has told of it', async () => {
    const [outer, inner] = [new HookDispatcher(), new HookDispatcher()]
    denies(inner, 'beforeLlmCall')
    expect(await inRunOf(outer, question(inner))).toBe('never')
    expect(await byHand(outer, question(inner))).toBe('never')
  })

  it('is refused by them where its calls belong in a given operation', async () => {
    const [outer, inner] = [new HookDispatcher(), new HookDispatcher()]
    denies(inner, 'beforeLlmCall')
    const op = inner.startOperation({})
    expect(await byHand(outer, question(inner, op))).toBe('never')
    await op.complete()
  })

  it('is refused by them in a run that begins there', async () => {
    const [outer, inner] = [new HookDispatcher(), new HookDispatcher()]
    denies(inner, 'beforeLlmCall')
    expect(await byHand(outer, () => inRunOf(inner, question(inner)))).toBe('never')
  })

  it('is told once, as the run told of it, where nobody is to decide', async () => {
    const [outer, inner] = [new HookDispatcher(), new HookDispatcher()]
    const [above, below] = [told(outer), told(inner)]
    expect(await byHand(outer, question(inner))).toBe('unsafe')
    await Promise.all([outer.drain(), inner.drain()])
    expect([...above, ...below].filter((type) => type === 'afterLlmCall')).toHaveLength(1)
  })

  it('is refused in a run that begins in a model call of the same one', async () => {
    const dispatcher = new HookDispatcher()
    let within = false
    const decide = () => (within ? deny('never') : undefined)
    dispatcher.use({ name: 'no', gates: [{ id: 'no', point: 'beforeLlmCall', decide }] })
    const reply = await byHand(dispatcher, () => {
      within = true
      return inRunOf(dispatcher, question(dispatcher))
    })
    expect(reply).toBe('never')
  })
})

describe('a model call of another dispatcher', () => {
  it('is refused by its own gates in each turn of a loop', async () => {
    const [outer, inner] = [new HookDispatcher(), new HookDispatcher()]
    denies(inner, 'beforeLlmCall')
    const op = outer.startOperation({})
    const wipe = vi.fn(() => 'gone')
    const reply = await op.step((step) =>
      step.llmCall({ model: 'm', request: {} }, () => WAYS['runTools()']?.(inner, wipe) as Promise<unknown>),
    )
    await op.complete()
    expect(reply).toBe('never')
    expect(wipe).not.toHaveBeenCalled()
  })

  it('counts once in the budget of the run', async () => {
    const [outer, inner] = [new HookDispatcher(), new HookDispatcher()]
    const client = clientOf(inner, [{ content: 'Hi.', usage: { inputTokens: 5, outputTokens: 2 } }])
    let spent: number | undefined
    outer.use({
      name: 'look',
      gates: [
        {
          id: 'look',
          point: 'beforeToolCall',
          decide: (ctx) => {
            spent = ctx.totals.inputTokens
            return undefined
          },
        },
      ],
    })
    const op = outer.startOperation({})
    await op.step(async (step) => {
      await client.chat.completions.create({ model: 'm', messages })
      await step.toolCall({ apiName: 'look', args: {} }, () => 'ok')
    })
    await op.complete()
    expect(spent).toBe(5)
  })
})
