import { contentOf } from '../dispatcher/calls/tool-outcome.ts'
import type { ToolCallInit, ToolOutcome, ToolRunContext } from '../dispatcher/index.ts'
import { errorMessage } from '../internal/errors.ts'
import { a, assertFields, type Fields, required } from '../internal/expect.ts'
import { defined } from '../internal/objects.ts'
import { fromKept, toKept } from './loop/kept-json.ts'

/** A tool call, and what runs it. */
export interface DurableToolCall<A = unknown>
  extends Omit<
    ToolCallInit<A>,
    'onProgress' | 'outlastsAbort' | 'parkable' | 'mockable' | 'asksFirst' | 'refused' | 'failed' | 'permit'
  > {
  /** As a tool's function in a step; what it gives is JSON. Gets an `idempotencyKey`. */
  run(args: A, context: ToolRunContext): unknown
}

/** How a call ended, as JSON. */
export interface CallOutcome {
  readonly state: 'completed' | 'mocked' | 'skipped' | 'errored' | 'denied' | 'rejected'
  /** What the model is to be told. */
  readonly content: string
  /** Where it ran, or something stood in. */
  readonly result?: unknown
  readonly error?: string
  readonly code?: string
  readonly reason?: string
}

const CALL: Fields<DurableToolCall> = {
  toolCallId: a.string,
  identifier: a.string,
  apiName: required(a.name),
  args: a.value,
  source: a.string,
  description: a.string,
  inputSchema: a.value,
  outputSchema: a.value,
  idempotent: a.boolean,
  run: required(a.function),
}

/** @throws HookspanError `INVALID_CALL`. */
export function assertCalls(calls: readonly DurableToolCall[]): void {
  for (const call of calls) assertFields<DurableToolCall>(call, CALL, 'a tool call', 'INVALID_CALL')
}

/** Of a durable run, in which no call is left waiting. */
export function callOutcome(outcome: ToolOutcome): CallOutcome {
  const content = contentOf(outcome)
  switch (outcome.state) {
    case 'errored':
      return { state: outcome.state, content, error: errorMessage(outcome.error) }
    case 'denied':
    case 'rejected':
      return { state: outcome.state, content, code: outcome.code, reason: outcome.reason }
    case 'waiting':
      return { state: 'errored', content, error: 'The call waits for a human.' }
    default: {
      const result = fromKept(toKept(outcome.result))
      return { state: outcome.state, content, ...defined({ result }) }
    }
  }
}
