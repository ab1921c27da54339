import { describeValue } from '../../../internal/errors.ts'
import { jsonIn } from '../../../internal/json.ts'
import { defined, isRecord } from '../../../internal/objects.ts'
import { expectString, type Fields, originOf, rebuild } from './fields.ts'
import { type OnBad, parseEach } from './parse-each.ts'
import { RecordingError, type RecordingPlace } from './recording-error.ts'
import { RunBuilder } from './run-builder.ts'
import type { RecordedCall, RecordedItem, RecordedRun } from './types.ts'

/** How one kind of chat recording tells a failed call. */
export type IsError = (content: string) => boolean

/** Conversations of OpenAI chat messages: `[message, …]`, `{ messages: […] }`, or a list of either. */
export function parseOpenAIChat(value: unknown, source: string, onBad?: OnBad): RecordedRun[] {
  const list = Array.isArray(value) && value.some(isConversation) ? value : [value]
  return parseEach(list, onBad, (conversation, index) =>
    parseConversation(conversation, { source, run: index }),
  )
}

export function isConversation(value: unknown): boolean {
  return Array.isArray(value) || (isRecord(value) && Array.isArray(value.messages))
}

function parseConversation(value: unknown, place: { source: string; run: number }): RecordedRun {
  const messages = isRecord(value) ? value.messages : value
  if (!Array.isArray(messages)) {
    throw new RecordingError(
      place,
      `expected a list of chat messages or an object with \`messages\`, got ${describeValue(value)}.`,
    )
  }
  const { id, model } = isRecord(value) ? value : ({} as Fields)
  return {
    id: typeof id === 'string' ? id : `conversation-${place.run}`,
    source: place.source,
    format: 'openai-chat',
    index: place.run,
    ...(typeof model === 'string' ? { model } : {}),
    ...parseChatMessages(messages, place, () => false),
    outcome: {},
  }
}

/** @throws RecordingError naming the message that is no chat message. */
export function parseChatMessages(
  messages: readonly unknown[],
  place: { source: string; run: number },
  isError: IsError,
): Pick<RecordedRun, 'items' | 'calls' | 'systemPrompt' | 'userPrompt'> {
  if (messages.length === 0) throw new RecordingError(place, 'the conversation has no messages. Remove it.')
  const builder = new RunBuilder()
  for (const [index, message] of messages.entries()) {
    addMessage(builder, message, { ...place, message: index }, isError)
  }
  const { items, calls } = builder
  return { ...prompts(items), items, calls }
}

/** The first system and user texts. */
export function prompts(items: readonly RecordedItem[]): Pick<RecordedRun, 'systemPrompt' | 'userPrompt'> {
  const first = (kind: RecordedItem['kind']) =>
    items.find((item) => item.kind === kind && item.content !== null)?.content ?? undefined
  return defined({ systemPrompt: first('system'), userPrompt: first('user') })
}

function addMessage(builder: RunBuilder, message: unknown, place: RecordingPlace, isError: IsError): void {
  if (!isRecord(message))
    throw new RecordingError(place, `expected a chat message, got ${describeValue(message)}.`)
  const { role } = message
  switch (role) {
    case 'system':
    case 'developer': {
      const text = textOf(message.content, place)
      if (text.content === null) throw new RecordingError(place, `a ${role} message needs \`content\`.`)
      builder.add({
        kind: 'system',
        role,
        content: text.content,
        origin: originOf(message, { role, ...text.known }),
      })
      return
    }
    case 'user': {
      const { content, known } = textOf(message.content, place)
      builder.add({ kind: 'user', content, calls: [], origin: originOf(message, { role, ...known }) })
      return
    }
    case 'assistant':
      addAssistant(builder, message, place)
      return
    case 'tool':
      addToolResult(builder, message, place, isError)
      return
    case 'function':
      throw new RecordingError(
        place,
        'role "function" is outdated. Write it as role "tool" with a `tool_call_id`.',
      )
    default:
      throw new RecordingError(
        place,
        `expected \`role\` to be system, developer, user, assistant or tool, got ${describeValue(role)}.`,
      )
  }
}

function addAssistant(builder: RunBuilder, message: Fields, place: RecordingPlace): void {
  if (message.function_call) {
    throw new RecordingError(
      place,
      '`function_call` is outdated. Write it as an entry of `tool_calls` with an `id`.',
    )
  }
  const { content, known } = textOf(message.content, place)
  const reasoning = typeof message.reasoning_content === 'string' ? message.reasoning_content : undefined
  const toolCalls = message.tool_calls ?? []
  if (!Array.isArray(toolCalls)) {
    throw new RecordingError(place, `expected \`tool_calls\` to be a list, got ${describeValue(toolCalls)}.`)
  }
  const calls = builder.addCalls(toolCalls.map((call, index) => parseCall(call, index, place)))
  builder.add({
    kind: 'assistant',
    content,
    ...defined({ reasoning }),
    calls,
    origin: originOf(message, {
      role: 'assistant',
      ...known,
      ...defined({ reasoning_content: reasoning }),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    }),
  })
}

export function parseCall(call: unknown, index: number, place: RecordingPlace): Omit<RecordedCall, 'index'> {
  const what = `tool_calls[${index}]`
  if (!isRecord(call) || !isRecord(call.function)) {
    throw new RecordingError(place, `expected \`${what}\` to be a function call, got ${describeValue(call)}.`)
  }
  const id = expectString(call.id, `\`${what}.id\``, place)
  const name = expectString(call.function.name, `\`${what}.function.name\``, place)
  const argumentsText = expectString(call.function.arguments, `\`${what}.function.arguments\``, place)
  // The order of the inner keys is part of how it was written, so the inner object is kept as an origin too.
  const inner = originOf(call.function, { name, arguments: argumentsText })
  const outer = originOf(call, { id, function: inner })
  return {
    ...{ id, name, argumentsText, args: jsonIn(argumentsText), madeBy: 'assistant' },
    origin: { keys: outer.keys, extra: { ...outer.extra, function: inner } },
  }
}

function addToolResult(builder: RunBuilder, message: Fields, place: RecordingPlace, isError: IsError): void {
  const id = expectString(message.tool_call_id, '`tool_call_id`', place)
  const content = textOf(message.content, place).content ?? ''
  builder.addResult(id, place, (call) => ({
    name: call.name,
    madeBy: 'assistant',
    content,
    isError: isError(content),
    origin: originOf(message, {
      ...{ role: 'tool', tool_call_id: id },
      ...(message.content === content ? { content } : {}),
      ...(message.name === call.name ? { name: call.name } : {}),
    }),
  }))
}

/** Text of a message. Parts and a missing text are kept in the origin, since our text says less than they do. */
export function textOf(content: unknown, place: RecordingPlace): { content: string | null; known: Fields } {
  if (typeof content === 'string') return { content, known: { content } }
  if (content === null) return { content, known: { content } }
  if (content === undefined) return { content: null, known: {} }
  if (!Array.isArray(content) || !content.every(isRecord)) {
    throw new RecordingError(
      place,
      `expected \`content\` to be a string, null or a list of parts, got ${describeValue(content)}.`,
    )
  }
  return {
    content: content.map((part) => (typeof part.text === 'string' ? part.text : '')).join(''),
    known: {},
  }
}

/** The message as it was recorded. */
export function restoreChatMessage(item: RecordedItem): unknown {
  switch (item.kind) {
    case 'system':
      return rebuild(item.origin, { role: item.role, content: item.content })
    case 'user':
      return rebuild(item.origin, { role: 'user', content: item.content })
    case 'code':
      throw new TypeError('Chat messages hold no calls of code.')
    case 'assistant':
      return rebuild(item.origin, {
        role: 'assistant',
        content: item.content,
        reasoning_content: item.reasoning,
        tool_calls: item.calls.map(restoreCall),
      })
    case 'toolResult':
      return rebuild(item.origin, {
        role: 'tool',
        tool_call_id: item.toolCallId,
        name: item.name,
        content: item.content,
      })
  }
}

function restoreCall({ id, name, argumentsText, origin }: RecordedCall): unknown {
  const { function: inner, ...extra } = origin.extra
  const call = rebuild(inner as RecordedCall['origin'], { name, arguments: argumentsText })
  return rebuild({ keys: origin.keys, extra }, { id, function: call })
}
