import type { MessagePart } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { oneLine } from '../../internal/short-text.ts'
import { asObject, asText, type Loose } from '../../wire/reading.ts'
import { requestContent } from '../../wire/request.ts'
import { parse } from './span-calls.ts'
import type { TrajectoryCall, TrajectoryOutcome } from './types.ts'

/**
 * The tool calls of a conversation, in the messages or items of any API.
 *
 * @throws HookspanError `TRAJECTORY_UNREADABLE` where a call may be in what nobody has a shape for.
 */
export function callsOfMessages(messages: readonly unknown[]): TrajectoryCall[] {
  const items = messages.map(withAnswer)
  const parts = requestContent({ messages: items }).messages.flatMap((message, index) => {
    assertRead(items[index], message.parts)
    return message.parts
  })
  const left = parts.filter(({ type }) => /^(server_)?tool_call_response$/.test(type))
  return parts.flatMap((part) => {
    if (part.type !== 'tool_call' && part.type !== 'server_tool_call') return []
    const { id = '', name, server_tool_call: run } = part as Loose
    // Ids repeat in real conversations: the first answer of an id belongs to its first call.
    const at = left.findIndex((answer) => (answer.id ?? '') === id)
    const answer = at < 0 ? undefined : left.splice(at, 1)[0]
    return {
      name: String(name),
      args: run === undefined ? parse(part.arguments) : asObject(run)?.arguments,
      toolCallId: String(id),
      ...(answer ? readAnswer(answer) : { outcome: 'unknown' as const }),
    }
  })
}

/** What the dispatcher tells a model says how the call ended. */
function readAnswer({ response: content, server_tool_call_response: ran }: Loose): {
  outcome: TrajectoryOutcome
  result: unknown
  code?: string
  reason?: string
} {
  if (ran !== undefined) {
    const { result, error } = asObject(ran) ?? {}
    return error === undefined ? { outcome: 'completed', result } : { outcome: 'errored', result: error }
  }
  const result = parse(content)
  if (typeof content === 'string' && content.startsWith('Error: '))
    return { outcome: 'errored', result: content }
  if (typeof result === 'object' && result !== null) {
    const { denied, rejected, code, reason } = result as Loose
    if ((denied === true || rejected === true) && typeof code === 'string') {
      return { outcome: denied === true ? 'denied' : 'rejected', result, code, reason: String(reason) }
    }
  }
  return { outcome: 'completed', result }
}

/** The Agents SDK has a name of its own for what a tool gave. */
function withAnswer(item: unknown): unknown {
  const { type, callId: call_id, output, ...more } = asObject(item) ?? {}
  if (type === 'function_call') return { call_id, ...(item as Loose) }
  if (type !== 'function_call_result') return item
  const told = asObject(output)
  return {
    ...more,
    type: 'function_call_output',
    call_id,
    output: told?.type === 'text' ? told.text : output,
  }
}

/** Read as no call, what an agent did would be what it has not done. */
function assertRead(item: unknown, parts: readonly MessagePart[]): void {
  const message = asObject(item)
  if (message === undefined) return
  const { role, type, content } = message
  const isMessage = typeof role === 'string' || type === 'message' || Array.isArray(message.parts)
  const isUnknown = isMessage
    ? hasUnknownCalls(message) || (asObject(content) !== undefined && message.parts === undefined)
    : type === undefined
  const unread = parts.find(
    (part) => !READ.test(part.type) && !(isMessage ? saysNoCall(part) : HARMLESS.test(part.type)),
  )
  if (!isUnknown && unread === undefined) return
  const shape = isUnknown ? oneLine(Object.keys(message).join(', '), 100) : (unread?.type ?? '')
  throw new HookspanError(
    'TRAJECTORY_UNREADABLE',
    `Expected chat messages, got one with a shape that is not known (${shape}): a call in it would be missed. ` +
      'Give the `trace` fixture, or recordEvents(dispatcher), which has the calls of every SDK.',
  )
}

/** The words of the conventions. */
const READ =
  /^(text|reasoning|refusal|blob|uri|file|tool_call|tool_call_response|server_tool_call|server_tool_call_response)$/
/** Items of their own, in which no call is. */
const HARMLESS = /^(item_reference|compaction\w*|mcp_approval_\w+)$/

function saysNoCall(part: MessagePart): boolean {
  if (/approval/.test(part.type)) return true
  return ![part.type, ...Object.keys(part)].some((word) => /tool|function|call/i.test(word))
}

/** Beside the content of a message. */
function hasUnknownCalls(message: Loose): boolean {
  const { tool_calls, ...more } = message
  const isKnown = (call: unknown) => asText(nameOf(asObject(call))) !== undefined
  if (Array.isArray(tool_calls) && !tool_calls.every(isKnown)) return true
  return ['toolCalls', 'toolInvocations', 'function_call', 'functionCall'].some((key) => {
    const calls = more[key]
    return Array.isArray(calls) ? calls.length > 0 : asObject(calls) !== undefined
  })
}

function nameOf(call: Loose = {}): unknown {
  return (asObject(call.function) ?? asObject(call.custom))?.name
}
