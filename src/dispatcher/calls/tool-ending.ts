import type { Refusal } from '../../gates/chain.ts'
import type { ToolCallContext, ToolCallOutcome } from '../../hooks/index.ts'
import { errorMessage, errorType } from '../../internal/errors.ts'
import { saysFailure } from '../../internal/json.ts'
import type { ToolEnd } from '../plugins/instrument.ts'
import type { Bracket } from '../run/bracket.ts'
import type { OperationCore } from '../run/operation-core.ts'
import {
  contentOf,
  erroredOutcome,
  hasWords,
  refusedOutcome,
  resultOutcome,
  type ToolOutcome,
  type ToolResult,
} from './tool-outcome.ts'

/** How a tool call ends: what its caller gets, and what is told of it. */
export interface ToolEnding<R> {
  readonly outcome: ToolOutcome<R>
  readonly success: boolean
  readonly mocked: boolean
  /** The result with what the tool says of it, where it says that. */
  readonly told?: ToolResult
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
  if (hasWords(value)) {
    const { content, success, data } = value
    const outcome = resultOutcome(state, data as R, toolCallId, content, !success)
    return { outcome, success, mocked, told: value }
  }
  return { outcome: resultOutcome(state, value, toolCallId), success: !saysFailure(value), mocked }
}

/** A gate or a human refused. */
export function refusedEnding<R>(toolCallId: string, refusal: Refusal): ToolEnding<R> {
  return { outcome: refusedOutcome<R>(refusal, toolCallId), success: false, mocked: false }
}

/** The tool, or its stand-in, threw. */
export function erroredEnding<R>(toolCallId: string, error: unknown, mocked: boolean): ToolEnding<R> {
  return { outcome: erroredOutcome<R>(error, toolCallId, mocked), success: false, mocked }
}

/** Tells the hooks. Gives how the activity ends. */
export function toldToolEnd<R>(
  core: OperationCore,
  call: ToolCallContext,
  ending: ToolEnding<R>,
  run: ToolRun,
  origin: MockOrigin | undefined,
): ToolEnd {
  const { outcome, success, mocked } = ending
  const shared = () => ({
    ...call,
    ...run.where,
    ...run.decidedBy,
    mocked,
    ...(origin && { mockSource: origin.source }),
    ...(origin?.rule !== undefined && { mockRule: origin.rule }),
    executionTimeMs: run.elapsedMs,
  })
  if (outcome.state === 'errored') {
    const { error } = outcome
    core.tell('onToolCallError', () => {
      return { ...shared(), error, errorType: errorType(error), errorMessage: errorMessage(error) }
    })
  } else {
    core.tell('afterToolCall', () => ({
      ...shared(),
      content: contentOf(outcome),
      ...('result' in outcome && { result: outcome.result }),
      success,
      outcome: outcome.state as ToolCallOutcome,
      ...('code' in outcome && { code: outcome.code, reason: outcome.reason }),
    }))
  }
  return new ToolActivityEnd(call.args, ending)
}

/** What a call's end is told with. */
type ToolRun = Pick<Bracket<ToolEnd>, 'where' | 'decidedBy' | 'elapsedMs'>

/** The end of a call as tracers see it. Its text is made only for those who capture content. */
class ToolActivityEnd implements ToolEnd {
  readonly kind = 'tool'
  readonly outcome: ToolCallOutcome
  readonly args: unknown
  readonly success: boolean
  readonly mocked: boolean
  declare readonly result?: unknown
  declare readonly error?: unknown
  declare readonly code?: string
  declare readonly refusal?: string
  readonly #outcome: ToolOutcome

  constructor(args: unknown, { outcome, success, mocked }: ToolEnding<unknown>) {
    this.outcome = outcome.state as ToolCallOutcome
    this.args = args
    this.success = success
    this.mocked = mocked
    if ('result' in outcome) this.result = outcome.result
    if ('error' in outcome) this.error = outcome.error
    if ('code' in outcome) {
      this.code = outcome.code
      this.refusal = outcome.reason
    }
    this.#outcome = outcome
  }

  get content(): string {
    return contentOf(this.#outcome)
  }
}
