import type { ApprovalAnswer, ApprovalRequest } from '../gates/index.ts'
import { digestOf } from '../internal/json.ts'
import { defined } from '../internal/objects.ts'
import type { AuditEvent } from './audit-log.ts'

export function answeredEvent({ id, argsDigest }: ApprovalRequest, answer: ApprovalAnswer): AuditEvent {
  const { approver, decision, reason, args, stop, alwaysAllow } = answer
  const editedDigest = args === undefined ? undefined : digestOf(args)
  const told = defined({ decision, argsDigest, editedDigest, approver, reason, stop, alwaysAllow })
  return { event: 'answered', requestId: id, ...told }
}

/** Which gate asked, and where: one call may be asked about by several, and once more about what it gave. */
export function requestedEvent(request: ApprovalRequest): AuditEvent {
  const { id, operationId, toolCallId, gateId, point, identifier, apiName, argsDigest } = request
  const about = { operationId, toolCallId, gateId, point, identifier, apiName, argsDigest }
  return { event: 'requested', requestId: id, ...about }
}
