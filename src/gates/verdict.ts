import type { GatePoint, GateRecord } from '../hooks/index.ts'
import { safeStringify } from '../internal/json.ts'
import { isRecord } from '../internal/objects.ts'
import type { Decision } from './decision.ts'
import { type Gate, type GateContext, runsElsewhere, type TreeTotals } from './gate.ts'
import { runGate } from './run-gate.ts'

/** What is decided on, as gates and humans see it. */
export type Shown = Pick<GateContext, 'payload' | 'content' | 'success'>

/** How what is decided on is shown, where it is more than the payload. */
export interface View {
  show(current: unknown): Shown
  /** What there is once a gate or a human has put something in the payload's place. */
  replace(current: unknown, payload: unknown): unknown
  /** All of it, as a human is shown it. */
  ask(current: unknown): unknown
  /** What there is once a human has put something in the place of what was shown. */
  edited(current: unknown, args: unknown): unknown
}

export type ChainContext = Omit<GateContext, 'signal' | keyof Shown>

/** How a gate is asked. */
export interface Judging {
  readonly view?: View
  readonly signal?: AbortSignal
  /** Asked anew for each gate, in the place of the context's: one before it may have waited for hours. */
  totals?(): TreeTotals
}

/** What is recorded of a gate, and what is enforced. */
export interface GateVerdict {
  readonly record: GateRecord
  readonly decision: Decision
  /** What the gate threw. */
  readonly error?: unknown
}

/** It is what it shows. */
export const PLAIN: View = {
  show: (payload) => ({ payload }),
  replace: (_current, payload) => payload,
  ask: (payload) => payload,
  edited: (_current, args) => args,
}

/** Nobody is asked about what cannot be shown whole. */
export async function unreadable(gate: Gate, point: GatePoint, problem: string): Promise<GateVerdict> {
  const decision: Decision = { decision: 'deny', code: 'not_json', reason: `gate "${gate.id}": ${problem}` }
  return { record: recordOf(gate, point, decision, undefined, 0), decision }
}

const PROCEED: Decision = { decision: 'proceed' }

/** What a gate says, and what of it holds. Never throws: a gate that does refuses, unless it says otherwise. */
export async function verdictOf(
  gate: Gate,
  ctx: ChainContext,
  shown: Shown,
  { signal, view = PLAIN, totals = () => ctx.totals }: Judging,
): Promise<GateVerdict> {
  const startedAt = performance.now()
  const answer = await runGate(gate, { ...ctx, ...shown, totals: totals() }, signal)
  const { point } = ctx
  const { payload } = shown
  const durationMs = performance.now() - startedAt
  if (answer.ok) {
    const record = recordOf(gate, point, answer.decision, payload, durationMs, view)
    return { record, decision: gate.shadow === true ? PROCEED : answer.decision }
  }
  const refused: Decision = {
    decision: 'deny',
    code: answer.code,
    reason: `gate "${gate.id}": ${answer.message}`,
  }
  const enforced = gate.shadow !== true && gate.onFailure !== 'proceed'
  const record = {
    ...recordOf(gate, point, refused, payload, durationMs, view),
    enforced,
    failure: answer.code,
  }
  return { record, decision: enforced ? refused : PROCEED, error: answer.error }
}

/** A model request and a run's outcome are merged shallowly; everything else is replaced. */
export function mutated(point: GatePoint, current: unknown, payload: unknown): unknown {
  if (point !== 'beforeLlmCall' && point !== 'beforeComplete') return payload
  return { ...(current as object), ...(payload as object) }
}

function recordOf(
  gate: Gate,
  point: GatePoint,
  decision: Decision,
  before: unknown,
  durationMs: number,
  view = PLAIN,
): GateRecord {
  const denied = decision.decision === 'deny'
  const { code = denied ? 'policy_denied' : undefined } = decision
  const { reason = denied ? `denied by gate "${gate.id}"` : undefined } = decision
  return {
    gateId: gate.id,
    point,
    decision: decision.decision,
    enforced: gate.shadow !== true,
    durationMs,
    ...(runsElsewhere(gate) && { runtime: gate.runtime }),
    ...(code !== undefined && { code }),
    ...(reason !== undefined && { reason }),
    ...(decision.decision === 'mutate' && {
      changedKeys: changedKeys(point, before, view.show(decision.payload).payload),
    }),
  }
}

function changedKeys(point: GatePoint, before: unknown, payload: unknown): string[] {
  const after = isRecord(payload) ? mutated(point, before, payload) : payload
  if (!isRecord(before) || !isRecord(after)) return []
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((key) => before[key] !== after[key])
    .filter((key) => safeStringify(before[key]) !== safeStringify(after[key]))
    .sort()
}
