import type { CallMaker } from '../dispatcher/index.ts'
import type { LlmRequest, LlmResponse } from '../hooks/index.ts'
import { defined } from '../internal/objects.ts'
import type { ModelServer } from '../wire/model-server.ts'
import { argumentsText, asList, asObject, asObjects, type Loose } from '../wire/reading.ts'
import { isStream } from '../wire/watch-stream.ts'
import { chatApi } from './chat.ts'
import type { ModelApi, ToolDefinition } from './model-api.ts'
import { responsesApi } from './responses.ts'
import type { AgentMessage, ModelToolCall } from './run-state.ts'
import type { Spending } from './spending.ts'
import type { Agent, OpenAIClient } from './types.ts'

/** What a run needs to speak with its model. */
export interface ModelAccess {
  readonly agent: Agent
  readonly api: ModelApi
  readonly client: OpenAIClient
  readonly server: ModelServer
  readonly tools: readonly ToolDefinition[]
  readonly spending: Spending
  onText(text: string): void
  /** An id for a tool call that the model gave none. */
  newCallId(): string
}

/** What a reply says. */
export interface ModelTurn {
  /** To be put behind the conversation. */
  readonly messages: readonly AgentMessage[]
  readonly content: string
  readonly toolCalls: readonly ModelToolCall[]
  /** Whether the reply says how many tokens it took, or what it cost. */
  readonly metered: boolean
  /** Why it is not all that there was to say: a refusal, or what cut it. */
  readonly unfinished?: string
}

export function modelApi(agent: Agent): ModelApi {
  return agent.api === 'responses' ? responsesApi : chatApi
}

/** Asks the model what comes next, and reads a streamed reply to its end. */
export async function callModel(
  access: ModelAccess,
  calls: CallMaker,
  messages: readonly AgentMessage[],
): Promise<ModelTurn> {
  const { agent, api, client, server, spending } = access
  let madeUp = false
  const reply = await calls.llmCall<unknown>(
    {
      ...server,
      model: agent.model,
      request: requestOf(access, messages),
      standIn: (message) => {
        madeUp = true
        return api.format.write({ response: message }, { model: agent.model })
      },
    },
    (request, { signal }) => api.send(client, sendable(request), { signal }),
  )
  const whole = isStream(reply) ? await collect(api, reply, (text) => access.onText(text)) : reply
  const turn = readTurn(api, whole, () => access.newCallId(), madeUp)
  if (!turn.metered && !madeUp) spending.addUnmetered(agent.model)
  return turn
}

function requestOf({ agent, api, tools }: ModelAccess, messages: readonly AgentMessage[]): LlmRequest {
  const { model, temperature, topP, stream } = agent
  const all = [...asList(agent.request?.tools), ...tools.map((tool) => api.tool(tool))]
  return {
    ...defined({ model, temperature, top_p: topP, ...(stream && { stream }) }),
    ...api.fields(agent, messages),
    ...agent.request,
    // None, and not nothing: of an agent without tools it is said that it has none.
    tools: all,
  }
}

/** The APIs refuse a list without tools. */
function sendable(request: LlmRequest): LlmRequest {
  const { tools, ...rest } = request
  return Array.isArray(tools) && tools.length === 0 ? rest : request
}

/** @throws when the stream ended before the reply did: half a reply must not be taken for a whole one. */
async function collect(
  { format }: ModelApi,
  stream: AsyncIterable<unknown>,
  onText: (text: string) => void,
): Promise<Loose> {
  const collector = format.collector()
  for await (const value of stream) {
    const chunk = asObject(value) ?? {}
    collector.push(chunk)
    const text = format.textOf(chunk)
    if (text) onText(text)
  }
  if (collector.ended) return collector.reply()
  throw new Error('The stream of the model ended without a finish reason: the reply is not complete.')
}

/** @throws Error when the reply is none. */
export function readTurn(api: ModelApi, given: unknown, newId: () => string, madeUp: boolean): ModelTurn {
  const { reply, messages } = api.said(given, newId, madeUp)
  const { response, usage, reportedCostUsd } = api.format.read(reply)
  const custom = asObjects(messages).filter(({ type }) => type === 'custom_tool_call')
  return {
    messages,
    content: response.content || response.refusal || '',
    toolCalls: (response.toolCalls ?? []).map((call) => ({
      id: call.toolCallId,
      name: call.apiName,
      arguments: argumentsText(call),
      ...(custom.some(({ call_id }) => call_id === call.toolCallId) && { custom: true }),
    })),
    metered: (usage ?? reportedCostUsd) !== undefined,
    ...defined({ unfinished: unfinished(response) }),
  }
}

function unfinished({ refusal, content, finishReasons = [] }: LlmResponse): string | undefined {
  if (refusal && !content) return 'refusal'
  return finishReasons.find((reason) => CUT.includes(reason))
}

const CUT = ['length', 'content_filter']
