import type { ParkedOperation } from '../../dispatcher/index.ts'
import { isRecord } from '../../internal/objects.ts'
import { asObject, asObjects } from '../../wire/reading.ts'

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

export interface RefusedCall {
  readonly toolName: string
  readonly input: unknown
  readonly toolCallId: string
  readonly reason?: string
}

/** The calls that a human has refused in the last message, and that have no result. */
export function refusedIn(messages: unknown): RefusedCall[] {
  const all = asObjects(messages)
  const last = all.at(-1)
  if (last?.role !== 'tool') return []
  const parts = all.flatMap(({ content }) => asObjects(content))
  const ended = new Set(parts.filter(isResult).map(({ toolCallId }) => toolCallId))
  const seen = new Set<unknown>()
  return asObjects(last.content)
    .filter(({ type, approved }) => type === 'tool-approval-response' && approved === false)
    .flatMap(({ approvalId, reason }) => {
      const asked = parts.findLast(
        (part) => part.type === 'tool-approval-request' && part.approvalId === approvalId,
      )
      const id = asked?.toolCallId
      const call = parts.findLast(({ type, toolCallId }) => type === 'tool-call' && toolCallId === id)
      if (typeof id !== 'string' || typeof call?.toolName !== 'string') return []
      if (call.providerExecuted === true || ended.has(id) || seen.has(id)) return []
      seen.add(id)
      const { toolName, input } = call
      return [{ toolName, input, toolCallId: id, ...(typeof reason === 'string' && { reason }) }]
    })
}

/** What the client gave for a call of a parked run that it was to run. */
export interface ClientResult {
  readonly toolName: string
  readonly input: unknown
  readonly toolCallId: string
  readonly output: Record<string, unknown>
}

/** Of the calls that wait, those whose results are in the messages. */
export function returnedIn(messages: unknown, { waiting = [] }: ParkedOperation): ClientResult[] {
  const parts = asObjects(messages).flatMap(({ content }) => asObjects(content))
  return waiting
    .filter(({ kind }) => kind === undefined)
    .flatMap(({ toolCallId, apiName: toolName }) => {
      const isIts = (part: Record<string, unknown>) =>
        part.toolCallId === toolCallId && part.toolName === toolName
      // A model may repeat an id: what came of the call before is no result of this one.
      const at = parts.findLastIndex((part) => part.type === 'tool-call' && isIts(part))
      const result = parts.slice(at + 1).find((part) => isResult(part) && isIts(part))
      const output = asObject(result?.output)
      return at < 0 || output === undefined ? [] : [{ toolName, input: parts[at]?.input, toolCallId, output }]
    })
}

/** The messages, with other outputs for the last results of these calls. */
export function withOutputs(messages: unknown, outputs: ReadonlyMap<unknown, object>): unknown[] {
  const left = new Map(outputs)
  const changed = asObjects(messages)
    .toReversed()
    .map((message) => {
      if (message.role !== 'tool') return message
      const content = asObjects(message.content).map((part) => {
        const output = part.type === 'tool-result' ? left.get(part.toolCallId) : undefined
        if (output !== undefined) left.delete(part.toolCallId)
        return output === undefined ? part : { ...part, output }
      })
      return { ...message, content }
    })
  return changed.toReversed()
}

/** Of what was refused there may be one that says only that. */
function isResult({ type, output }: Record<string, unknown>): boolean {
  return type === 'tool-result' && !(isRecord(output) && output.type === 'execution-denied')
}
