import { asObject, type Loose } from '../../wire/reading.ts'
import { requestContent } from '../../wire/request.ts'
import { parse } from './span-calls.ts'
import type { TrajectoryCall, TrajectoryOutcome } from './types.ts'

/** The tool calls of a conversation, in the messages or items of any API. */
export function callsOfMessages(messages: readonly unknown[]): TrajectoryCall[] {
  const parts = requestContent({ messages }).messages.flatMap((message) => message.parts)
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
