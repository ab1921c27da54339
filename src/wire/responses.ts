import type { TokenUsage, ToolCallRequest } from '../hooks/values.ts'
import {
  argumentsOf,
  asCount,
  asList,
  asObject,
  asText,
  type ChunkReader,
  type LlmReading,
  type Loose,
  responseOf,
  usageOf,
} from './reading.ts'

/** `response` objects of the responses API. */
export function isResponse(reply: Loose): boolean {
  return reply.object === 'response' || (Array.isArray(reply.output) && typeof reply.id === 'string')
}

export function readResponse(reply: Loose): LlmReading {
  const texts: string[] = []
  const reasoning: string[] = []
  const refusals: string[] = []
  const toolCalls: ToolCallRequest[] = []
  for (const value of asList(reply.output)) {
    const item = asObject(value) ?? {}
    if (item.type === 'message') readMessage(item, texts, refusals)
    if (item.type === 'reasoning') reasoning.push(...reasoningTexts(item))
    if (item.type === 'function_call' || item.type === 'custom_tool_call') {
      toolCalls.push({
        toolCallId: asText(item.call_id) ?? asText(item.id) ?? '',
        apiName: asText(item.name) ?? '',
        ...argumentsOf(item.arguments ?? item.input),
      })
    }
  }
  const usage = responseUsage(reply.usage)
  return {
    response: responseOf({
      id: asText(reply.id),
      model: asText(reply.model),
      finishReasons: finishReason(reply, toolCalls),
      content: texts.length > 0 ? texts.join('') : undefined,
      reasoning: reasoning.length > 0 ? reasoning.join('\n') : undefined,
      refusal: refusals.length > 0 ? refusals.join('') : undefined,
      toolCalls,
    }),
    ...(usage && { usage }),
  }
}

function readMessage(item: Loose, texts: string[], refusals: string[]): void {
  for (const value of asList(item.content)) {
    const part = asObject(value)
    const text = asText(part?.text)
    const refusal = asText(part?.refusal)
    if (text !== undefined) texts.push(text)
    if (refusal !== undefined) refusals.push(refusal)
  }
}

function reasoningTexts(item: Loose): string[] {
  return [...asList(item.summary), ...asList(item.content)].flatMap(
    (part) => asText(asObject(part)?.text) ?? [],
  )
}

/** The API has a status, not a finish reason; the convention's words are used for what they mean. */
function finishReason(reply: Loose, toolCalls: readonly ToolCallRequest[]): string[] {
  const incomplete = asText(asObject(reply.incomplete_details)?.reason)
  if (incomplete === 'max_output_tokens') return ['length']
  if (incomplete !== undefined) return [incomplete]
  if (reply.status === 'failed') return ['error']
  if (reply.status !== undefined && reply.status !== 'completed') return [String(reply.status)]
  return [toolCalls.length > 0 ? 'tool_calls' : 'stop']
}

function responseUsage(value: unknown): TokenUsage | undefined {
  const usage = asObject(value)
  if (usage === undefined) return undefined
  return usageOf(
    asCount(usage.input_tokens),
    asCount(usage.output_tokens),
    asCount(asObject(usage.input_tokens_details)?.cached_tokens),
    asCount(asObject(usage.output_tokens_details)?.reasoning_tokens),
  )
}

/** The stream's last event holds the whole response; until then the items that are done are kept. */
export class ResponseEventReader implements ChunkReader {
  #response: Loose | undefined
  #text: string | undefined
  readonly #items = new Map<number, unknown>()

  push(value: unknown): void {
    const event = asObject(value)
    if (event === undefined) return
    const response = asObject(event.response)
    if (response !== undefined) this.#response = response
    if (event.type === 'response.output_item.done')
      this.#items.set(asCount(event.output_index) ?? 0, event.item)
    if (event.type === 'response.output_text.delta')
      this.#text = (this.#text ?? '') + (asText(event.delta) ?? '')
  }

  read(): LlmReading {
    const response = this.#response ?? {}
    if (asList(response.output).length > 0) return readResponse(response)
    const items = [...this.#items.entries()].sort(([a], [b]) => a - b).map(([, item]) => item)
    const reading = readResponse({ ...response, output: items })
    if (reading.response.content !== undefined || this.#text === undefined) return reading
    return { ...reading, response: { ...reading.response, content: this.#text } }
  }
}
