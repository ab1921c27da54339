import type { Refusal } from '../../gates/chain.ts'
import type { ApprovalRequest, Approver, HeardAnswer } from '../../gates/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { verdictOf } from './verdict.ts'

/** What a human said of a question that was parked, where somebody did. Nothing is closed by looking. */
export async function saidBefore(
  approver: Approver,
  request: ApprovalRequest,
): Promise<HeardAnswer | undefined> {
  const isClosed = (await approver.closed?.(request.id)) === true
  return isClosed ? approver.lookup?.(request) : undefined
}

/**
 * What a human said of a question that was parked and that no gate asks any more, as the policies are others now: a no is still a
 * no, and where other arguments were written these ones were not let through. Never throws.
 */
export async function refusedBefore(
  approver: Approver | undefined,
  request: ApprovalRequest | undefined,
): Promise<Refusal | undefined> {
  if (request === undefined || approver === undefined) return undefined
  const { gateId } = request
  try {
    const answer = await saidBefore(approver, request)
    if (answer === undefined || answer.decision === 'approve') return undefined
    const { result } = verdictOf(answer, request, approver)
    if (result.kind === 'reject' || result.kind === 'deny') return { ...result, gateId }
    const reason = `a human wrote other arguments, and gate "${gateId}" does not ask about them any more`
    return { kind: 'deny', code: 'approval_mismatch', reason, stop: false, gateId }
  } catch (error) {
    const reason = `what a human said of the call cannot be read: ${errorMessage(error)}`
    return { kind: 'deny', code: 'approval_error', reason, stop: false, gateId }
  }
}
