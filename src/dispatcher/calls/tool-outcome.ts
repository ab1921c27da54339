import type { ApprovalRequest } from '../../gates/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { a, assertFields, type Fields, required } from '../../internal/expect.ts'
import { safeStringify, toContent } from '../../internal/json.ts'

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

const RESULT: Fields<{ content: string; success?: boolean; data?: unknown }> = {
  content: required(a.string),
  success: a.boolean,
  data: a.value,
}

/** The same for all copies of this file in a process: a tool may come from a package that brings a hookspan of its own. */
const TOOL_RESULT = Symbol.for('hookspan: a ToolResult')

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

  /** @throws HookspanError `INVALID_OPTION` for a field that it does not have, or that is not what it has to be. */
  constructor(fields: { content: string; success?: boolean; data?: R }) {
    assertFields<{ content: string; success?: boolean; data?: unknown }>(fields, RESULT, 'a ToolResult')
    this.content = fields.content
    this.success = fields.success ?? true
    this.data = Object.hasOwn(fields, 'data') ? (fields.data as R) : fields.content
    // Not to be seen, nor copied into another object.
    Object.defineProperty(this, TOOL_RESULT, { value: true })
  }
}

/** Whether it is a {@link ToolResult}, of whichever copy of hookspan: what it tells of a failure would be told as a success. */
export function hasWords(value: unknown): value is ToolResult {
  return (
    value instanceof ToolResult ||
    (typeof value === 'object' && value !== null && Object.hasOwn(value, TOOL_RESULT))
  )
}

/** Outcomes whose own fields are just their data. What the model is told is made when it is asked for, once. */
abstract class Outcome {
  readonly #toolCallId: string
  #content: string | undefined

  constructor(toolCallId: string, content?: string) {
    this.#toolCallId = toolCallId
    this.#content = content
  }

  /** See {@link contentOf}. */
  static content(outcome: Outcome): string {
    outcome.#content ??= outcome.describe()
    return outcome.#content
  }

  protected abstract describe(): string

  toToolMessage(): ToolMessage {
    return { role: 'tool', tool_call_id: this.#toolCallId, content: Outcome.content(this) }
  }
}

class ResultOutcome<R> extends Outcome {
  readonly state: 'completed' | 'mocked' | 'skipped'
  readonly result: R
  readonly #words: string | undefined
  readonly #fails: boolean

  constructor(
    state: ResultOutcome<R>['state'],
    result: R,
    toolCallId: string,
    content?: string,
    fails = false,
  ) {
    super(toolCallId, content)
    this.state = state
    this.result = result
    this.#words = content
    this.#fails = fails
  }

  /** See {@link tellsFailure}. */
  static fails(outcome: object): boolean {
    return #fails in outcome && outcome.#fails
  }

  /** See {@link wordsOf}. */
  static words(outcome: object): string | undefined {
    return #words in outcome ? outcome.#words : undefined
  }

  protected describe(): string {
    return toContent(this.result)
  }
}

class ErroredOutcome extends Outcome {
  readonly state = 'errored'
  readonly error: unknown
  readonly #mocked: boolean

  constructor(error: unknown, toolCallId: string, mocked: boolean) {
    super(toolCallId)
    this.error = error
    this.#mocked = mocked
  }

  /** See {@link isMockedFailure}. */
  static isMocked(outcome: object): boolean {
    return #mocked in outcome && outcome.#mocked
  }

  protected describe(): string {
    return errorContent(this.error)
  }
}

class RefusedOutcome extends Outcome {
  readonly state: 'denied' | 'rejected'
  readonly code: string
  readonly reason: string
  declare readonly stop?: true

  constructor(refusal: Refused, toolCallId: string) {
    super(toolCallId)
    this.state = refusal.kind === 'deny' ? 'denied' : 'rejected'
    this.code = refusal.code
    this.reason = refusal.reason
    if (refusal.stop) this.stop = true
  }

  protected describe(): string {
    const { state, code, reason } = this
    return refusalContent({ kind: state === 'denied' ? 'deny' : 'reject', code, reason })
  }
}

class WaitingOutcome extends Outcome {
  readonly state = 'waiting'
  declare readonly request?: ApprovalRequest

  constructor(request: ApprovalRequest | undefined, toolCallId: string) {
    super(toolCallId)
    if (request !== undefined) this.request = request
  }

  protected describe(): string {
    return safeStringify({ waiting: 'human', ...(this.request && { requestId: this.request.id }) })
  }
}

interface Refused {
  kind: 'deny' | 'reject'
  code: string
  reason: string
  stop: boolean
}

/** What the model is told of a call. */
export function contentOf(outcome: ToolOutcome): string {
  return Outcome.content(outcome as unknown as Outcome)
}

/** `content`: what the model is told, where that is not the result itself. `fails`: the tool says so of itself. */
export function resultOutcome<R>(
  state: 'completed' | 'mocked' | 'skipped',
  result: R,
  toolCallId: string,
  content?: string,
  fails?: boolean,
): ToolOutcome<R> {
  return new ResultOutcome(state, result, toolCallId, content, fails)
}

export function erroredOutcome<R>(error: unknown, toolCallId: string, mocked = false): ToolOutcome<R> {
  return new ErroredOutcome(error, toolCallId, mocked)
}

/** What the model is to be told in the place of the result, where a mock, a gate or the tool says it in other words. */
export function wordsOf(outcome: ToolOutcome): string | undefined {
  const words = ResultOutcome.words(outcome)
  return words !== undefined && 'result' in outcome && words !== toContent(outcome.result) ? words : undefined
}

/** What came of a call, for an SDK that knows one thing only of it: the words for the model, or where there are none the result. */
export function saidOf(outcome: ToolOutcome): unknown {
  return 'result' in outcome ? (wordsOf(outcome) ?? outcome.result) : outcome.toToolMessage().content
}

/**
 * Whether a result is one that says that the tool failed (`success: false`), whoever gave it: an SDK that has a mark for failed
 * tools sets it.
 */
export function tellsFailure(outcome: ToolOutcome): boolean {
  return ResultOutcome.fails(outcome)
}

/** Whether a mock said that the tool throws: an SDK whose tools tell their failures is told so, and throws nothing. */
export function isMockedFailure(outcome: ToolOutcome): boolean {
  return ErroredOutcome.isMocked(outcome)
}

export function refusedOutcome<R>(refusal: Refused, toolCallId: string): ToolOutcome<R> {
  return new RefusedOutcome(refusal, toolCallId)
}

export function waitingOutcome<R>(request: ApprovalRequest | undefined, toolCallId: string): ToolOutcome<R> {
  return new WaitingOutcome(request, toolCallId)
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
