import { isEditable } from '../../gates/decision.ts'
import type { ApprovalOptions, ApprovalRequest, Gate, GatePoint } from '../../gates/index.ts'
import { digestOf } from '../../internal/json.ts'
import { jsonCopy } from '../../internal/json-copy.ts'
import { sha256 } from '../../internal/sha256.ts'
import type { DecidedPlace } from '../run/decided-place.ts'
import type { OperationCore } from '../run/operation-core.ts'

/** What a human is asked about: a tool call, or whatever else a gate decides on. */
export interface Question extends DecidedPlace {
  readonly point: GatePoint
  readonly payload: unknown
  readonly approval: ApprovalOptions
  readonly gate: Gate
  /** How many gates of the same id decide before it: plugins do not know each other's ids. */
  readonly namesake: number
}

/** What comes of a call that a dead process had made is made anew, and may be something else. */
const MADE_ANEW: readonly GatePoint[] = ['afterLlmCall', 'afterToolCall']

/** Deterministic, so that a resumed run finds the answer to its own question and to no other, nor to one that others were asked. */
function requestIdOf(core: OperationCore, callKey: string, argsDigest: string, question: Question): string {
  const { point } = question
  const what = MADE_ANEW.includes(point) ? [argsDigest] : []
  const where = point === 'beforeToolCall' ? [] : [point, ...what]
  const { approvers = [] } = question.approval
  const whom = approvers.length === 0 ? [] : [[...approvers].sort()]
  const about = [callKey, ...gateKey(question), ...where, ...whom]
  const text = JSON.stringify([core.runKey, core.info.operationId, ...about])
  return `apr_${sha256(text).slice(0, 32)}`
}

export function requestFor(core: OperationCore, question: Question): ApprovalRequest {
  const { operationId, rootOperationId, agentName } = core.info
  const { point, approval, gate, apiName, model, stepIndex } = question
  const callKey = question.callKey ?? `${point}-${stepIndex ?? 'run'}-${core.nextQuestion()}`
  const requestedAt = core.record.clock()
  const args = jsonCopy(question.payload)
  const argsDigest = digestOf(args)
  return {
    id: requestIdOf(core, callKey, argsDigest, question),
    operationId,
    rootOperationId,
    ...(agentName !== undefined && { agentName }),
    toolCallId: question.toolCallId ?? callKey,
    callKey,
    gateId: gate.id,
    point,
    identifier: question.identifier ?? point,
    apiName: apiName ?? model ?? point,
    args,
    argsDigest,
    ...(approval.instructions !== undefined && { instructions: approval.instructions }),
    ...(approval.approvers !== undefined && { approvers: approval.approvers }),
    requestedAt,
    // Infinity leaves it to the approver, as JSON cannot carry it.
    ...(Number.isFinite(approval.timeoutMs) && { expiresAt: requestedAt + Number(approval.timeoutMs) }),
    allow: choicesAt(point, approval),
  }
}

/** Nobody is offered to edit what nothing can be made of. */
function choicesAt(
  point: GatePoint,
  { allow = ['approve', 'edit', 'reject'] }: ApprovalOptions,
): ApprovalRequest['allow'] {
  return isEditable(point) ? allow : allow.filter((choice) => choice !== 'edit')
}

const ALWAYS = 'hookspan.alwaysAllow'

/** What is told one gate must not count for another of the same id. */
function gateKey({ gate, namesake }: Question): readonly (string | number)[] {
  return namesake === 0 ? [gate.id] : [gate.id, namesake]
}

/** Of the point, and of whom is asked for what, too: one gate may leave small sums to a clerk and large ones to somebody else. */
export function allowKey(question: Question, request: ApprovalRequest): string {
  const { point, identifier, apiName, approvers = [], allow } = request
  const asked = [[...approvers].sort(), [...allow].sort()]
  return JSON.stringify([...gateKey(question), point, identifier, apiName, ...asked])
}

export function isAlwaysAllowed(core: OperationCore, key: string): boolean {
  const allowed = core.tree.state.get(ALWAYS)
  return Array.isArray(allowed) && allowed.includes(key)
}

export function allowAlways(core: OperationCore, key: string): void {
  const allowed = (core.tree.state.get(ALWAYS) as string[] | undefined) ?? []
  core.tree.state.set(ALWAYS, [...allowed, key])
}
