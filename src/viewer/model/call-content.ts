/** What went into and came out of a call of a model or a tool, wherever the conventions put it. */
import { NAMES, NUMBERED_MESSAGES, read, readText, USER_MESSAGE_EVENT } from './attributes.ts'
import {
  isObject,
  type Json,
  type Message,
  type MessagePart,
  messageOf,
  messagesOf,
  parse,
  partsOf,
  textOf,
  toolCallOf,
} from './messages.ts'
import type { Attributes, AttributeValue, SpanEvent, SpanRecord } from './span.ts'

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
  /** Why the reply ended, where that is worth a word. */
  ended?: string
}

/** Of replies that are whole, in the words of each API and SDK, as letters alone. */
const WHOLE = new Set(
  'stop stopsequence endturn eos eostoken toolcalls toolcall tooluse functioncall completed complete success pauseturn requiresaction'.split(
    ' ',
  ),
)

export function modelCall(span: SpanRecord): ModelCall {
  const attributes = withDetails(span)
  const input = sentMessages(span)
  const system = readText(attributes, NAMES.systemInstructions)
  if (system) input.unshift({ role: 'system', parts: partsOf(parse(system)) })
  const ended = endedBy(attributes)
  return {
    input,
    output: answeredMessages(span),
    tools: toolDefinitions(attributes),
    ...(ended !== undefined && { ended }),
  }
}

/** What was sent, without the instructions that are recorded apart. */
export function sentMessages(span: SpanRecord): Message[] {
  return inputMessages(withDetails(span), span.events)
}

export function answeredMessages(span: SpanRecord): Message[] {
  return outputMessages(withDetails(span), span.events)
}

function endedBy(attributes: Attributes): string | undefined {
  const given = parse(read(attributes, NAMES.finishReasons) ?? null)
  const [first] = Array.isArray(given) ? given : [given]
  if (typeof first !== 'string' || first === '') return undefined
  return WHOLE.has(first.toLowerCase().replace(/[^a-z]/g, '')) ? undefined : first
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
  const given = read(attributes, NAMES.inputMessages)
  if (given !== undefined) return messagesOf(given, 'user')
  const told = eventMessages(withTold(attributes, events), false)
  if (told.length > 0) return told
  const any = read(attributes, NAMES.anyInput)
  return any === undefined ? [] : messagesOf(any, 'user')
}

function outputMessages(attributes: Attributes, events: readonly SpanEvent[]): Message[] {
  const given = read(attributes, NAMES.outputMessages)
  if (given !== undefined) return messagesOf(given, 'assistant')
  const numbered = numberedMessages(attributes, NUMBERED_MESSAGES.output)
  if (numbered.length > 0 && numbered.some((message) => message.parts.length > 0)) return numbered
  const ai = aiSdkOutput(attributes)
  if (ai) return [ai]
  const told = eventMessages(withTold(attributes, events), true)
  if (told.length > 0) return told
  const any = read(attributes, NAMES.anyOutput)
  return any === undefined ? [] : messagesOf(any, 'assistant')
}

function aiSdkOutput(attributes: Attributes): Message | undefined {
  const said: MessagePart[] = []
  const reasoning = readText(attributes, NAMES.aiReasoning)
  if (reasoning) said.push({ type: 'reasoning', text: reasoning })
  const text = readText(attributes, NAMES.aiText)
  if (text) said.push({ type: 'text', text })
  const calls = parse(read(attributes, NAMES.aiToolCalls) ?? null)
  const parts = Array.isArray(calls) ? said.concat(calls.map(toolCallOf)) : said
  return parts.length > 0 ? { role: 'assistant', parts } : undefined
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
    const messages = withoutGaps(found).flatMap((message) => messageOf(message, 'user'))
    if (messages.length > 0) return messages
  }
  return []
}

/** Numbers may be left out: `tool_calls.1` comes without `.0`. */
function withoutGaps(messages: Json[]): Json[] {
  return messages.filter(Boolean).map((message) => {
    for (const key of ['tool_calls', 'content']) {
      const list = message[key]
      if (Array.isArray(list)) message[key] = list.filter((item) => item !== undefined)
    }
    return message
  })
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
  const piece = /^contents\.(\d{1,3})\.message_content\.(type|text|image\.image\.url)$/.exec(path)
  if (piece) {
    const key = piece[2] === 'type' || piece[2] === 'text' ? piece[2] : 'image_url'
    entryOf(message, 'content', Number(piece[1]))[key] = value
  } else if (path === 'content' || path === 'role' || path === 'tool_call_id') message[path] = value
}

/** The object at `index` of the list at `key`; both are made when they are not there. */
function entryOf(message: Json, key: 'tool_calls' | 'content', index: number): Json {
  const list = Array.isArray(message[key]) ? message[key] : []
  message[key] = list
  const entry = isObject(list[index]) ? list[index] : {}
  list[index] = entry
  return entry
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

/** With the events that are in an attribute instead. */
function withTold(attributes: Attributes, events: readonly SpanEvent[]): readonly SpanEvent[] {
  const told = parse(read(attributes, NAMES.messageEvents) ?? null)
  if (!Array.isArray(told)) return events
  const list = told.filter((one) => isObject(one) && typeof one['event.name'] === 'string') as Json[]
  return events.concat(list.map((one) => ({ name: one['event.name'] as string, timeUs: 0, attributes: one })))
}

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
      if (Array.isArray(message)) return [{ role, parts: partsOf(message) }]
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
      : parse(read(attributes, NAMES.toolDefinitions) ?? null)
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
  const args = read(span.attributes, NAMES.toolArguments)
  const result =
    NAMES.toolResult.keys.map((key) => span.attributes[key]).find((value) => value !== undefined) ?? null
  const exception = span.events.find((event) => event.name === 'exception')
  const error =
    span.status.code === 2
      ? span.status.message ||
        textOf(exception?.attributes['exception.message']) ||
        readText(span.attributes, NAMES.errorType)
      : ''
  const told = parse(result)
  const isWrapped = readText(span.attributes, NAMES.openInferenceKind) !== ''
  const argsGiven = given(parse(args ?? null))
  return {
    args: isWrapped ? ofFunction(argsGiven) : argsGiven,
    result: isOurs(span) ? unwrapped(told) : gave(told),
    error,
  }
}

/** The arguments alone, of all that LangChain tells when a tool begins. */
function given(told: AttributeValue): AttributeValue {
  return isObject(told) && typeof told.input_str === 'string' ? parse(told.inputs ?? told.input_str) : told
}

/** The arguments by name, of a wrapped Python function. */
function ofFunction(told: AttributeValue): AttributeValue {
  if (!isObject(told) || !isObject(told.kwargs)) return told
  const { kwargs, args, ...more } = told
  const hasMore = Object.keys(more).length > 0 || (Array.isArray(args) && args.length > 0)
  return hasMore ? told : kwargs
}

/** The content alone, of the message that LangChain makes of what a tool gave. */
function gave(told: AttributeValue): AttributeValue {
  const message = isObject(told) ? told.output : undefined
  if (!isObject(message) || message.lc !== 1 || !isObject(message.kwargs)) return told
  return parse(message.kwargs.content)
}

/** Our tracing says of each call how it came out; nobody else does. */
function isOurs(span: SpanRecord): boolean {
  return readText(span.attributes, NAMES.toolOutcome) !== ''
}

/** The attribute has to be an object: our tracing puts what is none into one, alone, under this key. */
function unwrapped(told: AttributeValue): AttributeValue {
  return isObject(told) && 'content' in told && Object.keys(told).length === 1 ? parse(told.content) : told
}

/** What the user said that no model was sent: our tracing notes it as an event of the agent's span. */
export function userMessages(span: SpanRecord): { timeUs: number; messages: Message[] }[] {
  return span.events
    .filter((event) => event.name === USER_MESSAGE_EVENT)
    .map(({ timeUs, attributes }) => ({
      timeUs,
      messages: messagesOf(read(attributes, NAMES.inputMessages) ?? null, 'user'),
    }))
}
