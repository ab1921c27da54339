import type { AskResult } from '../../gates/chain.ts'
import { payloadProblem } from '../../gates/decision.ts'
import type { ApprovalRequest, Approver, HeardAnswer } from '../../gates/index.ts'
import type { AnswerIdentity, HumanAction } from '../../hooks/index.ts'
import { ANSWER_IDENTITIES } from '../../hooks/values.ts'
import { describeValue, HookspanError } from '../../internal/errors.ts'
import { jsonCopy } from '../../internal/json-copy.ts'
import { defined } from '../../internal/objects.ts'

/** What came of a question: what is enforced, and what is told of it. */
export interface Verdict {
  readonly result: AskResult
  readonly action: HumanAction
  readonly approver?: string
  readonly channel?: string
  readonly identity?: AnswerIdentity
  readonly reason?: string
  readonly error?: unknown
  readonly always?: boolean
}

/** The run was stopped or has ended before anybody answered. */
export class Withdrawn extends Error {
  constructor() {
    super('the run ended before anybody answered')
  }
}

/** What comes of a question that is withdrawn: what stopped the run is told, not the question's own end. */
export function withdrawn(stop: { readonly code: string; readonly reason: string } | undefined): Verdict {
  const error = new Withdrawn()
  const { code, reason } = stop ?? { code: 'approval_error', reason: error.message }
  return {
    result: { kind: 'deny', code, reason, stop: false },
    action: 'rejectAndContinue',
    reason,
    error,
  }
}

/** The error of an answer that was given to other arguments than those that would run. */
function mismatch(digest: string, request: ApprovalRequest): HookspanError {
  return new HookspanError(
    'APPROVAL_MISMATCH',
    `the answer is for other arguments: digest ${digest}, expected ${request.argsDigest}`,
  )
}

/** @throws when the answer is malformed, not among those that are taken, or for other arguments. */
export function verdictOf(answer: HeardAnswer, request: ApprovalRequest, approver: Approver): Verdict {
  if (typeof answer !== 'object' || answer === null) {
    throw new Error(`expected an answer { decision, ... }, got ${describeValue(answer)}`)
  }
  const { decision, approver: who, channel, identity, reason, args, argsDigest, stop, alwaysAllow } = answer
  if (!request.allow.includes(decision)) {
    throw new Error(`the answer ${describeValue(decision)} is not among ${request.allow.join(', ')}`)
  }
  if (channel !== undefined && typeof channel !== 'string') {
    throw new Error(`expected \`channel\` of the answer to be a text, got ${describeValue(channel)}`)
  }
  if (identity !== undefined && !ANSWER_IDENTITIES.includes(identity)) {
    const known = ANSWER_IDENTITIES.join(' or ')
    throw new Error(`expected \`identity\` of the answer to be ${known}, got ${describeValue(identity)}`)
  }
  const by = {
    ...defined({ approver: who, channel, identity, reason }),
    ...(alwaysAllow === true && { always: true }),
  }
  const claimed = approver.ledger === undefined ? {} : { requestId: request.id }
  if (decision === 'reject') {
    const why = reason ?? 'rejected by a human'
    return {
      result: { kind: 'reject', code: 'rejected', reason: why, stop: stop ?? false },
      action: stop === true ? 'reject' : 'rejectAndContinue',
      ...by,
    }
  }
  if (argsDigest !== undefined && argsDigest !== request.argsDigest) {
    throw mismatch(argsDigest, request)
  }
  if (decision === 'edit') {
    if (args === undefined) throw new Error('an "edit" answer needs `args`')
    const problem = payloadProblem(request.point, args)
    if (problem !== undefined) throw new Error(`the edit cannot stand: ${problem}`)
    return {
      result: { kind: 'approve', args: jsonCopy(args), edited: true, ...claimed },
      action: 'edit',
      ...by,
    }
  }
  return {
    result: { kind: 'approve', args: request.args, edited: false, ...claimed },
    action: 'approve',
    ...by,
  }
}
