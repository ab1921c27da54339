import type { TokenUsage, ToolCallRequest } from '../hooks/values.ts'
import {
  asCount,
  asList,
  asObject,
  asText,
  type ChunkReader,
  type LlmReading,
  type Loose,
  parseArguments,
  responseOf,
  usageOf,
} from './reading.ts'

/** `message` objects of Anthropic's messages API. */
export function isAnthropicMessage(reply: Loose): boolean {
  return reply.type === 'message' && Array.isArray(reply.content)
}

export function readAnthropicMessage(reply: Loose): LlmReading {
  const blocks = asList(reply.content).map((block) => asObject(block) ?? {})
  const usage = anthropicUsage(asObject(reply.usage))
  const stop = asText(reply.stop_reason)
  return {
    response: responseOf({
      id: asText(reply.id),
      model: asText(reply.model),
      finishReasons: stop === undefined ? undefined : [stop],
      content: joined(blocks, 'text'),
      reasoning: joined(blocks, 'thinking'),
      toolCalls: blocks.flatMap(toolUse),
    }),
    ...(usage && { usage }),
  }
}

function joined(blocks: readonly Loose[], type: 'text' | 'thinking'): string | undefined {
  const texts = blocks.filter((block) => block.type === type).map((block) => asText(block[type]) ?? '')
  return texts.length > 0 ? texts.join('') : undefined
}

function toolUse(block: Loose): ToolCallRequest[] {
  if (block.type !== 'tool_use') return []
  return [
    {
      toolCallId: asText(block.id) ?? '',
      apiName: asText(block.name) ?? '',
      args: parseArguments(block.input),
    },
  ]
}

/** Anthropic counts cached tokens apart; the convention counts them as part of the input. */
function anthropicUsage(usage: Loose | undefined): TokenUsage | undefined {
  if (usage === undefined) return undefined
  const read = asCount(usage.cache_read_input_tokens)
  const written = asCount(usage.cache_creation_input_tokens) ?? 0
  const input = asCount(usage.input_tokens)
  return usageOf(
    input === undefined ? undefined : input + (read ?? 0) + written,
    asCount(usage.output_tokens),
    read,
  )
}

/** Events of a streamed message: blocks by index, counts in the first and the last event. */
export class AnthropicEventReader implements ChunkReader {
  #message: Loose = {}
  #stop: unknown
  #usage: Loose = {}
  readonly #blocks = new Map<number, Loose>()

  push(value: unknown): void {
    const event = asObject(value)
    if (event === undefined) return
    const index = asCount(event.index) ?? 0
    if (event.type === 'message_start') {
      this.#message = asObject(event.message) ?? {}
      this.#usage = { ...asObject(this.#message.usage) }
    } else if (event.type === 'content_block_start') {
      this.#blocks.set(index, { ...asObject(event.content_block) })
    } else if (event.type === 'content_block_delta') {
      this.#delta(this.#blocks.get(index), asObject(event.delta) ?? {})
    } else if (event.type === 'message_delta') {
      this.#stop = asObject(event.delta)?.stop_reason
      this.#usage = { ...this.#usage, ...asObject(event.usage) }
    }
  }

  #delta(block: Loose | undefined, delta: Loose): void {
    if (block === undefined) return
    if (typeof delta.text === 'string') block.text = (asText(block.text) ?? '') + delta.text
    if (typeof delta.thinking === 'string') block.thinking = (asText(block.thinking) ?? '') + delta.thinking
    if (typeof delta.partial_json === 'string') block.json = (asText(block.json) ?? '') + delta.partial_json
  }

  read(): LlmReading {
    const content = [...this.#blocks.entries()]
      .sort(([a], [b]) => a - b)
      .map(([, block]) => (block.json === undefined ? block : { ...block, input: block.json }))
    return readAnthropicMessage({ ...this.#message, content, stop_reason: this.#stop, usage: this.#usage })
  }
}
