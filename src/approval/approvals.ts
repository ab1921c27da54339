import type { Plugin } from '../dispatcher/index.ts'
import type { ApprovalAnswer, ApprovalRequest, Approver } from '../gates/index.ts'
import type { AnswerOrigin } from './answer-origin.ts'
import type { AuditEvent } from './audit-chain.ts'
import type { AuditLog } from './audit-log.ts'
import type { ApprovalFilter, ApprovalRecord, ApprovalStore } from './store.ts'

/** Tells people of requests, and takes their answers where it has a way to. */
export interface ApprovalChannel {
  readonly name: string
  /** A request is new. What it throws is reported and keeps nobody waiting. */
  requested?(request: ApprovalRequest): void | Promise<void>
  /** A request was answered, has expired or was cancelled. */
  closed?(record: ApprovalRecord): void | Promise<void>
  /** Begins to take answers; gives how to stop. */
  open?(approvals: Approvals): Promise<() => void | Promise<void>>
}

export interface ApprovalsOptions {
  /** @default memoryStore() */
  store?: ApprovalStore
  /**
   * `wait`: the run waits in this process. `park`: the tool call ends as `waiting`, and the run is to be parked; the
   * answer is found when it is resumed.
   *
   * @default 'wait'
   */
  mode?: 'wait' | 'park'
  /** Milliseconds to wait before parking. @default 0 */
  parkAfterMs?: number
  /** Milliseconds until a request expires that brings no limit of its own. @default 86_400_000 */
  defaultTimeoutMs?: number
  channels?: readonly ApprovalChannel[]
  audit?: AuditLog
  /** Milliseconds between looks into the store, beside what it tells by itself, which may be lost. @default 200 */
  pollMs?: number
  /** Told what a channel or the audit log threw. @default console.warn */
  onError?: (error: unknown, where: string) => void
}

/** The plugin, and the other side of it: what humans' tools call. */
export interface Approvals extends Plugin {
  readonly approver: Approver
  readonly store: ApprovalStore
  /** As they are now, the oldest first: `pending` is what may still be answered. */
  list(filter?: ApprovalFilter): Promise<ApprovalRecord[]>
  get(id: string): Promise<ApprovalRecord | undefined>
  /**
   * Answers a request. The first answer counts.
   *
   * @param origin for the audit log; `channel` and `identity` for hooks and spans, too.
   * @throws HookspanError `APPROVAL_NOT_FOUND`, `APPROVAL_ANSWERED`, `APPROVAL_EXPIRED`, `APPROVAL_MISMATCH` when
   * `argsDigest` is not the request's, `APPROVAL_NOT_ALLOWED` when this approver or this decision is not among those
   * asked for, `APPROVAL_UNREACHABLE` when the store does not answer, `INVALID_ANSWER`.
   */
  respond(id: string, answer: ApprovalAnswer, origin?: AnswerOrigin): Promise<ApprovalRecord>
  /** Writes a refused attempt to the audit log. */
  noteRefused(details: Omit<AuditEvent, 'event'>): Promise<void>
  /** Resolves once the channels take answers. */
  ready(): Promise<void>
  /** Takes the answers that have come in, writes down what was cancelled last, stops the channels and lets go of the store. */
  close(): Promise<void>
}
