import type { AnswerIdentity, ApprovalOutcome, HumanAction, PendingTool } from '../../hooks/index.ts'
import { ANSWER_IDENTITIES, HUMAN_ACTIONS } from '../../hooks/values.ts'
import { errorMessage, errorType } from '../../internal/errors.ts'
import { a, assertFields, type Fields, required } from '../../internal/expect.ts'
import { defined } from '../../internal/objects.ts'
import type { HumanEnd } from '../plugins/instrument.ts'
import { Bracket, type Place } from '../run/bracket.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'

/** What a human is asked. */
export interface HumanInterventionInit {
  /** The calls that wait for the answer. */
  pendingTools: readonly PendingTool[]
  instructions?: string
  requestId?: string
  /** Epoch milliseconds. */
  expiresAt?: number
  /** Epoch milliseconds: the question was asked in the process that parked the run, which has told that it was. */
  askedAt?: number
}

export const HUMAN: Fields<HumanInterventionInit> = {
  pendingTools: required(a.objects),
  // As an SDK said it.
  instructions: a.value,
  requestId: a.string,
  expiresAt: a.finite,
  askedAt: a.finite,
}

/** What came of it. */
export interface HumanAnswer {
  readonly action: HumanAction
  readonly approver?: string
  /** By what way it came. */
  readonly channel?: string
  /** Whether it is known who gave it. */
  readonly identity?: AnswerIdentity
  /** Why, in the human's words. */
  readonly reason?: string
  /** True when the run is to end with it. */
  readonly stop?: boolean
  /** Why the calls are refused, where they are. */
  readonly code?: string
  /** Asking itself failed. */
  readonly error?: unknown
}

/** What a human or an SDK said is passed on as it is. */
const ANSWER: Fields<HumanAnswer> = {
  action: required(a.oneOf(...HUMAN_ACTIONS)),
  approver: a.value,
  channel: a.string,
  identity: a.oneOf(...ANSWER_IDENTITIES),
  reason: a.value,
  stop: a.boolean,
  code: a.value,
  error: a.value,
}

/** A human is asked: told when it begins, and once more when it is over. */
export class HumanIntervention extends Bracket<HumanEnd, Place & Pick<CallSite, 'noteWaiting'>> {
  readonly #toolCallIds: readonly string[]
  /** What tells it from other questions. */
  readonly #request: { requestId: string } | { callKey: string }
  /** Epoch milliseconds, where the question was asked before the run was parked: its first hook has fired. */
  readonly #askedAt: number | undefined

  constructor(core: OperationCore, place: Place, init: HumanInterventionInit, askedAt?: number) {
    const { pendingTools, instructions, requestId, expiresAt } = init
    const shown = { pendingTools, ...(instructions !== undefined && { instructions }) }
    const request = requestId === undefined ? { callKey: core.nextCallKey() } : { requestId }
    super(core, place, { kind: 'human', ...shown, ...request }, askedAt ?? core.timestamp)
    this.#request = request
    this.#askedAt = askedAt
    this.#toolCallIds = pendingTools.map(({ toolCallId }) => toolCallId)
    if (askedAt !== undefined) return
    const expiry = expiresAt === undefined ? {} : { expiresAt }
    core.emit('beforeHumanIntervention', { ...this.where, ...shown, ...request, ...expiry })
  }

  protected get during(): string {
    return 'while a human was asked'
  }

  get waitedMs(): number {
    if (this.#askedAt === undefined) return this.elapsedMs
    // The clock of the process that asked may have been ahead.
    return Math.max(0, this.core.record.clock() - this.#askedAt)
  }

  /** Tells the answer. False when its end has been told already. */
  answered(answer: HumanAnswer): boolean {
    assertFields<HumanAnswer>(answer, ANSWER, "a human's answer", 'INVALID_CALL')
    if (!this.claim()) return false
    this.close(this.#told(answer))
    return true
  }

  /** The answer will come to another process, in which the run goes on. */
  park(): void {
    this.site.noteWaiting?.()
    if (this.claim()) this.close({ kind: 'human', waitingFor: 'human' })
  }

  protected failed(error: unknown): HumanEnd {
    return this.#told(this.withdrawal(error))
  }

  /** What is told of a question that nobody answered because the run ended. */
  protected withdrawal(error: unknown): HumanAnswer {
    return { action: 'rejectAndContinue', error }
  }

  #told({ action, approver, channel, identity, reason, stop, code, error }: HumanAnswer): HumanEnd {
    const { core, waitedMs } = this
    const given = {
      ...(reason !== undefined && { rejectionReason: reason }),
      ...(approver !== undefined && { approver }),
      waitedMs,
    }
    const way = defined({ channel, identity })
    const told = { ...this.where, ...given, toolCallIds: this.#toolCallIds }
    const outcome = outcomeOf(action, error)
    const refusal = code === undefined ? {} : { code }
    core.emit('afterHumanIntervention', {
      ...told,
      ...this.#request,
      ...refusal,
      ...way,
      action,
      outcome,
      ...(error !== undefined && { errorMessage: errorMessage(error), errorType: errorType(error) }),
    })
    if (stop) {
      const why = action === 'timeout' ? 'timeout' : 'rejected'
      core.emit('onStopByHumanIntervention', { ...told, reason: why })
    }
    return {
      kind: 'human',
      action,
      approvalOutcome: outcome,
      ...given,
      ...way,
      ...refusal,
      ...(error !== undefined && { error }),
    }
  }
}

export function outcomeOf(action: HumanAction, error: unknown): ApprovalOutcome {
  if (error !== undefined) return 'failed'
  if (action === 'timeout') return 'timed_out'
  if (action === 'approve') return 'approved'
  return action === 'edit' ? 'edited' : 'rejected'
}
