import type { ParkedOperation } from '../../dispatcher/index.ts'
import { asObjects } from '../../wire/reading.ts'

/**
 * The messages of a parked run, with the answer that the SDK waits for before it asks about a call again. Whether it
 * may be run is said then, by the gates and humans that were asked. What the user answered stays.
 */
export function answerWaiting(messages: unknown, { waiting = [] }: ParkedOperation): unknown {
  if (!Array.isArray(messages)) return messages
  const parts = asObjects(messages).flatMap(({ content }) => asObjects(content))
  const answered = new Set(
    parts.filter(({ type }) => type === 'tool-approval-response').map(({ approvalId }) => approvalId),
  )
  const responses = parts
    .filter(({ type, toolCallId }) => type === 'tool-approval-request' && isWaiting(waiting, toolCallId))
    .filter(({ approvalId }) => !answered.has(approvalId))
    .map(({ approvalId }) => ({ type: 'tool-approval-response', approvalId, approved: true }))
  return responses.length === 0 ? messages : [...messages, { role: 'tool', content: responses }]
}

function isWaiting(waiting: NonNullable<ParkedOperation['waiting']>, toolCallId: unknown): boolean {
  return waiting.some((call) => call.toolCallId === toolCallId && call.request !== undefined)
}
