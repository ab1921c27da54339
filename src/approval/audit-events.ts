import { hostname } from 'node:os'
import type { ApprovalAnswer, ApprovalRequest } from '../gates/index.ts'
import { digestOf } from '../internal/json.ts'
import { defined } from '../internal/objects.ts'
import type { AuditEvent } from './audit-chain.ts'

/** On which machine it happened. Of an answer that was given elsewhere what came with it tells. */
export function onHost(event: AuditEvent): AuditEvent {
  return event.elsewhere === true ? event : { host: hostname(), ...event }
}

export function answeredEvent({ id, argsDigest }: ApprovalRequest, answer: ApprovalAnswer): AuditEvent {
  const { approver, decision, reason, args, stop, alwaysAllow } = answer
  const editedDigest = args === undefined ? undefined : digestOf(args)
  const told = defined({ decision, argsDigest, editedDigest, approver, reason, stop, alwaysAllow })
  return { event: 'answered', requestId: id, ...told }
}

/** Which gate asked, and where: one call may be asked about by several, and once more about what it gave. */
export function requestedEvent(request: ApprovalRequest): AuditEvent {
  const { id, operationId, rootOperationId, agentName, toolCallId, callKey } = request
  const { gateId, point, identifier, apiName, argsDigest, approvers, expiresAt } = request
  const where = { operationId, rootOperationId, agentName, toolCallId, callKey }
  const about = { gateId, point, identifier, apiName, argsDigest, approvers, expiresAt }
  return { event: 'requested', requestId: id, ...defined({ ...where, ...about }) }
}
