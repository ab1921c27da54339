/** A message in one shape, read from any of the shapes it is recorded in. */
import { imageOf } from './images.ts'
import { parseJson } from './json-text.ts'
import type { AttributeValue } from './span.ts'

export type MessagePart =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'tool_call'; id: string; name: string; arguments: AttributeValue }
  | { type: 'tool_result'; id: string; result: AttributeValue }
  | {
      type: 'media'
      modality: string
      reference: string /** The picture itself, as a data URI. */
      src?: string
    }
  | { type: 'compaction'; text: string }
  | { type: 'unknown'; value: AttributeValue }

export interface Message {
  role: string
  parts: MessagePart[]
}

export type Json = Record<string, AttributeValue>

/** JSON in any of its usual shapes, or text that is the message itself. */
export function messagesOf(value: AttributeValue, role: string): Message[] {
  const parsed = parse(value)
  if (Array.isArray(parsed)) {
    if (parsed.length > 0 && parsed.every((item) => isObject(item) && isCall(item))) {
      return [{ role: 'assistant', parts: parsed.map(toolCallOf) }]
    }
    return parsed.flat().flatMap((item) => messageOf(item as AttributeValue, role))
  }
  if (isObject(parsed)) {
    if (Array.isArray(parsed.messages)) {
      const system =
        typeof parsed.system === 'string' ? [{ role: 'system', parts: partsOf(parsed.system) }] : []
      return [...system, ...messagesOf(parsed.messages, role)]
    }
    // A wrapped function's arguments, as OpenInference records them.
    if (Array.isArray(parsed.args) && Array.isArray(parsed.args[0])) return messagesOf(parsed.args[0], role)
    if (isObject(parsed.kwargs) && Array.isArray(parsed.kwargs.messages))
      return messagesOf(parsed.kwargs.messages, role)
    if (parsed.prompt !== undefined) return messagesOf(parsed.prompt, role)
    if (Array.isArray(parsed.generations))
      return parsed.generations.flat().flatMap((one) => messageOf((one as Json)?.message ?? one, role))
    if (Array.isArray(parsed.choices))
      return parsed.choices.flatMap((choice) => messageOf((choice as Json)?.message ?? choice, role))
    return messageOf(parsed, role)
  }
  return [{ role, parts: partsOf(parsed) }]
}

export function messageOf(given: AttributeValue, role: string): Message[] {
  if (!isObject(given)) return given === null ? [] : [{ role, parts: partsOf(given) }]
  const item = unserialized(given)
  const own = roleOf(item) ?? role
  if (Array.isArray(item.parts)) return [{ role: own, parts: item.parts.map(partOf) }]
  let parts: MessagePart[] = []
  const reasoning = item.reasoning_content ?? item.reasoning
  if (typeof reasoning === 'string' && reasoning) parts.push({ type: 'reasoning', text: reasoning })
  const callId = item.tool_call_id ?? item.toolCallId
  if (own === 'tool' && item.content !== undefined && typeof callId === 'string') {
    parts.push({ type: 'tool_result', id: callId, result: item.content })
  } else if (item.content !== undefined && item.content !== null) parts = parts.concat(partsOf(item.content))
  const calls = item.tool_calls ?? item.toolCalls
  if (Array.isArray(calls)) parts = parts.concat(calls.map(toolCallOf))
  if (parts.length === 0 && item.content === undefined && typeof item.role !== 'string')
    parts.push({ type: 'unknown', value: item })
  return [{ role: own === 'tool-call' || own === 'tool_call' ? 'assistant' : own, parts }]
}

/** What LangChain serializes carries its fields in `kwargs`. */
function unserialized(item: Json): Json {
  return item.lc === 1 && isObject(item.kwargs) ? item.kwargs : item
}

const LANGCHAIN_ROLES: Readonly<Record<string, string>> = {
  human: 'user',
  ai: 'assistant',
  AIMessageChunk: 'assistant',
  system: 'system',
  tool: 'tool',
}

function roleOf({ role, type }: Json): string | undefined {
  if (typeof role === 'string') return role
  return typeof type === 'string' && Object.hasOwn(LANGCHAIN_ROLES, type) ? LANGCHAIN_ROLES[type] : undefined
}

export function partsOf(content: AttributeValue): MessagePart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (Array.isArray(content)) return content.map(partOf)
  if (content === null) return []
  return [isObject(content) ? partOf(content) : { type: 'text', text: String(content) }]
}

function partOf(part: AttributeValue): MessagePart {
  if (!isObject(part)) return { type: 'text', text: typeof part === 'string' ? part : JSON.stringify(part) }
  const text = part.content ?? part.text
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: textOf(text) }
    case 'reasoning':
    case 'thinking':
      return { type: 'reasoning', text: textOf(text ?? part.thinking) }
    case 'tool_call':
    case 'tool-call':
    case 'tool_use':
    case 'function':
    case 'server_tool_call':
      return toolCallOf(part)
    case 'tool_call_response':
    case 'tool-result':
    case 'tool_result':
    case 'server_tool_call_response':
      return { type: 'tool_result', id: resultId(part), result: resultOf(part) }
    case 'compaction':
      return { type: 'compaction', text: textOf(part.content) }
    case 'blob':
    case 'uri':
    case 'file':
    case 'binary':
    case 'image':
    case 'image_url':
    case 'input_image':
    case 'media':
      return mediaOf(part)
    default:
      if (typeof part.text === 'string') return { type: 'text', text: part.text }
      return blockOf(part) ?? unknownOf(part)
  }
}

/** Of Bedrock's Converse, where the key says what a block is; Strands writes the key as the type as well. */
function blockOf(part: Json): MessagePart | undefined {
  const kind = typeof part.type === 'string' ? part.type : Object.keys(part)[0]
  const block = part.type === undefined ? part[kind ?? ''] : part.content
  if (!isObject(block)) return undefined
  switch (kind) {
    case 'reasoningContent':
      return {
        type: 'reasoning',
        text: textOf(isObject(block.reasoningText) ? block.reasoningText.text : block.text),
      }
    case 'toolUse':
      return {
        type: 'tool_call',
        id: textOf(block.toolUseId),
        name: textOf(block.name),
        arguments: block.input ?? null,
      }
    case 'toolResult':
      return { type: 'tool_result', id: textOf(block.toolUseId), result: block.content ?? null }
    case 'image':
      return mediaOf({ type: 'image', ...block })
    default:
      return undefined
  }
}

function unknownOf(part: Json): MessagePart {
  return part.inlineData === undefined && part.inline_data === undefined
    ? { type: 'unknown', value: part }
    : mediaOf({ type: 'image', ...part })
}

function mediaOf(part: Json): MessagePart {
  const modality = textOf(part.modality ?? part.type)
  const image = imageOf(part)
  const at = isObject(part.image_url) ? part.image_url.url : part.image_url
  const place = image?.words ?? textOf(part.uri ?? at ?? part.file_id ?? part.mime_type)
  const reference = [textOf(part.filename), place].filter(Boolean).join(' ')
  return { type: 'media', modality, reference, ...(image && { src: image.src }) }
}

function resultId(part: Json): string {
  return textOf(part.id ?? part.toolCallId ?? part.tool_use_id ?? part.tool_call_id)
}

function resultOf(part: Json): AttributeValue {
  const ran = part.server_tool_call_response
  const output = part.response ?? part.result ?? part.output ?? ranResult(ran) ?? part.content ?? null
  // The AI SDK wraps results as `{ type: 'json' | 'text', value }`.
  return isObject(output) && output.value !== undefined && typeof output.type === 'string'
    ? output.value
    : output
}

/** What a provider's own call came to: in hookspan's words, or as somebody else tells it. */
function ranResult(ran: AttributeValue | undefined): AttributeValue | undefined {
  return isObject(ran) ? (ran.result ?? ran.error ?? ran) : ran
}

function isCall(item: Json): boolean {
  return (
    isObject(item.function) ||
    typeof item['tool.name'] === 'string' ||
    (item.role === undefined && typeof item.name === 'string' && item.arguments !== undefined)
  )
}

export function toolCallOf(value: AttributeValue): MessagePart {
  if (!isObject(value)) return { type: 'unknown', value }
  const inner = isObject(value.function) ? value.function : value
  const given =
    inner.arguments ??
    inner.args ??
    inner.input ??
    inner['tool.args'] ??
    askedOf(value.server_tool_call) ??
    null
  return {
    type: 'tool_call',
    id: textOf(value.id ?? value.toolCallId),
    name: textOf(inner.name ?? inner.toolName ?? inner.tool_name ?? inner['tool.name']),
    arguments: parse(given),
  }
}

function askedOf(run: AttributeValue | undefined): AttributeValue | undefined {
  return isObject(run) ? (run.arguments ?? run) : run
}

/** JSON text as what it says; any other text, and JSON that nobody could walk through, as itself. */
export function parse(value: AttributeValue | undefined): AttributeValue {
  if (typeof value !== 'string') return value ?? null
  const first = value.trimStart()[0]
  if (first !== '{' && first !== '[' && first !== '"') return value
  return (parseJson(value) ?? value) as AttributeValue
}

export function textOf(value: AttributeValue | undefined): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export function isObject(value: AttributeValue | undefined): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function messageText(message: Message): string {
  return message.parts
    .map((part) => (part.type === 'text' ? part.text : ''))
    .filter(Boolean)
    .join('\n')
}
