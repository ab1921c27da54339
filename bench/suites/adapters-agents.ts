import Anthropic from '@anthropic-ai/sdk'
import { CallbackManager } from '@langchain/core/callbacks/manager'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage } from '@langchain/core/messages'
import { Agent, tool as agentsTool, OpenAIProvider, Runner } from '@openai/agents'
import * as ai from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { type AgentMiddleware, createAgent, tool as langchainTool } from 'langchain'
import type OpenAI from 'openai'
import {
  answer,
  DESCRIPTION,
  findOrder,
  INSTRUCTIONS,
  MODEL,
  newClient,
  PARAMETERS,
  PROMPT,
} from './agent-run-loop.ts'

/** The run of the suites above, by the loops that the SDKs bring along: ten model calls, thirteen tool calls. */

const NAME = 'find_order'
const MAX_TURNS = 20

type Call = OpenAI.Chat.ChatCompletionMessageFunctionToolCall

interface Turn {
  readonly content: string
  readonly calls: readonly { readonly id: string; readonly args: string }[]
  readonly inputTokens: number
  readonly outputTokens: number
}

/** What the model says next. */
async function nextTurn(): Promise<Turn> {
  const reply = (await (await answer()).json()) as OpenAI.Chat.ChatCompletion
  const { content, tool_calls = [] } = reply.choices[0]!.message
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = reply.usage!
  const calls = (tool_calls as Call[]).map(({ id, function: { arguments: args } }) => ({ id, args }))
  return { content: content ?? '', calls, inputTokens, outputTokens }
}

/** @param sdk the package, or what was made of it. */
export function aiSdkAgent(sdk: typeof ai, telemetry: ai.TelemetryOptions): () => Promise<string> {
  const model = new MockLanguageModelV4({
    modelId: MODEL,
    provider: 'openai.chat',
    doGenerate: async () => {
      const { content, calls, inputTokens, outputTokens } = await nextTurn()
      return {
        content: [
          ...(content === '' ? [] : [{ type: 'text' as const, text: content }]),
          ...calls.map(({ id, args }) => ({
            type: 'tool-call' as const,
            toolCallId: id,
            toolName: NAME,
            input: args,
          })),
        ],
        finishReason:
          calls.length > 0
            ? { unified: 'tool-calls' as const, raw: 'tool_calls' }
            : { unified: 'stop' as const, raw: 'stop' },
        usage: {
          inputTokens: {
            total: inputTokens,
            noCache: inputTokens,
            cacheRead: undefined,
            cacheWrite: undefined,
          },
          outputTokens: { total: outputTokens, text: outputTokens, reasoning: undefined },
        },
        warnings: [],
      }
    },
  })
  const tools = {
    [NAME]: ai.tool({
      description: DESCRIPTION,
      inputSchema: ai.jsonSchema<{ order: number }>(PARAMETERS),
      execute: findOrder,
    }),
  }
  return async () => {
    // The double remembers each call that it gets, and would grow.
    model.doGenerateCalls.length = 0
    const { text } = await sdk.generateText({
      model,
      instructions: INSTRUCTIONS,
      prompt: PROMPT,
      temperature: 0,
      tools,
      maxRetries: 0,
      stopWhen: ai.isStepCount(MAX_TURNS),
      telemetry,
    })
    return text
  }
}

/** @param config more of the runner's configuration. */
export function agentsRunner(config: Partial<ConstructorParameters<typeof Runner>[0]>): Runner {
  const modelProvider = new OpenAIProvider({ openAIClient: newClient() as never, useResponses: false })
  return new Runner({ modelProvider, traceIncludeSensitiveData: false, ...config })
}

export function agentsAgent(runner: Runner): () => Promise<string> {
  const agent = new Agent({
    name: 'support',
    instructions: INSTRUCTIONS,
    model: MODEL,
    modelSettings: { temperature: 0 },
    tools: [
      agentsTool({
        name: NAME,
        description: DESCRIPTION,
        parameters: PARAMETERS as never,
        strict: true,
        execute: (args) => findOrder(args as { order: number }),
      }),
    ],
  })
  return async () => String((await runner.run(agent, PROMPT, { maxTurns: MAX_TURNS })).finalOutput)
}

class Model extends BaseChatModel {
  override _llmType(): string {
    return 'openai'
  }

  override bindTools(): this {
    return this
  }

  override async _generate() {
    const { content, calls, inputTokens, outputTokens } = await nextTurn()
    const message = new AIMessage({
      content,
      tool_calls: calls.map(({ id, args }) => ({
        id,
        name: NAME,
        args: JSON.parse(args),
        type: 'tool_call',
      })),
      response_metadata: { model_name: MODEL, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' },
      usage_metadata: {
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        total_tokens: inputTokens + outputTokens,
      },
    })
    return { generations: [{ text: content, message }] }
  }
}

export function langchainAgent(middleware: readonly AgentMiddleware[]): () => Promise<string> {
  const agent = createAgent({
    model: new Model({}),
    systemPrompt: INSTRUCTIONS,
    tools: [
      langchainTool(findOrder, { name: NAME, description: DESCRIPTION, schema: PARAMETERS as never }),
    ] as never,
    middleware: middleware as never,
  })
  return async () => {
    const input = { messages: [{ role: 'user', content: PROMPT }] } as never
    const { messages } = await agent.invoke(input, { recursionLimit: 100 } as never)
    return String((messages as { content: unknown }[]).at(-1)?.content)
  }
}

/** The classes whose clients and models run, for libraries that patch them. */
export { Anthropic, CallbackManager }

async function anthropicReply(): Promise<Response> {
  const { content, calls, inputTokens, outputTokens } = await nextTurn()
  return Response.json({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: MODEL,
    content: [
      ...(content === '' ? [] : [{ type: 'text', text: content }]),
      ...calls.map(({ id, args }) => ({ type: 'tool_use', id, name: NAME, input: JSON.parse(args) })),
    ],
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: inputTokens, output_tokens: outputTokens },
  })
}

export function anthropicClient(): Anthropic {
  return new Anthropic({
    apiKey: 'none',
    baseURL: 'http://model.invalid',
    fetch: anthropicReply,
    maxRetries: 0,
  })
}

export function anthropicAgent(client: Anthropic): () => Promise<string> {
  const tool = { name: NAME, description: DESCRIPTION, input_schema: PARAMETERS, run: findOrder }
  return async () => {
    const { content } = await client.beta.messages.toolRunner({
      model: MODEL,
      max_tokens: 1_000,
      system: INSTRUCTIONS,
      messages: [{ role: 'user', content: PROMPT }],
      tools: [tool as never],
    })
    return textOf(content)
  }
}

function textOf(content: readonly { readonly type: string }[]): string {
  return content.map((block) => (block.type === 'text' ? (block as { text?: string }).text : '')).join('')
}
