import type { Refusal } from '../gates/chain.ts'
import type { ToolCallContext, ToolCallOutcome } from '../hooks/index.ts'
import { errorMessage, errorType } from '../internal/errors.ts'
import { toContent } from '../internal/json.ts'
import type { OperationCore } from './operation-core.ts'
import type { Scopes } from './scopes.ts'
import {
  errorContent,
  erroredOutcome,
  refusalContent,
  refusedOutcome,
  resultOutcome,
  type ToolOutcome,
  ToolResult,
} from './tool-outcome.ts'

/** How a tool call ends: what its caller gets, and what is told of it. */
export interface ToolEnding<R> {
  readonly outcome: ToolOutcome<R>
  /** What the model is told. */
  readonly content: string
  readonly success: boolean
  readonly mocked: boolean
}

/** What stood in for the tool, and by which of its rules. */
export interface MockOrigin {
  readonly source: string
  readonly rule?: string
}

/** A value came back. May throw when the value is so hostile that looking at it throws. */
export function returnedEnding<R>(
  state: 'completed' | 'mocked' | 'skipped',
  toolCallId: string,
  value: R,
): ToolEnding<R> {
  const mocked = state === 'mocked'
  if (value instanceof ToolResult) {
    const { content, success, data } = value
    return { outcome: resultOutcome(state, data as R, toolCallId, content), content, success, mocked }
  }
  const outcome = resultOutcome(state, value, toolCallId)
  return { outcome, content: toContent(value), success: !saysFailure(value), mocked }
}

/** A gate or a human refused. */
export function refusedEnding<R>(toolCallId: string, refusal: Refusal): ToolEnding<R> {
  const outcome = refusedOutcome<R>(refusal, toolCallId)
  return { outcome, content: refusalContent(refusal), success: false, mocked: false }
}

/** The tool, or its stand-in, threw. */
export function erroredEnding<R>(toolCallId: string, error: unknown, mocked: boolean): ToolEnding<R> {
  const outcome = erroredOutcome<R>(error, toolCallId)
  return { outcome, content: errorContent(error), success: false, mocked }
}

/** Tells the hooks and the instruments. */
export function reportToolEnd<R>(
  core: OperationCore,
  scopes: Scopes,
  call: ToolCallContext & { readonly stepIndex?: number },
  { outcome, content, success, mocked }: ToolEnding<R>,
  { executionTimeMs, origin }: { executionTimeMs: number; origin: MockOrigin | undefined },
): void {
  const stoodIn = origin && {
    mockSource: origin.source,
    ...(origin.rule !== undefined && { mockRule: origin.rule }),
  }
  const refused = 'code' in outcome ? { code: outcome.code, reason: outcome.reason } : undefined
  if (outcome.state === 'errored') {
    const { error } = outcome
    core.emit('onToolCallError', {
      ...call,
      error,
      errorType: errorType(error),
      errorMessage: errorMessage(error),
      mocked,
      ...stoodIn,
      executionTimeMs,
    })
  } else {
    core.emit('afterToolCall', {
      ...call,
      content,
      ...('result' in outcome && { result: outcome.result }),
      success,
      mocked,
      ...stoodIn,
      outcome: outcome.state as ToolCallOutcome,
      ...refused,
      executionTimeMs,
    })
  }
  scopes.end(
    {
      outcome: outcome.state as ToolCallOutcome,
      args: call.args,
      content,
      success,
      mocked,
      ...('result' in outcome && { result: outcome.result }),
      ...(outcome.state === 'errored' && { error: outcome.error }),
      ...(refused && { code: refused.code, refusal: refused.reason }),
    },
    core.timestamp,
  )
}

/** The MCP and the plain convention of a result that reports a failure. */
function saysFailure(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { isError?: unknown }).isError === true
}
