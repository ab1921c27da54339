import type { ApprovalRequest } from '../gates/index.ts'
import type { ToolCallOutcome } from '../hooks/index.ts'
import { errorMessage } from '../internal/errors.ts'
import { safeStringify, toContent } from '../internal/json.ts'

/** A tool message of the chat completions API; other APIs take `tool_call_id` and `content` apart. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly tool_call_id: string
  readonly content: string
}

interface ToMessage {
  /** What the model is to be told: the result, the error, or why the call did not happen. */
  toToolMessage(): ToolMessage
}

/** How a tool call ended. Never a throw for what the tool did. */
export type ToolOutcome<R = unknown> =
  | ({ readonly state: 'completed' | 'mocked' | 'skipped'; readonly result: R } & ToMessage)
  | ({ readonly state: 'errored'; readonly error: unknown } & ToMessage)
  | ({
      readonly state: 'denied' | 'rejected'
      readonly code: string
      readonly reason: string
      /** True when the run is to end with this call. */
      readonly stop?: true
    } & ToMessage)
  /** The approver parked the run: end it with `op.park()`, and resume it once the request is answered. */
  | ({ readonly state: 'waiting'; readonly request?: ApprovalRequest } & ToMessage)

/**
 * A result that says more than its value: what the model is told, and whether the tool failed. Return it from a
 * tool, or give the same fields to `event.mock()`.
 */
export class ToolResult<R = unknown> {
  /** What the model is told. */
  readonly content: string
  /** False when the tool did its work and reports a failure. @default true */
  readonly success: boolean
  /** What the caller gets as the result; the content when absent. */
  readonly data: R | string

  constructor(fields: { content: string; success?: boolean; data?: R }) {
    this.content = fields.content
    this.success = fields.success ?? true
    this.data = fields.data === undefined ? fields.content : fields.data
  }
}

/** Builds outcomes whose own fields are just their data, with the message as a method of the prototype. */
class Outcome {
  readonly state: ToolCallOutcome | 'waiting'
  readonly #toolCallId: string
  readonly #content: () => string

  constructor(fields: { state: ToolCallOutcome | 'waiting' }, toolCallId: string, content: () => string) {
    this.state = fields.state
    Object.assign(this, fields)
    this.#toolCallId = toolCallId
    this.#content = content
  }

  toToolMessage(): ToolMessage {
    return { role: 'tool', tool_call_id: this.#toolCallId, content: this.#content() }
  }
}

export function resultOutcome<R>(
  state: 'completed' | 'mocked' | 'skipped',
  result: R,
  toolCallId: string,
  content?: string,
): ToolOutcome<R> {
  return new Outcome(
    { state, result } as never,
    toolCallId,
    () => content ?? toContent(result),
  ) as unknown as ToolOutcome<R>
}

export function erroredOutcome<R>(error: unknown, toolCallId: string): ToolOutcome<R> {
  const outcome = new Outcome({ state: 'errored', error } as never, toolCallId, () => errorContent(error))
  return outcome as unknown as ToolOutcome<R>
}

export function refusedOutcome<R>(
  refusal: { kind: 'deny' | 'reject'; code: string; reason: string; stop: boolean },
  toolCallId: string,
): ToolOutcome<R> {
  const { code, reason, stop } = refusal
  const state = refusal.kind === 'deny' ? 'denied' : 'rejected'
  const fields = { state, code, reason, ...(stop && { stop }) }
  return new Outcome(fields as never, toolCallId, () => refusalContent(refusal)) as unknown as ToolOutcome<R>
}

export function waitingOutcome<R>(request: ApprovalRequest | undefined, toolCallId: string): ToolOutcome<R> {
  const content = () => safeStringify({ waiting: 'human', ...(request && { requestId: request.id }) })
  const fields = { state: 'waiting', ...(request && { request }) }
  return new Outcome(fields as never, toolCallId, content) as unknown as ToolOutcome<R>
}

/** What the model is told of a call that did not happen. */
export function refusalContent(refusal: { kind: 'deny' | 'reject'; code: string; reason: string }): string {
  const { code, reason } = refusal
  return safeStringify(
    refusal.kind === 'deny' ? { denied: true, code, reason } : { rejected: true, code, reason },
  )
}

/** What the model is told of a tool that threw. */
export function errorContent(error: unknown): string {
  return `Error: ${errorMessage(error)}`
}
