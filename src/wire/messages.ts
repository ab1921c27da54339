import type { LlmRequest, LlmResponse } from '../hooks/index.ts'
import { asList, asObject, asText, exactArguments, type Loose } from './reading.ts'

/** One part of a message, in the conventions' JSON shape. */
export type Part = { readonly type: string } & Loose

export interface ChatMessage {
  readonly role: string
  readonly parts: readonly Part[]
  readonly name?: string
  readonly finish_reason?: string
}

/** The parts of a request that the conventions keep apart. */
export interface RequestContent {
  readonly messages: readonly ChatMessage[]
  /** The same as JSON. May throw for what is no JSON. */
  messagesJson(): string
  readonly systemInstructions: readonly Part[]
  readonly toolDefinitions: readonly Loose[]
}

/** A request of the chat completions, responses or Anthropic messages API in the conventions' shape. */
export function requestContent(request: LlmRequest): RequestContent {
  const items = Array.isArray(request.messages) ? request.messages : request.input
  const converted =
    typeof items === 'string' ? [new Converted(textMessage('user', items))] : asList(items).map(convertedOf)
  const instructions = request.instructions ?? request.system
  return {
    messages: converted.map(({ message }) => message),
    messagesJson: () => `[${converted.map((item) => item.json()).join(',')}]`,
    systemInstructions:
      typeof instructions === 'string' ? [text(instructions)] : asList(instructions).flatMap(partOf),
    toolDefinitions: asList(request.tools).map(toolDefinition),
  }
}

/** A reply in the conventions' shape. */
export function responseMessage(response: LlmResponse): ChatMessage {
  const parts: Part[] = []
  if (response.reasoning !== undefined) parts.push({ type: 'reasoning', content: response.reasoning })
  if (response.content !== undefined) parts.push(text(response.content))
  if (response.refusal !== undefined) parts.push({ type: 'refusal', content: response.refusal })
  for (const call of response.toolCalls ?? []) {
    parts.push({
      type: 'tool_call',
      id: call.toolCallId,
      name: call.apiName,
      arguments: call.argsText ?? call.args,
    })
  }
  const finish = response.finishReasons?.[0]
  return { role: 'assistant', parts, ...(finish !== undefined && { finish_reason: finish }) }
}

export function textMessage(role: string, content: string): ChatMessage {
  return { role, parts: [text(content)] }
}

function text(content: string): Part {
  return { type: 'text', content }
}

/**
 * Converted messages by the object they came from: a conversation is sent again with every call, and converting
 * it each time would cost as much as the run is long. A message that was changed since is converted again.
 */
const known = new WeakMap<object, Converted>()

/** A message in the conventions' shape, with what of the original would show that it was changed since. */
class Converted {
  readonly message: ChatMessage
  readonly #content: unknown
  readonly #calls: unknown
  readonly #callCount: number
  #json: string | undefined

  constructor(message: ChatMessage, content?: unknown, calls?: unknown) {
    this.message = message
    this.#content = content
    this.#calls = calls
    this.#callCount = asList(calls).length
  }

  isOf({ content, tool_calls: calls }: Loose): boolean {
    return this.#content === content && this.#calls === calls && this.#callCount === asList(calls).length
  }

  /** Kept where the message is made of texts alone; objects in it may change without a trace. */
  json(): string {
    if (this.#json !== undefined) return this.#json
    const json = JSON.stringify(this.message)
    if (typeof this.#content === 'string' || this.#content === null) this.#json = json
    return json
  }
}

function convertedOf(value: unknown): Converted {
  const message = asObject(value)
  if (message === undefined) {
    return new Converted(textMessage('user', asText(value) ?? JSON.stringify(value) ?? ''))
  }
  const before = known.get(message)
  if (before?.isOf(message)) return before
  const { content, tool_calls: calls } = message
  const made = new Converted(convert(message), content, calls)
  // Parts in a list may change inside without a trace; only texts are kept.
  if (!Array.isArray(content)) known.set(message, made)
  return made
}

function convert(message: Loose): ChatMessage {
  if (typeof message.role !== 'string') return itemMessage(message)
  const name = asText(message.name)
  const named = name === undefined ? {} : { name }
  if (message.role === 'tool') {
    const response = typeof message.content === 'string' ? message.content : message.content
    return {
      role: 'tool',
      parts: [
        { type: 'tool_call_response', id: asText(message.tool_call_id) ?? '', response: response ?? '' },
      ],
      ...named,
    }
  }
  const parts: Part[] = []
  const reasoning = asText(message.reasoning_content) ?? asText(message.reasoning)
  if (reasoning !== undefined) parts.push({ type: 'reasoning', content: reasoning })
  if (typeof message.content === 'string') parts.push(text(message.content))
  else parts.push(...asList(message.content).flatMap(partOf))
  const refusal = asText(message.refusal)
  if (refusal !== undefined) parts.push({ type: 'refusal', content: refusal })
  parts.push(...asList(message.tool_calls).flatMap(toolCallPart))
  return { role: message.role, parts, ...named }
}

/** Items of the responses API that are no messages. */
function itemMessage(item: Loose): ChatMessage {
  const id = asText(item.call_id) ?? asText(item.id) ?? ''
  if (item.type === 'function_call' || item.type === 'custom_tool_call') {
    const args = exactArguments(item.arguments ?? item.input)
    return {
      role: 'assistant',
      parts: [{ type: 'tool_call', id, name: asText(item.name) ?? '', arguments: args }],
    }
  }
  if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
    return { role: 'tool', parts: [{ type: 'tool_call_response', id, response: item.output ?? '' }] }
  }
  if (item.type === 'reasoning') {
    const texts = [...asList(item.summary), ...asList(item.content)].flatMap(
      (part) => asText(asObject(part)?.text) ?? [],
    )
    return { role: 'assistant', parts: [{ type: 'reasoning', content: texts.join('\n') }] }
  }
  return { role: 'assistant', parts: [{ ...item, type: asText(item.type) ?? 'generic' }] }
}

function toolCallPart(value: unknown): Part[] {
  const call = asObject(value)
  const fn = asObject(call?.function) ?? asObject(call?.custom)
  if (call === undefined || fn === undefined) return []
  const args = exactArguments(fn.arguments ?? fn.input)
  return [{ type: 'tool_call', id: asText(call.id) ?? '', name: asText(fn.name) ?? '', arguments: args }]
}

function partOf(value: unknown): Part[] {
  if (typeof value === 'string') return [text(value)]
  const part = asObject(value)
  if (part === undefined) return []
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return [text(asText(part.text) ?? '')]
    case 'refusal':
      return [{ type: 'refusal', content: asText(part.refusal) ?? '' }]
    case 'thinking':
      return [{ type: 'reasoning', content: asText(part.thinking) ?? '' }]
    case 'tool_use':
      return [
        {
          type: 'tool_call',
          id: asText(part.id) ?? '',
          name: asText(part.name) ?? '',
          arguments: part.input,
        },
      ]
    case 'tool_result':
      return [
        { type: 'tool_call_response', id: asText(part.tool_use_id) ?? '', response: part.content ?? '' },
      ]
    case 'image_url':
    case 'input_image':
      return [imagePart(part)]
    default:
      return [{ ...part, type: asText(part.type) ?? 'generic' }]
  }
}

function imagePart(part: Loose): Part {
  const url = asText(part.image_url) ?? asText(asObject(part.image_url)?.url) ?? ''
  const data = /^data:([^;,]+);base64,(.*)$/s.exec(url)
  if (data === null) return { type: 'uri', modality: 'image', uri: url }
  return { type: 'blob', modality: 'image', mime_type: data[1], content: data[2] }
}

function toolDefinition(value: unknown): Loose {
  const tool = asObject(value) ?? {}
  const fn = asObject(tool.function) ?? tool
  const { name, description } = fn
  const parameters = fn.parameters ?? fn.input_schema
  return {
    type: 'function',
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
  }
}
