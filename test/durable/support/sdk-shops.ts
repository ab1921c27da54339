/** The agent of the scenario on SDKs that have a loop of their own: the AI SDK, and OpenAI's Agents SDK. */
import type { AgentTool } from 'hookspan/agent'
import type { DurableLoop } from 'hookspan/restate'
import { statelessModel } from '../../support/stateless-model.ts'
import { asks, type Scenario, shopAnswer, toolsOf } from './scenario.ts'

type Shop = DurableLoop<{ prompt: string }>

/** The tool's function, as the one of an SDK that tells the id of the call and no key. */
function runner({ execute }: AgentTool, operationId: string) {
  return (toolCallId: string) => {
    const { signal } = new AbortController()
    const idempotencyKey = `${operationId}/${toolCallId}`
    return execute({} as never, { toolCallId, idempotencyKey, signal, traceparent: undefined } as never)
  }
}

type Part = Readonly<Record<string, unknown>>

const toldBy = ({ value, reason }: Part) => value ?? reason

/** The model of the scenario in the words of the AI SDK's providers. */
async function aiSdkModel({ say }: Scenario) {
  const { MockLanguageModelV4 } = await import('ai/test')
  const answer = shopAnswer(say)
  const usage = {
    inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 5, text: 5, reasoning: 0 },
  }
  return new MockLanguageModelV4({
    modelId: 'stateless',
    doGenerate: async ({ prompt }) => {
      const messages = prompt.flatMap(({ role, content }): { role: string; content: unknown }[] => {
        if (role !== 'tool') return [{ role, content }]
        return (content as unknown as Part[]).map(({ output }) => ({ role, content: toldBy(output as Part) }))
      })
      const { content = '', calls = [] } = answer(messages)
      const asked = calls.map(({ id, name, args }) => {
        return { type: 'tool-call' as const, toolCallId: id, toolName: name, input: JSON.stringify(args) }
      })
      return {
        content: calls.length > 0 ? asked : [{ type: 'text' as const, text: content }],
        finishReason: {
          unified: calls.length > 0 ? ('tool-calls' as const) : ('stop' as const),
          raw: 'stop',
        },
        usage,
        warnings: [],
        response: { timestamp: new Date(0) },
      }
    },
  })
}

export async function aiSdkShop(scene: Scenario): Promise<Shop> {
  const ai = await import('ai')
  const { observeAISDK } = await import('hookspan/ai-sdk')
  const { dispatcher } = scene
  dispatcher.use({ name: 'asks', gates: [asks] })
  const { generateText, isStepCount, tool, jsonSchema } = observeAISDK(ai, { dispatcher })
  const model = await aiSdkModel(scene)
  const { pay, tool: named } = toolsOf(scene)
  const stopWhen = isStepCount(6)
  return async ({ operationId, signal }, { prompt }) => {
    const toolOf = (one: AgentTool) =>
      tool({
        inputSchema: jsonSchema<object>({ type: 'object' }),
        execute: (_input, { toolCallId }) => runner(one, operationId)(toolCallId) as Promise<string>,
      })
    const researcher = tool({
      inputSchema: jsonSchema<{ instruction: string }>({ type: 'object' }),
      execute: async ({ instruction }) => {
        const tools = { note: toolOf(named('note')) }
        return (await generateText({ model, tools, prompt: instruction, stopWhen, abortSignal: signal })).text
      },
    })
    const tools = {
      pay: toolOf(pay),
      write: toolOf(named('write')),
      researcher,
      delete: toolOf(named('delete')),
    }
    return (await generateText({ model, tools, prompt, stopWhen, abortSignal: signal })).text
  }
}

export async function openaiAgentsShop(scene: Scenario): Promise<Shop> {
  const agents = await import('@openai/agents')
  const { observeAgents } = await import('hookspan/openai-agents')
  const { z } = await import('zod')
  const { dispatcher } = scene
  dispatcher.use({ name: 'asks', gates: [asks] })
  observeAgents(agents, { dispatcher })
  const { Agent, OpenAIProvider, Runner, tool } = agents
  const openAIClient = statelessModel(shopAnswer(scene.say)) as never
  const modelProvider = new OpenAIProvider({ openAIClient, useResponses: false })
  const sdk = new Runner({ modelProvider, tracingDisabled: true })
  const model = await modelProvider.getModel('stateless')
  const { pay, tool: named } = toolsOf(scene)
  return async ({ operationId, signal }, { prompt }) => {
    const toolOf = (one: AgentTool) =>
      tool({
        name: one.name,
        description: one.name,
        parameters: z.object({}),
        execute: (_input, _context, details) =>
          runner(one, operationId)(details?.toolCall?.callId ?? '') as Promise<string>,
      })
    const researcher = new Agent({ name: 'researcher', model, tools: [toolOf(named('note'))] })
    const asTool = researcher.asTool({
      toolName: 'researcher',
      toolDescription: 'researches',
      parameters: z.object({ instruction: z.string() }),
      inputBuilder: ({ params }) => (params as { instruction: string }).instruction,
      runConfig: { tracingDisabled: true },
    })
    const shop = new Agent({
      name: 'shop',
      model,
      tools: [toolOf(pay), toolOf(named('write')), asTool, toolOf(named('delete'))],
    })
    return (await sdk.run(shop, prompt, { signal })).finalOutput
  }
}
