import type { GatePoint, GateRecord } from '../hooks/index.ts'
import { canonicalJson } from '../internal/json.ts'
import { copyOrProblem } from '../internal/json-copy.ts'
import { defined } from '../internal/objects.ts'
import { snapshot } from '../internal/snapshot.ts'
import type { ApprovalRequest } from './approver.ts'
import type { ApprovalOptions, Decision, ReasonCode } from './decision.ts'
import { concerns, DEFAULT_GATE_PRIORITY, decidesAt, type Gate } from './gate.ts'
import {
  type ChainContext,
  type GateVerdict,
  type Judging,
  mutated,
  PLAIN,
  unreadable,
  verdictOf,
} from './verdict.ts'

/** What the whole chain decided. */
export type ChainResult =
  | {
      readonly kind: 'proceed'
      readonly payload: unknown
      readonly changed: boolean
      readonly edited?: boolean
      /** The request by which a human let it through; claimed before the tool runs. */
      readonly approvedBy?: string
    }
  | { readonly kind: 'skip'; readonly result: unknown; readonly gateId: string }
  | AskedElsewhere
  | Refusal

/** A human was asked and the answer will come to another process. */
export interface AskedElsewhere {
  readonly kind: 'wait'
  readonly request: ApprovalRequest
}

export interface Refusal {
  /** `deny`: a gate, a time limit or a failure refused. `reject`: a human did. */
  readonly kind: 'deny' | 'reject'
  readonly code: ReasonCode
  readonly reason: string
  readonly stop: boolean
  readonly gateId?: string
}

/** Whether the chain refused. */
export function isRefusal(result: ChainResult | undefined): result is Refusal {
  return result?.kind === 'deny' || result?.kind === 'reject'
}

/** What asking a human gave: arguments to run, or a refusal. */
export type AskResult =
  | {
      readonly kind: 'approve'
      readonly args: unknown
      readonly edited: boolean
      readonly requestId?: string
      /** Nobody was shown these arguments: a human said before that this tool is always allowed. */
      readonly unseen?: true
    }
  | AskedElsewhere
  | Refusal

export interface ChainOptions extends Judging {
  /** `chain`: mutations pass on. `firstDecision`: the first answer that is not `proceed` ends it (Dapr's rule). */
  readonly composition?: 'chain' | 'firstDecision'
  /** Told of each decision as it falls, and of what the gate threw. */
  onDecision?(record: GateRecord, error?: unknown): void
  /** Lets a gate run inside a scope of its own, for tracing. */
  around?(
    gate: Gate,
    point: GatePoint,
    run: (scope?: { traceparent?: string }) => Promise<GateVerdict>,
  ): Promise<GateVerdict>
  /** Asks a human. Absent: `require_approval` denies with `no_approver`. */
  ask?(options: ApprovalOptions, payload: unknown, gate: Gate): Promise<AskResult>
}

/** The gates of one point, in the order in which they decide. */
export function orderGates(gates: readonly Gate[], point: GatePoint): Gate[] {
  return gates
    .filter((gate) => decidesAt(gate, point))
    .sort((a, b) => (a.priority ?? DEFAULT_GATE_PRIORITY) - (b.priority ?? DEFAULT_GATE_PRIORITY))
}

/**
 * Lets the gates decide one after the other. Mutations chain; the first `deny` or `skip` ends the chain; gates
 * after an approval still run, on the approved arguments. Never throws: every failure is a refusal.
 */
export async function runChain(
  gates: readonly Gate[],
  ctx: ChainContext,
  payload: unknown,
  options: ChainOptions = {},
): Promise<ChainResult> {
  const { view = PLAIN } = options
  let current = payload
  let copied = ctx.point !== 'beforeToolCall'
  let changed = false
  let edited = false
  let approvedBy: string | undefined
  let sealed = false
  for (const gate of gates) {
    if (!concerns(gate, ctx)) continue
    let problem: string | undefined
    if (!copied && gate.shadow !== true) {
      // Who decides on a tool call decides on JSON, and that is what runs: not an object that may change, or hide.
      const judged = copyOrProblem(current)
      if ('problem' in judged) problem = judged.problem
      else current = judged.copy
      copied = true
    }
    const decide = (scope?: { traceparent?: string }) =>
      problem === undefined
        ? verdictOf(gate, { ...ctx, ...scope }, view.show(current), options)
        : unreadable(gate, ctx.point, problem)
    const { record, decision, error } = await decided(gate, ctx.point, decide, options)
    options.onDecision?.(record, error)
    switch (decision.decision) {
      case 'proceed':
        continue
      case 'skip':
        return { kind: 'skip', result: decision.result, gateId: gate.id }
      case 'deny':
        return refusal(decision, gate)
      case 'mutate': {
        const next = view.replace(current, mutated(ctx.point, current, decision.payload))
        if (sealed) {
          if (!isSame(view.show(next), view.show(current))) return changedAfterApproval(gate)
        } else {
          current = next
          changed = true
        }
        break
      }
      case 'require_approval': {
        const answer = await askHuman(approvalOf(decision), snapshot(view.ask(current)), gate, options)
        if (answer.kind !== 'approve') return answer
        // From here on it is what a human has seen.
        sealed ||= answer.unseen !== true
        if (answer.edited || !isResult(ctx.point) || !isSame(answer.args, view.ask(current))) {
          // Also without an edit: what runs is what was shown, not what became of it while the human thought.
          current = view.edited(current, answer.args)
          changed = true
        }
        edited ||= answer.edited
        if (answer.edited) {
          const before = gates.slice(0, gates.indexOf(gate) + 1)
          const stopped = await recheck(before, decision, ctx, current, options)
          if (stopped !== undefined) return stopped
        }
        approvedBy = answer.requestId ?? approvedBy
      }
    }
    if (options.composition === 'firstDecision') break
  }
  return {
    kind: 'proceed',
    payload: current,
    changed,
    edited,
    ...(approvedBy !== undefined && { approvedBy }),
  }
}

type Decide = (scope?: { traceparent?: string }) => Promise<GateVerdict>

function decided(
  gate: Gate,
  point: GatePoint,
  decide: Decide,
  { around }: ChainOptions,
): Promise<GateVerdict> {
  return around === undefined ? decide() : around(gate, point, decide)
}

/** What a human lets through of these is the thing itself, which may be more than the JSON that was shown of it. */
function isResult(point: GatePoint): boolean {
  return point === 'afterToolCall' || point === 'afterLlmCall'
}

function isSame(shown: unknown, now: unknown): boolean {
  return canonicalJson(shown) === canonicalJson(now)
}

/**
 * A human's edit must not carry a call past the gates that decided before, nor past the last of them, which asked: they are asked
 * again, and only their no, and the no of a human they ask, counts, so that what runs is what the human wrote.
 */
async function recheck(
  gates: readonly Gate[],
  edited: Asking,
  ctx: ChainContext,
  current: unknown,
  options: ChainOptions,
): Promise<Refusal | AskedElsewhere | undefined> {
  const { view = PLAIN } = options
  for (const gate of gates) {
    if (!concerns(gate, ctx)) continue
    const asked = gate === gates.at(-1) ? edited : undefined
    const decide = async (scope?: { traceparent?: string }) =>
      onlyToRefuse(await verdictOf(gate, { ...ctx, ...scope }, view.show(current), options), asked)
    const { record, decision, error } = await decided(gate, ctx.point, decide, options)
    options.onDecision?.(record, error)
    if (decision.decision === 'deny') return refusal(decision, gate)
    if (decision.decision !== 'require_approval' || record.enforced === false) continue
    // Who approved other arguments is not asked again: the approver finds that request, and refuses.
    const { allow = ['approve', 'edit', 'reject'], ...approval } = approvalOf(decision)
    const choices = allow.filter((choice) => choice !== 'edit')
    if (choices.length === 0) return uneditable(gate)
    const answer = await askHuman({ ...approval, allow: choices }, snapshot(view.ask(current)), gate, options)
    if (answer.kind !== 'approve') return answer
  }
  return undefined
}

/** Of a gate that is asked a second time, what it would make of an edit is not enforced, nor that it wants who wrote it asked. */
function onlyToRefuse(verdict: GateVerdict, edited: Asking | undefined): GateVerdict {
  const { record, decision } = verdict
  const isDone =
    decision.decision === 'mutate' ||
    decision.decision === 'skip' ||
    (decision.decision === 'require_approval' && edited !== undefined && asksSame(decision, edited))
  return isDone ? { decision, record: { ...record, enforced: false } } : verdict
}

/** Whether who was asked before may decide now, too. */
function asksSame({ approvers: now = [] }: Asking, { approvers: before = [] }: Asking): boolean {
  return now.length === 0 || isSame([...now].sort(), [...before].sort())
}

function changedAfterApproval(gate: Gate): Refusal {
  const reason = `gate "${gate.id}" changed what a human had approved; give it a lower \`priority\` than the gate that asks`
  return { kind: 'deny', code: 'approval_mismatch', reason, stop: false, gateId: gate.id }
}

/** A human who may only edit cannot say yes to what another human wrote. */
function uneditable(gate: Gate): Refusal {
  const reason = `gate "${gate.id}" wants an edit of what was edited since; let it decide after the gate that asked`
  return { kind: 'deny', code: 'approval_mismatch', reason, stop: false, gateId: gate.id }
}

type Asking = Extract<Decision, { decision: 'require_approval' }>

/** Why a human is asked is what the human is told, where the gate has no other words for it. */
function approvalOf({ decision: _name, code: _code, reason, ...approval }: Asking): ApprovalOptions {
  return defined({ instructions: reason, ...approval })
}

async function askHuman(
  approval: ApprovalOptions,
  payload: unknown,
  gate: Gate,
  options: ChainOptions,
): Promise<AskResult> {
  if (options.ask === undefined) {
    const reason = `gate "${gate.id}" requires an approval, and no approver is plugged in`
    return { kind: 'deny', code: 'no_approver', reason, stop: false, gateId: gate.id }
  }
  return options.ask(approval, payload, gate)
}

function refusal(decision: Extract<Decision, { decision: 'deny' }>, gate: Gate): Refusal {
  return {
    kind: 'deny',
    code: decision.code ?? 'policy_denied',
    reason: decision.reason ?? `denied by gate "${gate.id}"`,
    stop: decision.stop ?? false,
    gateId: gate.id,
  }
}
