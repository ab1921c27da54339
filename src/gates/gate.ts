import { describeValue, HookspanError } from '../internal/errors.ts'
import type { Decision } from './decision.ts'

/** The moments at which a gate may decide. */
export const GATE_POINTS = [
  'onStart',
  'beforeLlmCall',
  'afterLlmCall',
  'beforeToolCall',
  'afterToolCall',
  'beforeCallAgent',
  'beforeCompact',
  'afterStep',
  'beforeComplete',
] as const

export type GatePoint = (typeof GATE_POINTS)[number]

/** What a gate is told. It is the gate's own copy: editing it changes nothing. */
export interface GateContext {
  readonly point: GatePoint
  readonly operationId: string
  readonly rootOperationId: string
  readonly parentOperationId?: string
  readonly agentName?: string
  readonly agentId?: string
  readonly userId?: string
  readonly conversationId?: string
  readonly stepIndex?: number
  /** Tool points only: where the tool lives and what it is called. */
  readonly identifier?: string
  readonly apiName?: string
  readonly toolCallId?: string
  /** Model points only. */
  readonly model?: string
  readonly provider?: string
  /**
   * By point: tool arguments (`beforeToolCall`), tool result (`afterToolCall`), model request (`beforeLlmCall`),
   * model reply (`afterLlmCall`), instruction (`beforeCallAgent`), counts (`beforeCompact`), the step's summary
   * (`afterStep`), the input (`onStart`), the outcome (`beforeComplete`).
   */
  readonly payload: unknown
  /** W3C trace context of the call that is decided on, to hand to a policy service. */
  readonly traceparent?: string
  /** Aborted at the gate's timeout and when the run is aborted. */
  readonly signal: AbortSignal
}

export interface Gate {
  /** Unique among the gates of one operation. */
  id: string
  point: GatePoint
  /** Answering nothing means: proceed. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a function without a return statement is a valid gate
  decide(ctx: GateContext): Decision | undefined | void | Promise<Decision | undefined | void>
  /** Lower decides first; equal priorities in the order of registration. @default 100 */
  priority?: number
  /** Milliseconds the gate may take; past it `onFailure` applies with code `gate_timeout`. @default 5_000 */
  timeoutMs?: number
  /**
   * What a gate that throws, times out or answers nonsense means. Only an explicit `proceed` opens it.
   *
   * @default 'deny'
   */
  onFailure?: 'deny' | 'proceed'
  /** Records what would have been decided and enforces nothing. @default false */
  shadow?: boolean
}

export const DEFAULT_GATE_TIMEOUT_MS = 5_000
export const DEFAULT_GATE_PRIORITY = 100

/** @throws HookspanError `INVALID_GATE` naming the value and the mend. */
export function assertGate(gate: unknown): asserts gate is Gate {
  if (typeof gate !== 'object' || gate === null)
    throw invalid(`Expected a gate object, got ${describeValue(gate)}`)
  const { id, point, decide, priority, timeoutMs, onFailure, shadow } = gate as Record<string, unknown>
  if (typeof id !== 'string' || id === '') {
    throw invalid(`Expected \`id\` of the gate to be a non-empty string, got ${describeValue(id)}`)
  }
  if (!GATE_POINTS.includes(point as GatePoint)) {
    throw invalid(
      `Unknown point ${describeValue(point)} in gate "${id}". Known points: ${GATE_POINTS.join(', ')}`,
    )
  }
  if (typeof decide !== 'function') {
    throw invalid(`Expected \`decide\` of gate "${id}" to be a function, got ${describeValue(decide)}`)
  }
  if (priority !== undefined && !Number.isFinite(priority)) {
    throw invalid(
      `Expected \`priority\` of gate "${id}" to be a finite number, got ${describeValue(priority)}`,
    )
  }
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 1)) {
    throw invalid(
      `Expected \`timeoutMs\` of gate "${id}" to be a number of milliseconds >= 1, got ${describeValue(timeoutMs)}`,
    )
  }
  if (onFailure !== undefined && onFailure !== 'deny' && onFailure !== 'proceed') {
    throw invalid(
      `Expected \`onFailure\` of gate "${id}" to be "deny" or "proceed", got ${describeValue(onFailure)}`,
    )
  }
  if (shadow !== undefined && typeof shadow !== 'boolean') {
    throw invalid(`Expected \`shadow\` of gate "${id}" to be a boolean, got ${describeValue(shadow)}`)
  }
}

function invalid(message: string): HookspanError {
  return new HookspanError('INVALID_GATE', `${message}.`)
}
