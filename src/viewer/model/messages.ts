/** What went into and came out of a model call, from any of the conventions, in one shape. */
import { NAMES, NUMBERED_MESSAGES, read, readText } from './attributes.ts'
import type { Attributes, AttributeValue, SpanEvent, SpanRecord } from './span.ts'

export type MessagePart =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'tool_call'; id: string; name: string; arguments: AttributeValue }
  | { type: 'tool_result'; id: string; result: AttributeValue }
  | { type: 'media'; modality: string; reference: string }
  | { type: 'compaction'; text: string }
  | { type: 'unknown'; value: AttributeValue }

export interface Message {
  role: string
  parts: MessagePart[]
}

export interface ToolDefinition {
  name: string
  /** Its size as JSON, which is what the model is sent. */
  chars: number
  value: AttributeValue
}

export interface ModelCall {
  input: Message[]
  output: Message[]
  tools: ToolDefinition[]
}

type Json = Record<string, AttributeValue>

export function modelCall(span: SpanRecord): ModelCall {
  const attributes = withDetails(span)
  const input = inputMessages(attributes, span.events)
  const system = readText(attributes, 'systemInstructions')
  if (system) input.unshift({ role: 'system', parts: partsOf(parse(system)) })
  return { input, output: outputMessages(attributes, span.events), tools: toolDefinitions(attributes) }
}

/** Content may travel in the `operation.details` log event instead of on the span. */
function withDetails(span: SpanRecord): Attributes {
  const details = span.events.filter((event) => event.name === 'gen_ai.client.inference.operation.details')
  return details.length === 0
    ? span.attributes
    : Object.assign({}, ...details.map((event) => event.attributes), span.attributes)
}

function inputMessages(attributes: Attributes, events: readonly SpanEvent[]): Message[] {
  const numbered = numberedMessages(attributes, NUMBERED_MESSAGES.input)
  if (numbered.length > 0) return numbered
  const given = read(attributes, 'inputMessages')
  if (given !== undefined) return messagesOf(given, 'user')
  const told = eventMessages(events, false)
  if (told.length > 0) return told
  const any = read(attributes, 'anyInput')
  return any === undefined ? [] : messagesOf(any, 'user')
}

function outputMessages(attributes: Attributes, events: readonly SpanEvent[]): Message[] {
  const given = read(attributes, 'outputMessages')
  if (given !== undefined) return messagesOf(given, 'assistant')
  const numbered = numberedMessages(attributes, NUMBERED_MESSAGES.output)
  if (numbered.length > 0 && numbered.some((message) => message.parts.length > 0)) return numbered
  const ai = aiSdkOutput(attributes)
  if (ai) return [ai]
  const told = eventMessages(events, true)
  if (told.length > 0) return told
  const any = read(attributes, 'anyOutput')
  return any === undefined ? [] : messagesOf(any, 'assistant')
}

function aiSdkOutput(attributes: Attributes): Message | undefined {
  const parts: MessagePart[] = []
  const reasoning = readText(attributes, 'aiReasoning')
  if (reasoning) parts.push({ type: 'reasoning', text: reasoning })
  const text = readText(attributes, 'aiText')
  if (text) parts.push({ type: 'text', text })
  const calls = parse(read(attributes, 'aiToolCalls') ?? null)
  if (Array.isArray(calls)) parts.push(...calls.map((call) => toolCallOf(call)))
  return parts.length > 0 ? { role: 'assistant', parts } : undefined
}

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
    if (Array.isArray(parsed.choices))
      return parsed.choices.flatMap((choice) => messageOf((choice as Json)?.message ?? choice, role))
    return messageOf(parsed, role)
  }
  return [{ role, parts: partsOf(parsed) }]
}

function messageOf(item: AttributeValue, role: string): Message[] {
  if (!isObject(item)) return item === null ? [] : [{ role, parts: partsOf(item) }]
  const own = typeof item.role === 'string' ? item.role : role
  if (Array.isArray(item.parts)) return [{ role: own, parts: item.parts.map(partOf) }]
  const parts: MessagePart[] = []
  const reasoning = item.reasoning_content ?? item.reasoning
  if (typeof reasoning === 'string' && reasoning) parts.push({ type: 'reasoning', text: reasoning })
  const callId = item.tool_call_id ?? item.toolCallId
  if (own === 'tool' && item.content !== undefined && typeof callId === 'string') {
    parts.push({ type: 'tool_result', id: callId, result: item.content })
  } else if (item.content !== undefined && item.content !== null) parts.push(...partsOf(item.content))
  const calls = item.tool_calls ?? item.toolCalls
  if (Array.isArray(calls)) parts.push(...calls.map(toolCallOf))
  if (parts.length === 0 && item.content === undefined && typeof item.role !== 'string')
    parts.push({ type: 'unknown', value: item })
  return [{ role: own === 'tool-call' || own === 'tool_call' ? 'assistant' : own, parts }]
}

function partsOf(content: AttributeValue): MessagePart[] {
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
    case 'image':
    case 'image_url':
      return {
        type: 'media',
        modality: textOf(part.modality ?? part.type),
        reference: textOf(part.uri ?? part.file_id ?? part.mime_type),
      }
    default:
      return typeof part.text === 'string'
        ? { type: 'text', text: part.text }
        : { type: 'unknown', value: part }
  }
}

function resultId(part: Json): string {
  return textOf(part.id ?? part.toolCallId ?? part.tool_use_id ?? part.tool_call_id)
}

function resultOf(part: Json): AttributeValue {
  const output =
    part.response ?? part.result ?? part.output ?? part.server_tool_call_response ?? part.content ?? null
  // The AI SDK wraps results as `{ type: 'json' | 'text', value }`.
  return isObject(output) && output.value !== undefined && typeof output.type === 'string'
    ? output.value
    : output
}

function isCall(item: Json): boolean {
  return (
    isObject(item.function) ||
    typeof item['tool.name'] === 'string' ||
    (item.role === undefined && typeof item.name === 'string' && item.arguments !== undefined)
  )
}

function toolCallOf(value: AttributeValue): MessagePart {
  if (!isObject(value)) return { type: 'unknown', value }
  const inner = isObject(value.function) ? value.function : value
  const given =
    inner.arguments ?? inner.args ?? inner.input ?? inner['tool.args'] ?? value.server_tool_call ?? null
  return {
    type: 'tool_call',
    id: textOf(value.id ?? value.toolCallId),
    name: textOf(inner.name ?? inner.toolName ?? inner.tool_name ?? inner['tool.name']),
    arguments: parse(given),
  }
}

/** `llm.input_messages.0.message.content`, `gen_ai.prompt.0.content` and their like. */
function numberedMessages(
  attributes: Attributes,
  kinds: readonly { prefix: string; infix: string }[],
): Message[] {
  for (const { prefix, infix } of kinds) {
    const found: Json[] = []
    for (const key of Object.keys(attributes)) {
      if (!key.startsWith(prefix)) continue
      const path = key.slice(prefix.length).split('.')
      const index = Number(path.shift())
      if (!Number.isInteger(index) || index < 0 || index > 10_000) continue
      let rest = path.join('.')
      if (infix && rest.startsWith(infix)) rest = rest.slice(infix.length)
      found[index] ??= {}
      setPath(found[index], rest, attributes[key] ?? null)
    }
    const messages = found.filter(Boolean).flatMap((message) => messageOf(message, 'user'))
    if (messages.length > 0) return messages
  }
  return []
}

function setPath(message: Json, path: string, value: AttributeValue): void {
  const call = /^tool_calls\.(\d{1,3})\.(?:tool_call\.)?(.+)$/.exec(path)
  if (call) {
    const entry = entryOf(message, 'tool_calls', Number(call[1]))
    if (call[2] === 'id') entry.id = value
    else if (call[2]!.endsWith('name')) entry.name = value
    else if (call[2]!.endsWith('arguments')) entry.arguments = value
    return
  }
  const piece = /^contents\.(\d{1,3})\.message_content\.(type|text)$/.exec(path)
  if (piece) entryOf(message, 'content', Number(piece[1]))[piece[2]!] = value
  else if (path === 'content' || path === 'role' || path === 'tool_call_id') message[path] = value
}

/** The object at `index` of the list at `key`; both are made when they are not there. */
function entryOf(message: Json, key: 'tool_calls' | 'content', index: number): Json {
  const list = Array.isArray(message[key]) ? (message[key] as Json[]) : []
  message[key] = list
  list[index] ??= {}
  return list[index]
}

const EVENT_ROLES: Record<string, string> = {
  'gen_ai.system.message': 'system',
  'gen_ai.user.message': 'user',
  'gen_ai.assistant.message': 'assistant',
  'gen_ai.tool.message': 'tool',
  'gen_ai.choice': 'assistant',
  'gen_ai.content.prompt': 'user',
  'gen_ai.content.completion': 'assistant',
}
const OUTPUT_EVENTS = new Set(['gen_ai.choice', 'gen_ai.content.completion'])

/** Before messages became attributes, each was an event. */
function eventMessages(events: readonly SpanEvent[], output: boolean): Message[] {
  return events
    .filter((event) => Object.hasOwn(EVENT_ROLES, event.name) && OUTPUT_EVENTS.has(event.name) === output)
    .flatMap((event) => {
      const role = EVENT_ROLES[event.name]!
      const body = parse(event.attributes['log.body'] ?? event.attributes['gen_ai.event.content'] ?? null)
      const source = isObject(body) ? body : event.attributes
      const message = parse(source.message ?? null)
      if (isObject(message)) return messageOf(message, role)
      const given = source['gen_ai.prompt'] ?? source['gen_ai.completion']
      if (given !== undefined) return messagesOf(given, role)
      return messageOf(
        { ...source, role, content: parse(source.content ?? null), tool_call_id: source.id ?? '' },
        role,
      )
    })
}

function toolDefinitions(attributes: Attributes): ToolDefinition[] {
  const numbered = Object.keys(attributes).filter((key) => /^llm\.tools\.\d+\.tool\.json_schema$/.test(key))
  const given =
    numbered.length > 0
      ? numbered.map((key) => attributes[key] ?? null)
      : parse(read(attributes, 'toolDefinitions') ?? null)
  if (!Array.isArray(given)) return []
  return given.map((item) => {
    const value = parse(item)
    const inner = isObject(value) && isObject(value.function) ? value.function : value
    return { name: isObject(inner) ? textOf(inner.name) : '', chars: JSON.stringify(value).length, value }
  })
}

/** A tool's arguments and result, as plain values. */
export function toolCallFacts(span: SpanRecord): {
  args: AttributeValue
  result: AttributeValue
  error: string
} {
  const args = read(span.attributes, 'toolArguments')
  const result = NAMES.toolResult.map((key) => span.attributes[key]).find((value) => value !== undefined)
  const exception = span.events.find((event) => event.name === 'exception')
  const error =
    span.status.code === 2
      ? span.status.message ||
        textOf(exception?.attributes['exception.message']) ||
        readText(span.attributes, 'errorType')
      : ''
  return { args: parse(args ?? null), result: parse(result ?? null), error }
}

/** JSON text as what it says; any other text as itself. */
export function parse(value: AttributeValue | undefined): AttributeValue {
  if (typeof value !== 'string') return value ?? null
  const first = value.trimStart()[0]
  if (first !== '{' && first !== '[' && first !== '"') return value
  try {
    return JSON.parse(value) as AttributeValue
  } catch {
    return value
  }
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
