import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs'
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { HookDispatcher } from 'hookspan'
import { deny, mutate } from 'hookspan/gates'
import { hookspanCallbacks, hookspanMiddleware } from 'hookspan/langchain'
import { traceHooks } from 'hookspan/tracing'
import { createAgent, createMiddleware, modelFallbackMiddleware } from 'langchain'
import { describe, expect, it } from 'vitest'
import { dispatcherWith, eventsOf, findAll, gate } from '../support/told-events.ts'

const usage = (input: number, output: number) => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
  input_token_details: { cache_read: 40 },
})

/** As `@langchain/google-genai`, which tells with each piece of a stream all that was read from the cache. */
class Gemini extends BaseChatModel {
  constructor() {
    super({})
  }

  _llmType(): string {
    return 'googlegenerativeai'
  }

  override bindTools(): this {
    return this
  }

  async _generate(): Promise<ChatResult> {
    const message = new AIMessage({ content: 'done', usage_metadata: usage(100, 3) })
    return { generations: [{ text: 'done', message }] }
  }

  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const [at, text] of ['do', 'n', 'e'].entries()) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      const message = new AIMessageChunk({
        content: text,
        usage_metadata: usage(at === 0 ? 100 : 0, 1),
        response_metadata: at === 0 ? { model_provider: 'google-genai' } : {},
      })
      yield new ChatGenerationChunk({ text, message })
      await run?.handleLLMNewToken(text)
    }
  }
}

const hi = { messages: [new HumanMessage('go')] }

function asked() {
  const dispatcher = new HookDispatcher()
  return { dispatcher, events: eventsOf(dispatcher) }
}

function graph() {
  return new StateGraph(MessagesAnnotation)
    .addNode('ask', async ({ messages }) => ({ messages: [await new Gemini().invoke(messages)] }))
    .addEdge('__start__', 'ask')
    .compile()
}

/** Which of its model calls are said to be streamed, by their spans. */
function streamedOn(dispatcher: HookDispatcher): () => unknown[] {
  const exporter = new InMemorySpanExporter()
  const spanProcessors = [new SimpleSpanProcessor({ exporter })]
  dispatcher.use(traceHooks({ tracer: new TracerProvider({ spanProcessors }).getTracer('test') }))
  const calls = () => exporter.getFinishedSpans().filter(({ name }) => name.startsWith('chat '))
  return () => calls().map(({ attributes }) => attributes['gen_ai.request.stream'])
}

function expectTold(events: ReturnType<typeof eventsOf>): void {
  const [whole, streamed] = findAll(events, 'afterLlmCall')
  const counts = { inputTokens: 100, outputTokens: 3, cachedInputTokens: 40 }
  expect([whole?.usage, streamed?.usage]).toEqual([counts, counts])
  expect(whole?.timeToFirstChunkMs).toBeUndefined()
  const { timeToFirstChunkMs: first = 0, executionTimeMs: all = 0 } = streamed ?? {}
  expect(first).toBeGreaterThanOrEqual(9)
  expect(all - first).toBeGreaterThanOrEqual(18)
}

describe('of a stream, when its first piece came, and what was read from the cache once', () => {
  it('is told by the middleware', async () => {
    const { dispatcher, events } = asked()
    const agent = createAgent({
      model: new Gemini(),
      tools: [],
      middleware: [hookspanMiddleware({ dispatcher })],
    })
    const streamed = streamedOn(dispatcher)
    await agent.invoke(hi)
    for await (const _ of await agent.stream(hi, { streamMode: 'messages' }));
    expectTold(events)
    expect(streamed()).toEqual([undefined, true])
  })

  it('is told by callbacks, also by two of them', async () => {
    const { dispatcher, events } = asked()
    const callbacks = [hookspanCallbacks({ dispatcher }), hookspanCallbacks({ dispatcher })]
    const streamed = streamedOn(dispatcher)
    await graph().invoke(hi, { callbacks })
    for await (const _ of await graph().stream(hi, { streamMode: 'messages', callbacks }));
    expectTold(events)
    expect(streamed()).toEqual([undefined, true])
  })
})

/** As `@langchain/google` tells what Gemini thought: in a block of text. */
class Thinking extends Gemini {
  override async _generate(): Promise<ChatResult> {
    const content = [
      { type: 'text', text: 'a secret plan', thought: true },
      { type: 'text', text: 'the secret is 7', thoughtSignature: 'c2ln' },
    ]
    const message = new AIMessage({ content, response_metadata: { model_provider: 'google' } })
    return { generations: [{ text: '', message }] }
  }
}

describe('what a model thought, in a block of text that is marked so', () => {
  it('is told as its thoughts', async () => {
    const { dispatcher, events } = dispatcherWith()
    const middleware = [hookspanMiddleware({ dispatcher })]
    await createAgent({ model: new Thinking(), tools: [], middleware }).invoke(hi)
    expect(findAll(events, 'afterLlmCall')).toMatchObject([
      { response: { reasoning: 'a secret plan', content: 'the secret is 7' } },
    ])
  })

  it('stays what it is where a gate changes the answer', async () => {
    const change = gate('afterLlmCall', ({ payload }) =>
      mutate({ ...(payload as object), content: 'it is 7' }),
    )
    const { dispatcher } = dispatcherWith(change)
    const middleware = [hookspanMiddleware({ dispatcher })]
    const { messages } = await createAgent({ model: new Thinking(), tools: [], middleware }).invoke(hi)
    expect(messages.at(-1)?.content).toEqual([
      { type: 'text', text: 'a secret plan', thought: true },
      { type: 'text', text: 'it is 7', thoughtSignature: 'c2ln' },
    ])
  })
})

/** As `ChatOpenAI`, which keeps what `withConfig()` says for its own calls. */
class OwnConfig extends Gemini {
  override withConfig(): never {
    return this as never
  }
}

class Down extends Gemini {
  // biome-ignore lint/correctness/useYield: it fails before it says anything
  override async *_streamResponseChunks(): AsyncGenerator<ChatGenerationChunk> {
    throw new Error('down')
  }
}

const swapped = createMiddleware({
  name: 'swapped',
  wrapModelCall: (request, handler) => handler({ ...request, model: new Gemini() }),
})

it.each([
  ['of a model that keeps its config for itself', new OwnConfig(), []],
  ['of a model that was bound before', new Gemini().withConfig({ tags: ['mine'] }), []],
  ['of a model that a middleware behind puts in its place', new Down(), [swapped]],
  ['of a model that is asked where the first one fails', new Down(), [modelFallbackMiddleware(new Gemini())]],
])('a stream shows no piece of a reply that a gate decides on: %s', async (_, model, behind) => {
  const refuse = gate('afterLlmCall', () => deny('not that'))
  const { dispatcher } = dispatcherWith(refuse)
  const agent = createAgent({
    model,
    tools: [],
    middleware: [hookspanMiddleware({ dispatcher }), ...behind],
  })
  const shown: string[] = []
  for await (const [message] of await agent.stream(hi, { streamMode: 'messages' })) shown.push(message.text)
  expect(shown).toEqual(['not that'])
})
