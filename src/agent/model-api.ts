import type { LlmRequest } from '../hooks/index.ts'
import type { WireFormat } from '../wire/format.ts'
import type { Loose } from '../wire/reading.ts'
import type { AgentMessage, ModelToolCall } from './run-state.ts'
import type { Told } from './tool-media.ts'
import type { Agent, JsonSchema, OpenAIClient } from './types.ts'

/** A tool as the model is told of it. */
export interface ToolDefinition {
  readonly name: string
  readonly description?: string
  readonly parameters: JsonSchema
  readonly strict: boolean
}

/** A reply in which each call has an id, and what of it goes behind the conversation. */
export interface Said {
  readonly reply: Loose
  readonly messages: readonly AgentMessage[]
}

/** One of the two ways in which the `openai` client speaks with a model: what a conversation looks like in it. */
export interface ModelApi {
  readonly format: WireFormat
  /** The first messages of a conversation. */
  open(agent: Agent, messages: readonly AgentMessage[], prompt: string | undefined): readonly AgentMessage[]
  /** What the API has under names of its own in a request. */
  fields(agent: Agent, messages: readonly AgentMessage[]): LlmRequest
  tool(definition: ToolDefinition): Loose
  send(
    client: OpenAIClient,
    request: LlmRequest,
    options: { signal: AbortSignal | undefined },
  ): PromiseLike<unknown>
  /**
   * `madeUp`: a gate's reply, not the model's.
   *
   * @throws Error when the reply is none.
   */
  said(reply: unknown, newId: () => string, madeUp: boolean): Said
  /** What the calls of one turn came to, in their order: all of it together, as pictures may have to follow. */
  toolResults(calls: readonly ModelToolCall[], told: readonly Told[]): readonly AgentMessage[]
  /** Whether a conversation may be cut before this message: never between a call and its result. */
  startsTurn(message: AgentMessage, before: AgentMessage | undefined): boolean
}

export function userMessage(content: string): AgentMessage {
  return { role: 'user', content }
}

/** Whether it is the agent's instructions, which no summary replaces. */
export function isInstructions({ role }: AgentMessage): boolean {
  return role === 'system' || role === 'developer'
}
