import type { LlmRequest, LlmResponse } from '../hooks/index.ts'
import { chatApi } from './chat.ts'
import { responsesApi } from './responses.ts'
import type { Agent, AgentMessage, JsonSchema, OpenAIClient } from './types.ts'

/** A tool as the model is told of it. */
export interface ToolDefinition {
  readonly name: string
  readonly description?: string
  readonly parameters: JsonSchema
  readonly strict: boolean
}

/** A tool call as the model made it: the arguments are its own text. */
export interface ModelToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** A call of the responses API whose input is free text. */
  readonly custom?: boolean
}

/** What a reply says. */
export interface ModelTurn {
  /** To be put behind the conversation. */
  readonly messages: readonly AgentMessage[]
  readonly content: string
  readonly toolCalls: readonly ModelToolCall[]
  /** Whether the reply says how many tokens it took. */
  readonly metered: boolean
}

/** One of the two ways in which the `openai` client speaks with a model. */
export interface ModelApi {
  /** The first messages of a conversation. */
  open(agent: Agent, messages: readonly AgentMessage[], prompt: string | undefined): readonly AgentMessage[]
  userMessage(text: string): AgentMessage
  request(agent: Agent, messages: readonly AgentMessage[], tools: readonly ToolDefinition[]): LlmRequest
  send(
    client: OpenAIClient,
    request: LlmRequest,
    options: { signal: AbortSignal | undefined },
  ): PromiseLike<unknown>
  /** Reads a stream into the reply that it would have been. */
  collect(stream: AsyncIterable<unknown>, onText: (text: string) => void): Promise<unknown>
  read(reply: unknown, newId: () => string): ModelTurn
  toolResult(call: ModelToolCall, content: string): AgentMessage
  /** The reply that a gate gives in the model's place. */
  standIn(message: LlmResponse): unknown
  /** Whether a conversation may be cut before this message: never between a call and its result. */
  startsTurn(message: AgentMessage, before: AgentMessage | undefined): boolean
  /** Whether it is the agent's instructions, which no summary replaces. */
  isInstructions(message: AgentMessage): boolean
}

export function modelApi(agent: Agent): ModelApi {
  return agent.api === 'responses' ? responsesApi : chatApi
}
