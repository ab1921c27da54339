import { parse } from './span-calls.ts'
import type { TrajectoryCall, TrajectoryOutcome } from './types.ts'

type Loose = Record<string, unknown>

interface Asked {
  readonly id: string
  readonly name: string
  readonly args: unknown
}

/** The tool calls of a conversation: chat completions messages, or items of the responses API. */
export function callsOfMessages(messages: readonly unknown[]): TrajectoryCall[] {
  const asked: Asked[] = []
  const answers: { id: string; content: unknown }[] = []
  for (const message of messages as Loose[]) {
    if (message?.type === 'function_call') {
      asked.push({ id: String(message.call_id), name: String(message.name), args: parse(message.arguments) })
    } else if (message?.type === 'custom_tool_call') {
      asked.push({ id: String(message.call_id), name: String(message.name), args: message.input })
    } else if (message?.type === 'function_call_output' || message?.type === 'custom_tool_call_output') {
      answers.push({ id: String(message.call_id), content: message.output })
    } else if (message?.role === 'tool') {
      answers.push({ id: String(message.tool_call_id), content: message.content })
    }
    for (const call of (Array.isArray(message?.tool_calls) ? message.tool_calls : []) as Loose[]) {
      const fn = (call.function ?? call.custom ?? call) as Loose
      const args = call.custom === undefined ? parse(fn.arguments ?? fn.args) : fn.input
      asked.push({ id: String(call.id), name: String(fn.name), args })
    }
  }
  // Ids repeat in real conversations: the first answer of an id belongs to its first call.
  const left = [...answers]
  return asked.map(({ id, name, args }) => {
    const at = left.findIndex((answer) => answer.id === id)
    const answer = at < 0 ? undefined : left.splice(at, 1)[0]
    return {
      name,
      args,
      toolCallId: id,
      ...(answer ? readAnswer(answer.content) : { outcome: 'unknown' as const }),
    }
  })
}

/** What the dispatcher tells a model says how the call ended. */
function readAnswer(content: unknown): {
  outcome: TrajectoryOutcome
  result: unknown
  code?: string
  reason?: string
} {
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
