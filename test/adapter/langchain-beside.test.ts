import { SimpleChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { RunnableLambda } from '@langchain/core/runnables'
import { fakeModel } from '@langchain/core/testing'
import { Annotation, START, StateGraph } from '@langchain/langgraph'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import * as ai from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { HookDispatcher } from 'hookspan'
import { wrapTools } from 'hookspan/adapter'
import { execAgent } from 'hookspan/agent'
import { observeAISDK } from 'hookspan/ai-sdk'
import { deny } from 'hookspan/gates'
import { hookspanCallbacks } from 'hookspan/langchain'
import { observeOpenAI } from 'hookspan/openai'
import { traceHooks } from 'hookspan/tracing'
import { tool } from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { scripted } from '../support/scripted-client.ts'
import { bareGraph } from './langchain-graph.ts'
import { agentOf, bareRunner, observed as observedRunner, scripted as says } from './openai-agents/support.ts'

const State = Annotation.Root({ said: Annotation<string> })

function observed() {
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  return { tree, dispatcher, callbacks: [hookspanCallbacks({ dispatcher, agentName: 'graph' })] }
}

function spansKept() {
  const exporter = new InMemorySpanExporter()
  const spanProcessors = [new SimpleSpanProcessor({ exporter })]
  const tracer = new TracerProvider({ spanProcessors }).getTracer('test')
  return { exporter, plugin: traceHooks({ tracer }) }
}

const replies = (count: number) =>
  scripted(Array.from({ length: count }, () => ({ content: 'hello' }))).client

const ask = async (client: ReturnType<typeof replies>) => {
  const messages = [{ role: 'user' as const, content: 'hi' }]
  const { choices } = await client.chat.completions.create({ model: 'm', messages })
  return choices[0]?.message.content ?? ''
}

/** A graph with a node that does `work`. */
const graphOf = (work: () => Promise<string>) =>
  new StateGraph(State)
    .addNode('work', async () => ({ said: await work() }))
    .addEdge(START, 'work')
    .compile()

/** A graph whose tool does `work`. */
function graphWithTool(work: () => Promise<string>) {
  const search = tool(work, { name: 'search', description: 'Searches.', schema: z.object({}) })
  const model = fakeModel()
    .respondWithTools([{ name: 'search', args: {}, id: 'call_0' }])
    .respond(new AIMessage('done'))
  return bareGraph(model, search).compile()
}

/** A model of LangChain that asks by a client, as LangChain's own do. */
class Asking extends SimpleChatModel {
  readonly #client: ReturnType<typeof replies>

  constructor(client: ReturnType<typeof replies>) {
    super({})
    this.#client = client
  }

  _llmType() {
    return 'asking'
  }

  _call() {
    return ask(this.#client)
  }
}

const go = () => ({ messages: [new HumanMessage('go')] })

const generating = (dispatcher: HookDispatcher) => {
  const model = new MockLanguageModelV4({
    modelId: 'm',
    doGenerate: async () => ({
      content: [{ type: 'text', text: 'hello' }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: { inputTokens: {}, outputTokens: {} } as never,
      warnings: [],
    }),
  })
  const { generateText } = observeAISDK(ai, { dispatcher })
  return async () => (await generateText({ model, prompt: 'hi' })).text
}

describe('what a bare graph asks of another SDK', () => {
  it.each(['with spans', 'without spans'])('%s, lies in the node or the tool that asks', async (how) => {
    const { tree, dispatcher, callbacks } = observed()
    const { exporter, plugin } = spansKept()
    if (how === 'with spans') dispatcher.use(plugin)
    const client = observeOpenAI(replies(4), { dispatcher })

    await graphOf(() => ask(client)).invoke({}, { callbacks })
    const searching = graphWithTool(async () => {
      await ask(client)
      return RunnableLambda.from(() => ask(client)).invoke('')
    })
    await searching.invoke(go(), { callbacks })
    await ask(client)
    await dispatcher.drain()

    expect(tree.lines()).toEqual([
      'invoke_agent graph',
      '  chat m',
      'invoke_agent graph',
      '  chat FakeBuiltModel',
      '  execute_tool search',
      '    chat m',
      '    chat m',
      '  chat FakeBuiltModel',
      'invoke_agent -',
      '  chat m',
    ])
    const spans = exporter.getFinishedSpans()
    const traces = new Set(spans.map((span) => span.spanContext().traceId))
    expect(traces.size).toBe(how === 'with spans' ? 3 : 0)
  })

  it('agents are part of it in a node, and its sub-agents in a tool', async () => {
    const { tree, dispatcher, callbacks } = observed()
    const generate = generating(dispatcher)
    const runner = observedRunner(bareRunner(), { dispatcher })
    const runAgent = async () => {
      const { finalOutput } = await runner.run(agentOf({ model: says('done') }), 'hi')
      return String(finalOutput)
    }
    await graphOf(generate).invoke({}, { callbacks })
    const client = observeOpenAI(replies(1), { dispatcher })
    const messages = [{ role: 'user' as const, content: 'hi' }]
    const inner = graphOf(generate)
    const outer = graphWithTool(async () => {
      await inner.invoke({})
      await client.chat.completions.runTools({ model: 'gpt', messages, tools: [] }).finalContent()
      return runAgent()
    })
    await outer.invoke(go(), { callbacks })
    await dispatcher.drain()
    expect(tree.lines()).toEqual([
      'invoke_agent graph',
      '  chat m',
      'invoke_agent graph',
      '  chat FakeBuiltModel',
      '  execute_tool search',
      '    agent',
      '      invoke_agent -',
      '        step 0',
      '          chat m',
      '    agent',
      '      invoke_agent search',
      '        step 0',
      '          chat gpt',
      '    agent',
      '      invoke_agent support',
      '        step 0',
      '          chat ScriptedModel',
      '  chat FakeBuiltModel',
    ])
  })

  it('a run that is begun there by hand lies below it in the trace', async () => {
    const { dispatcher, callbacks } = observed()
    const { exporter, plugin } = spansKept()
    dispatcher.use(plugin)
    const { client } = scripted([{ content: 'hello' }])
    const agent = { name: 'by hand', model: 'm' }
    const run = async () => (await execAgent({ dispatcher, client, agent, prompt: 'hi' })).content ?? ''
    await graphWithTool(run).invoke(go(), { callbacks })
    await dispatcher.drain()
    const spans = exporter.getFinishedSpans()
    const found = (name: string) => spans.find((span) => span.name === name)
    const tool = found('execute_tool search')?.spanContext()
    expect(found('invoke_agent by hand')?.parentSpanContext).toMatchObject({
      traceId: tool?.traceId,
      spanId: tool?.spanId,
    })
  })

  it('tools that are wrapped', async () => {
    const { tree, dispatcher, callbacks } = observed()
    const { lookUp } = wrapTools({ lookUp: async (_: object) => 'found' }, { dispatcher })
    await graphOf(() => lookUp({})).invoke({}, { callbacks })
    await dispatcher.drain()
    expect(tree.lines()).toEqual(['invoke_agent graph', '  execute_tool lookUp'])
  })

  it('is not told twice where LangChain has told of it: the client that a model asks', async () => {
    const { tree, dispatcher, callbacks } = observed()
    const client = observeOpenAI(replies(2), { dispatcher })
    const graph = graphOf(async () => (await new Asking(client).invoke('hi')).text + (await ask(client)))
    expect(await graph.invoke({}, { callbacks })).toEqual({ said: 'hellohello' })
    await dispatcher.drain()
    expect(tree.lines()).toEqual(['invoke_agent graph', '  chat Asking', '  chat m'])
  })

  it('gates of another dispatcher hold all the same', async () => {
    const { callbacks } = observed()
    const guarded = new HookDispatcher()
    guarded.use({ name: 'no', gates: [{ id: 'no', point: 'beforeLlmCall', decide: () => deny('never') }] })
    const client = observeOpenAI(replies(1), { dispatcher: guarded })
    expect(await graphOf(() => ask(client)).invoke({}, { callbacks })).toEqual({ said: 'never' })
  })
})
