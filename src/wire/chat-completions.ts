import type { LlmResponse, TokenUsage, ToolCallRequest } from '../hooks/values.ts'
import {
  argumentsOf,
  asCount,
  asList,
  asObject,
  asText,
  type ChunkReader,
  type LlmHead,
  type LlmReading,
  type Loose,
  responseOf,
  usageOf,
} from './reading.ts'

/** `chat.completion` objects of the chat completions API. */
export function isChatCompletion(reply: Loose): boolean {
  return Array.isArray(reply.choices)
}

export function readChatCompletion(reply: Loose): LlmReading {
  return new ChatReading(reply)
}

/** Reads what was said when somebody asks for it: most calls are only counted, and arguments are costly to parse. */
class ChatReading implements LlmReading {
  readonly head: LlmHead
  declare readonly usage?: TokenUsage
  readonly #message: Loose
  #response: LlmResponse | undefined

  constructor(reply: Loose) {
    const choices = asList(reply.choices)
    this.#message = asObject(asObject(choices[0])?.message) ?? {}
    this.head = responseOf({
      id: asText(reply.id),
      model: asText(reply.model),
      finishReasons: finishReasonsOf(choices),
    })
    const usage = chatUsage(reply.usage)
    if (usage !== undefined) this.usage = usage
  }

  get response(): LlmResponse {
    const message = this.#message
    this.#response ??= responseOf({
      ...this.head,
      content: asText(message.content),
      reasoning: asText(message.reasoning_content) ?? asText(message.reasoning),
      refusal: asText(message.refusal),
      toolCalls: asList(message.tool_calls).flatMap(toolCall),
    })
    return this.#response
  }
}

function finishReasonsOf(choices: readonly unknown[]): string[] {
  const reasons: string[] = []
  for (const choice of choices) {
    const reason = asObject(choice)?.finish_reason
    if (typeof reason === 'string' && reason !== '') reasons.push(reason)
  }
  return reasons
}

function withUsage(usage: TokenUsage | undefined, fields: Parameters<typeof responseOf>[0]): LlmReading {
  return { response: responseOf(fields), ...(usage && { usage }) }
}

function toolCall(value: unknown): ToolCallRequest[] {
  const call = asObject(value)
  const fn = asObject(call?.function) ?? asObject(call?.custom)
  const name = asText(fn?.name)
  if (call === undefined || name === undefined) return []
  return [{ toolCallId: asText(call.id) ?? '', apiName: name, ...argumentsOf(fn?.arguments ?? fn?.input) }]
}

function chatUsage(value: unknown): TokenUsage | undefined {
  const usage = asObject(value)
  if (usage === undefined) return undefined
  return usageOf(
    asCount(usage.prompt_tokens),
    asCount(usage.completion_tokens),
    asCount(asObject(usage.prompt_tokens_details)?.cached_tokens),
    asCount(asObject(usage.completion_tokens_details)?.reasoning_tokens),
  )
}

interface OpenCall {
  id: string
  name: string
  arguments: string
}

/** Parallel calls are told apart by their index, never by their order of arrival. */
export class ChatChunkReader implements ChunkReader {
  #id: string | undefined
  #model: string | undefined
  #content: string | undefined
  #reasoning: string | undefined
  #refusal: string | undefined
  #usage: TokenUsage | undefined
  readonly #finish = new Map<number, string>()
  readonly #calls = new Map<number, OpenCall>()

  push(value: unknown): void {
    const chunk = asObject(value)
    if (chunk === undefined) return
    this.#id ??= asText(chunk.id)
    this.#model ??= asText(chunk.model)
    this.#usage = chatUsage(chunk.usage) ?? this.#usage
    for (const item of asList(chunk.choices)) {
      const choice = asObject(item)
      const index = asCount(choice?.index) ?? 0
      const reason = asText(choice?.finish_reason)
      if (reason) this.#finish.set(index, reason)
      if (index === 0) this.#delta(asObject(choice?.delta) ?? {})
    }
  }

  #delta(delta: Loose): void {
    this.#content = append(this.#content, delta.content)
    this.#reasoning = append(this.#reasoning, delta.reasoning_content ?? delta.reasoning)
    this.#refusal = append(this.#refusal, delta.refusal)
    for (const item of asList(delta.tool_calls)) {
      const part = asObject(item)
      const fn = asObject(part?.function)
      const index = asCount(part?.index) ?? 0
      const call = this.#calls.get(index) ?? { id: '', name: '', arguments: '' }
      call.id ||= asText(part?.id) ?? ''
      call.name ||= asText(fn?.name) ?? ''
      call.arguments += asText(fn?.arguments) ?? ''
      this.#calls.set(index, call)
    }
  }

  read(): LlmReading {
    const calls = [...this.#calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call)
    return withUsage(this.#usage, {
      id: this.#id,
      model: this.#model,
      finishReasons: [...this.#finish.values()],
      content: this.#content,
      reasoning: this.#reasoning,
      refusal: this.#refusal,
      toolCalls: calls.map((call) => ({
        toolCallId: call.id,
        apiName: call.name,
        ...argumentsOf(call.arguments),
      })),
    })
  }
}

function append(text: string | undefined, piece: unknown): string | undefined {
  return typeof piece === 'string' ? (text ?? '') + piece : text
}
