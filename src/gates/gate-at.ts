import type { AfterStepEvent, CompletionReason, GatePoint, LlmRequest, LlmResponse } from '../hooks/index.ts'
import { assertGate, type Gate, type GateContext } from './gate.ts'

/** What `ctx.payload` is, by point. */
export interface GatePayloads {
  /** What the run was asked to do. */
  onStart: unknown
  beforeLlmCall: LlmRequest
  afterLlmCall: LlmResponse
  /** The tool's arguments, as the model wrote them. */
  beforeToolCall: unknown
  /** What the tool gave. */
  afterToolCall: unknown
  /** The instruction. */
  beforeCallAgent: string
  beforeCompact: { readonly messageCount: number; readonly tokenCount: number }
  afterStep: Pick<
    AfterStepEvent,
    'content' | 'reasoning' | 'toolCalls' | 'usage' | 'costUsd' | 'shouldContinue'
  >
  beforeComplete: { readonly reason: CompletionReason; readonly content?: string }
}

/** What a gate of one point is told. */
export type GateContextAt<P extends GatePoint> = Omit<GateContext, 'point' | 'payload'> & {
  readonly point: P
  readonly payload: GatePayloads[P]
}

export type GateAt<P extends GatePoint> = Omit<Gate, 'point' | 'decide'> & {
  /** Answering nothing means: proceed. */
  decide(ctx: GateContextAt<P>): ReturnType<Gate['decide']>
}

/**
 * A gate of one point, whose `ctx.payload` has the type of that point.
 *
 * @throws HookspanError `INVALID_GATE` naming the value and the mend.
 * @example
 * gateAt('beforeLlmCall', { id: 'short', decide: ({ payload }) => mutate({ max_tokens: 500, ...payload }) })
 */
export function gateAt<P extends GatePoint>(point: P, gate: GateAt<P>): Gate {
  const made: object = { ...gate, point }
  assertGate(made)
  return made
}
