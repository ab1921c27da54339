import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs'
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { hookspanCallbacks, hookspanMiddleware } from 'hookspan/langchain'
import { createAgent } from 'langchain'
import { describe, expect, it } from 'vitest'
import { dispatcherWith, findAll } from '../support/told-events.ts'

interface Said {
  readonly usage_metadata?: object
  readonly response_metadata?: Record<string, unknown>
  readonly additional_kwargs?: Record<string, unknown>
  readonly generationInfo?: Record<string, unknown>
}

/** Tells of a reply what a package of LangChain tells of it. */
class Model extends BaseChatModel {
  readonly said: Said

  constructor(said: Said) {
    super({})
    this.said = said
  }

  _llmType(): string {
    return 'told'
  }

  override bindTools(): this {
    return this
  }

  async _generate(): Promise<ChatResult> {
    const { generationInfo, ...told } = this.said
    const message = new AIMessage({ content: 'done', ...told } as ConstructorParameters<typeof AIMessage>[0])
    return { generations: [{ text: 'done', message, ...(generationInfo && { generationInfo }) }] }
  }

  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { generationInfo, ...told } = this.said
    for (const [text, fields, info] of [
      ['done', {}, {}],
      ['', told, generationInfo],
    ] as const) {
      const message = new AIMessageChunk({ content: text, ...fields } as ConstructorParameters<
        typeof AIMessageChunk
      >[0])
      const chunk = new ChatGenerationChunk({ text, message, ...(info && { generationInfo: info }) })
      yield chunk
      await run?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk })
    }
  }
}

const hi = { messages: [new HumanMessage('go')] }
const COUNTS = { input_tokens: 100, output_tokens: 13, total_tokens: 113 }
const RAW = {
  prompt_tokens: 100,
  completion_tokens: 13,
  total_tokens: 113,
  prompt_tokens_details: { cached_tokens: 40 },
  completion_tokens_details: { reasoning_tokens: 7 },
}
const USAGE = { inputTokens: 100, outputTokens: 13 }
const WHOLE = { ...USAGE, cachedInputTokens: 40, reasoningTokens: 7 }

/** As the packages tell it; of streams in the last row of each. */
const SAID: readonly (readonly [string, Said, object])[] = [
  [
    'Gemini, whose thoughts are in the total alone',
    { usage_metadata: { ...COUNTS, total_tokens: 120 } },
    { usage: { ...USAGE, outputTokens: 20, reasoningTokens: 7 } },
  ],
  [
    'Groq, by what it counts itself',
    { usage_metadata: COUNTS, response_metadata: { usage: RAW } },
    { usage: WHOLE },
  ],
  [
    'Groq, of a stream',
    { response_metadata: { usage: { input_tokens: 100 }, x_groq: { usage: RAW } } },
    { usage: WHOLE },
  ],
  [
    'Anthropic, what was thought and is in its own counts alone',
    {
      usage_metadata: COUNTS,
      response_metadata: {
        usage: { input_tokens: 100, output_tokens: 13, output_tokens_details: { thinking_tokens: 7 } },
      },
    },
    { usage: { ...USAGE, reasoningTokens: 7 } },
  ],
  [
    'Anthropic, what its API spent on a compaction',
    {
      usage_metadata: COUNTS,
      response_metadata: {
        usage: {
          input_tokens: 100,
          output_tokens: 13,
          iterations: [
            { type: 'compaction', input_tokens: 10, output_tokens: 30, cache_creation_input_tokens: 5_000 },
            { type: 'message', input_tokens: 100, output_tokens: 13 },
          ],
        },
      },
    },
    { usage: { inputTokens: 5_110, outputTokens: 43, cacheCreationInputTokens: 5_000 } },
  ],
  [
    'Anthropic, what is kept in its cache for an hour, which a stream tells without the rest',
    {
      usage_metadata: { ...COUNTS, input_token_details: { cache_creation: 90 } },
      response_metadata: { usage: { cache_creation: { ephemeral_1h_input_tokens: 80 } } },
    },
    { usage: { ...USAGE, cacheCreationInputTokens: 90, cacheCreation1hInputTokens: 80 } },
  ],
  [
    'Bedrock, what is kept in the cache for an hour, which a stream tells in its event',
    {
      usage_metadata: { ...COUNTS, input_token_details: { cache_creation: 90 } },
      response_metadata: { metadata: { usage: { cacheDetails: [{ ttl: '1h', inputTokens: 80 }] } } },
    },
    { usage: { ...USAGE, cacheCreationInputTokens: 90, cacheCreation1hInputTokens: 80 } },
  ],
  [
    'a cost',
    { usage_metadata: COUNTS, response_metadata: { usage: { ...RAW, cost: 0.01 } } },
    { costUsd: 0.01 },
  ],
  [
    'OpenAI, why it stopped',
    { generationInfo: { finish_reason: 'length', model_name: 'gpt-x' } },
    { response: { finishReasons: ['length'], model: 'gpt-x' } },
  ],
  [
    'Mistral, why it stopped',
    { generationInfo: { finishReason: 'stop', model: 'mistral-x' } },
    { response: { finishReasons: ['stop'], model: 'mistral-x' } },
  ],
  [
    'Bedrock, why it stopped',
    { response_metadata: { messageStop: { stopReason: 'end_turn' } } },
    { response: { finishReasons: ['end_turn'] } },
  ],
  [
    'OpenAI by its Responses API, why it stopped',
    {
      response_metadata: {
        object: 'response',
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
      },
    },
    { response: { finishReasons: ['length'] } },
  ],
  ['a refusal', { additional_kwargs: { refusal: 'I will not.' } }, { response: { refusal: 'I will not.' } }],
]

describe.each(SAID)('%s', (_who, said, told) => {
  it('is told by the middleware, and of a stream', async () => {
    const { dispatcher, events } = dispatcherWith()
    const agent = createAgent({
      model: new Model(said),
      tools: [],
      middleware: [hookspanMiddleware({ dispatcher })],
    })
    await agent.invoke(hi)
    for await (const _ of await agent.stream(hi, { streamMode: 'messages' }));
    expect(findAll(events, 'afterLlmCall')).toMatchObject([told, told])
  })

  it('is told by callbacks, and of a stream', async () => {
    const { dispatcher, events } = dispatcherWith()
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('ask', async ({ messages }) => ({ messages: [await new Model(said).invoke(messages)] }))
      .addEdge('__start__', 'ask')
      .compile()
    const callbacks = [hookspanCallbacks({ dispatcher })]
    await graph.invoke(hi, { callbacks })
    for await (const _ of await graph.stream(hi, { streamMode: 'messages', callbacks }));
    expect(findAll(events, 'afterLlmCall')).toMatchObject([told, told])
  })
})
