import type { ApprovalAnswer, ApprovalRequest, ExecutionLedger } from '../gates/index.ts'
import { errorSentence, HookspanError } from '../internal/errors.ts'
import { a, type Fields } from '../internal/expect.ts'
import { isRecord } from '../internal/objects.ts'
import type { AnswerOrigin, KeptOrigin } from './answer-origin.ts'

export type ApprovalStatus = 'pending' | 'answered' | 'expired' | 'cancelled'

/** An answer as it is kept. */
export interface KeptAnswer extends ApprovalAnswer {
  /** It was written to an audit log as it was given. */
  readonly logged?: true
  /** By what way it came; where it was written to no log with all of it, for the run that takes it to write down. */
  readonly origin?: AnswerOrigin | KeptOrigin
}

/** A request and what became of it. Plain JSON. */
export interface ApprovalRecord {
  readonly request: ApprovalRequest
  readonly status: ApprovalStatus
  readonly answer?: KeptAnswer
  /** When the status left `pending`, in epoch milliseconds. */
  readonly closedAt?: number
  /** Whether the approved call has begun to run, and whether it was told how it ended. */
  readonly execution?: 'claimed' | 'settled'
}

export interface ApprovalFilter {
  readonly status?: ApprovalStatus
  readonly rootOperationId?: string
  /** @default 100 */
  readonly limit?: number
}

/**
 * Where requests are kept. Each method is atomic, over all processes that use the store: of two answers one is taken,
 * of two claims one may run.
 */
export interface ApprovalStore extends ExecutionLedger {
  /** Keeps a request. One that is kept already stays as it is. Gives what is kept. */
  add(request: ApprovalRequest): Promise<ApprovalRecord>
  get(id: string): Promise<ApprovalRecord | undefined>
  /**
   * Which of these are not kept as pending, or not at all; what is late and nobody closed is pending. With it one question is for all
   * who wait in a process; without it each of them asks `get`.
   */
  closed?(ids: readonly string[]): Promise<readonly string[]>
  /** The oldest first. With `now` one that expired by then has the status `expired`, though nobody closed it. */
  list(filter?: ApprovalFilter, now?: number): Promise<ApprovalRecord[]>
  /**
   * Takes an answer where the request is still pending and has not expired by `now`, else leaves it. Gives the record
   * and whether this very call closed it; undefined for an unknown id.
   */
  answer(id: string, answer: KeptAnswer, now: number): Promise<ClosedRecord | undefined>
  /** Closes a pending request without an answer. */
  close(id: string, status: 'expired' | 'cancelled', now: number): Promise<ClosedRecord | undefined>
  /** Calls back when a request was answered or closed, soon after; may miss some. Gives how to stop. */
  watch?(onClosed: (id: string) => void): Promise<() => void>
  /** Lets go of files and connections. */
  dispose?(): Promise<void>
}

/** How long a store keeps what is over. */
export interface Retention {
  /**
   * Milliseconds for which a request is kept once it is over: refused, expired, withdrawn, or its call has begun, counted anew as that
   * ends. Then it is forgotten, with arguments, answer and result; the audit log has its digests still. An approved call that has not
   * begun is kept, and a yes that no call begins by: at another point, and of several for one call all but the last. Minimum 1.
   *
   * @default for ever; in memory an hour
   */
  keepMs?: number
}

export const RETENTION: Fields<Retention> = { keepMs: a.number(1) }

/** Whether nothing more is to be done about a request that was closed so. */
export function isOver(status: ApprovalStatus, answer: Pick<KeptAnswer, 'decision'> | undefined): boolean {
  return status !== 'answered' || answer?.decision === 'reject'
}

export interface ClosedRecord {
  readonly record: ApprovalRecord
  readonly closed: boolean
}

/** A record as it is at `now`: whoever asked may have died before it could close what expired. */
export function asOf(record: ApprovalRecord, now: number | undefined): ApprovalRecord {
  const isLate = record.status === 'pending' && now !== undefined && !isOpen(record, now)
  return isLate ? { ...record, status: 'expired' } : record
}

/** The oldest first. */
export function byAge({ request: one }: ApprovalRecord, { request: other }: ApprovalRecord): number {
  return one.requestedAt - other.requestedAt || (one.id < other.id ? -1 : 1)
}

/** A record as a store has it: its parts, and two of them as JSON. */
export interface KeptRecord extends Omit<ApprovalRecord, 'request' | 'answer'> {
  readonly id: string
  readonly request: string
  readonly answer?: string | undefined
}

/** @throws HookspanError `APPROVAL_UNREACHABLE` for one that is damaged: nobody decides by half of it. */
export function readRecord({ id, request: text, answer, ...rest }: KeptRecord): ApprovalRecord {
  try {
    const request: unknown = JSON.parse(text)
    if (!isRecord(request) || request.id !== id) throw new Error('it is no request of this id.')
    const record = { ...rest, request: request as unknown as ApprovalRequest }
    return answer === undefined ? record : { ...record, answer: JSON.parse(answer) as KeptAnswer }
  } catch (error) {
    const why = `What the store has of the request "${id}" is damaged: ${errorSentence(error)} It cannot be answered.`
    throw new HookspanError('APPROVAL_UNREACHABLE', why, { cause: error })
  }
}

/** In the place of one that is damaged: it hides no other from who is to answer them, allows nothing, and says what it is. */
export function listedRecord(kept: KeptRecord, known: Partial<ApprovalRequest> = {}): ApprovalRecord {
  try {
    return readRecord(kept)
  } catch (error) {
    const { id, request: _, answer: _answer, ...rest } = kept
    const request: ApprovalRequest = {
      operationId: known.rootOperationId ?? '',
      rootOperationId: '',
      toolCallId: '',
      callKey: '',
      gateId: '',
      point: 'beforeToolCall',
      identifier: '',
      apiName: '(damaged)',
      args: null,
      argsDigest: '',
      requestedAt: 0,
      ...known,
      id,
      instructions: (error as Error).message,
      allow: [],
    }
    return { ...rest, request }
  }
}

/** Whether a request may still be answered at `now`. */
export function isOpen({ status, request }: ApprovalRecord, now: number): boolean {
  return status === 'pending' && (request.expiresAt === undefined || now <= request.expiresAt)
}
