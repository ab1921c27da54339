import { payloadProblem } from '../gates/decision.ts'
import type { ApprovalAnswer } from '../gates/index.ts'
import { describeValue, errorMessage, HookspanError } from '../internal/errors.ts'
import { assertKnown, refusing } from '../internal/expect.ts'
import { assertHarmless } from '../internal/hostile-json.ts'
import { jsonCopy } from '../internal/json-copy.ts'
import { defined, isRecord } from '../internal/objects.ts'
import type { ApprovalRecord } from './store.ts'

const badAnswer = refusing('INVALID_ANSWER', 'The answer is not valid')
const notAllowed = refusing('APPROVAL_NOT_ALLOWED', 'The answer is not allowed')

const CHOICES = ['approve', 'edit', 'reject']
const ANSWER_FIELDS = ['decision', 'approver', 'reason', 'args', 'argsDigest', 'stop', 'alwaysAllow']

/** The fields of an answer as they are now, whatever becomes of the object; nothing else is kept. */
export function answerFields(answer: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(answer)) throw badAnswer(`expected an object, got ${describeValue(answer)}`)
  assertKnown(answer, ANSWER_FIELDS, 'the answer', 'INVALID_ANSWER')
  const { decision, approver, reason, args, argsDigest, stop, alwaysAllow } = answer
  return { decision, approver, reason, args: editedArgs(args), argsDigest, stop, alwaysAllow }
}

/** What `answerFields` gave, each field checked against what was asked. */
export function checkedAnswer(
  { request }: ApprovalRecord,
  answer: Readonly<Record<string, unknown>>,
): ApprovalAnswer {
  const { decision, approver, reason, args, argsDigest, stop, alwaysAllow } = answer
  if (!CHOICES.includes(decision as string)) {
    throw badAnswer(
      `expected \`decision\` to be one of ${CHOICES.join(', ')}, got ${describeValue(decision)}`,
    )
  }
  for (const [name, value] of Object.entries({ approver, reason, argsDigest })) {
    if (value === undefined || (typeof value === 'string' && value.length <= 4_000)) continue
    throw badAnswer(`expected \`${name}\` to be a short text, got ${describeValue(value)}`)
  }
  if (approver !== undefined && (approver as string).trim() === '') {
    throw badAnswer(`expected \`approver\` to say who answers, got ${describeValue(approver)}`)
  }
  for (const [name, value] of Object.entries({ stop, alwaysAllow })) {
    if (value === undefined || typeof value === 'boolean') continue
    throw badAnswer(`expected \`${name}\` to be a boolean, got ${describeValue(value)}`)
  }
  if (argsDigest !== undefined && argsDigest !== request.argsDigest) {
    throw new HookspanError(
      'APPROVAL_MISMATCH',
      `The answer is for other arguments: expected digest ${request.argsDigest}, got ${describeValue(argsDigest)}. Look at the request again.`,
    )
  }
  if (!request.allow.includes(decision as 'approve')) {
    throw notAllowed(`"${decision}" is not among the allowed answers: ${request.allow.join(', ')}`)
  }
  const { approvers = [] } = request
  if (approvers.length > 0 && !(typeof approver === 'string' && approvers.includes(approver))) {
    throw notAllowed(
      `${describeValue(approver)} is not among the approvers that are asked: ${approvers.join(', ')}`,
    )
  }
  if ((decision === 'edit') !== (args !== undefined)) {
    throw badAnswer(decision === 'edit' ? 'an "edit" needs `args`' : `"${decision}" takes no \`args\``)
  }
  const problem = decision === 'edit' ? payloadProblem(request.point, args) : undefined
  if (problem !== undefined) throw badAnswer(`\`args\` are refused: ${problem}`)
  return defined({ decision, approver, reason, args, argsDigest, stop, alwaysAllow }) as ApprovalAnswer
}

/** What will run is kept as JSON, and told so: what JSON does not carry would be lost on the way to it. */
function editedArgs(args: unknown): unknown {
  try {
    const copy = jsonCopy(args)
    assertHarmless(copy)
    return copy
  } catch (error) {
    throw badAnswer(`\`args\` are refused: ${errorMessage(error)}`)
  }
}

const MAX_NOTED_CHARS = 400
/** What is wrong with arguments, a body or a field that has them is told in words that have them, which the log never has. */
const WHY_REFUSED = /((?:`args` are|The body is) refused|(?=, got )).*/s

/** Who tried what, and why not, as the audit log tells it: nothing that a stranger could make long. */
export function attemptOf(
  answer: unknown,
  problem: string,
): { approver?: string; decision?: string; problem: string } {
  const { approver, decision } = (answer ?? {}) as Record<string, unknown>
  return {
    ...(typeof approver === 'string' && approver !== '' && { approver: approver.slice(0, MAX_NOTED_CHARS) }),
    ...(CHOICES.includes(decision as string) && { decision: decision as string }),
    problem: problem.replace(WHY_REFUSED, '$1').slice(0, MAX_NOTED_CHARS),
  }
}

/** Why a request takes no answer any more. */
export function closedError(record: ApprovalRecord, now: number): HookspanError {
  const { request, status, answer } = record
  if (status === 'answered') {
    const by = answer?.approver === undefined ? '' : ` by ${answer.approver}`
    return new HookspanError('APPROVAL_ANSWERED', `Request "${request.id}" was answered already${by}.`)
  }
  if (status === 'cancelled') {
    return new HookspanError('APPROVAL_ANSWERED', `Request "${request.id}" was cancelled: its run has ended.`)
  }
  // Less than none where the clock was set back since.
  const late = Math.max(0, now - (request.expiresAt ?? now))
  return new HookspanError(
    'APPROVAL_EXPIRED',
    `nobody answered in time: request "${request.id}" expired ${late} ms ago`,
  )
}
