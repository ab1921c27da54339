import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import * as ai from 'ai'
import { createGateway } from 'ai'
import { observeAISDK } from 'hookspan/ai-sdk'
import { hookspanCallbacks, hookspanMiddleware } from 'hookspan/langchain'
import { createAgent } from 'langchain'
import { describe, expect, it } from 'vitest'
import { providerName } from '../../src/adapters/ai-sdk/provider-name.ts'
import { configuredServer } from '../../src/adapters/configured-server.ts'
import { modelServer } from '../../src/wire/model-server.ts'
import { traced } from '../support/span-tree.ts'

/** Where the one call of a model went, as its span says. */
function serverOf({ spans }: ReturnType<typeof traced>) {
  const [chat] = spans().filter(({ name }) => name.startsWith('chat '))
  expect(chat).toBeDefined()
  return { address: chat?.attributes['server.address'], port: chat?.attributes['server.port'] }
}

describe('a call of a model names the server that it went to', () => {
  it('of a provider of the AI SDK', async () => {
    using tracing = traced()
    const { generateText } = observeAISDK(ai, { dispatcher: tracing.dispatcher })
    const gateway = createGateway({
      ...{ baseURL: 'https://gateway.example:8443/v3/ai', apiKey: 'x' },
      fetch: async () => {
        throw new Error('no network here')
      },
    })
    const call = generateText({ model: gateway('openai/gpt-x'), prompt: 'go', maxRetries: 0 })
    await expect(call).rejects.toThrow()
    expect(serverOf(tracing)).toEqual({ address: 'gateway.example', port: 8443 })
  })

  it('of a model of LangChain, in an agent and in a graph', async () => {
    const model = () =>
      Object.assign(fakeModel().respond(new AIMessage('done')), {
        clientConfig: { baseURL: 'http://127.0.0.1:11434/v1' },
      })
    using agent = traced()
    const middleware = [hookspanMiddleware({ dispatcher: agent.dispatcher })]
    await createAgent({ model: model(), tools: [], middleware }).invoke({
      messages: [new HumanMessage('go')],
    })
    expect(serverOf(agent)).toEqual({ address: '127.0.0.1', port: 11434 })

    using graph = traced()
    const told = model()
    // What a model is constructed with it tells to callbacks, but for its keys.
    Object.assign(told, { lc_serializable: true })
    Object.assign(told.lc_kwargs, { configuration: { baseURL: 'http://127.0.0.1:11434/v1' } })
    const app = new StateGraph(MessagesAnnotation)
      .addNode('ask', async ({ messages }) => ({ messages: [await told.invoke(messages)] }))
      .addEdge('__start__', 'ask')
      .compile()
    await app.invoke(
      { messages: [new HumanMessage('go')] },
      { callbacks: [hookspanCallbacks({ dispatcher: graph.dispatcher })] },
    )
    expect(serverOf(graph)).toEqual({ address: '127.0.0.1', port: 11434 })
  })

  it('and names none where the model does not say', async () => {
    using tracing = traced()
    const middleware = [hookspanMiddleware({ dispatcher: tracing.dispatcher })]
    const model = fakeModel().respond(new AIMessage('done'))
    await createAgent({ model, tools: [], middleware }).invoke({ messages: [new HumanMessage('go')] })
    expect(serverOf(tracing)).toEqual({ address: undefined, port: undefined })
  })
})

/** The shapes are those of @ai-sdk/openai 3, @ai-sdk/anthropic 3, @ai-sdk/amazon-bedrock 4, @langchain/openai 1, -anthropic 1, -ollama 1. */
it.each<[string, unknown, string | undefined, number | undefined]>([
  [
    'a function for the path',
    { modelId: 'm', config: { url: ({ path }: { path: string }) => `https://a.example/v1${path}` } },
    'a.example',
    443,
  ],
  ['a function without', { config: { baseUrl: () => 'http://b.example:81' } }, 'b.example', 81],
  ['a text', { config: { baseURL: 'https://c.example/v1' } }, 'c.example', 443],
  [
    'the client that is there',
    { client: { baseURL: 'https://d.example' }, clientConfig: { baseURL: 'https://other.example' } },
    'd.example',
    443,
  ],
  ['what was configured', { clientConfig: { baseURL: 'https://e.example' } }, 'e.example', 443],
  ['an address of its own', { apiUrl: 'https://f.example' }, 'f.example', 443],
  ['nothing', { modelId: 'm' }, undefined, undefined],
  ['no address', { config: { baseURL: '/v1', url: () => 7 } }, undefined, undefined],
  [
    'a function that throws',
    {
      config: {
        url: () => {
          throw new Error('no')
        },
      },
    },
    undefined,
    undefined,
  ],
  ['a name', 'openai:gpt-x', undefined, undefined],
])('reads %s', (_what, model, serverAddress, serverPort) => {
  const server = serverAddress === undefined ? {} : { serverAddress, serverPort }
  expect(configuredServer(model, 'openai')).toEqual({ provider: 'openai', ...server })
})

it('names whose server it is where the SDK says only that it speaks like OpenAI', () => {
  const model = { config: { baseURL: 'https://openrouter.ai/api/v1' } }
  expect(configuredServer(model, 'openai')).toMatchObject({ provider: 'openrouter' })
  expect(configuredServer(model, 'mine')).toMatchObject({ provider: 'mine' })
})

it('calls a provider of the AI SDK as the clients of others call it', () => {
  expect(providerName('togetherai.chat')).toBe(modelServer('https://api.together.xyz/v1').provider)
  expect(providerName('xai.responses')).toBe(modelServer('https://api.x.ai/v1').provider)
  expect(providerName('gateway')).toBe(modelServer('https://ai-gateway.vercel.sh/v1').provider)
})
