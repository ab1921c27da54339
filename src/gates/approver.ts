import type { AnswerIdentity, GatePoint } from '../hooks/index.ts'
import { errorMessage, HookspanError, type HookspanErrorCode } from '../internal/errors.ts'
import { a, assertFields, type Fields, required } from '../internal/expect.ts'
import type { ApprovalChoice } from './decision.ts'

/** A question to a human, as a rule about one tool call. Plain JSON. */
export interface ApprovalRequest {
  readonly id: string
  readonly operationId: string
  readonly rootOperationId: string
  readonly agentName?: string
  readonly toolCallId: string
  /** The dispatcher's own key of the call: together with `operationId` and `gateId` what the id is made of. */
  readonly callKey: string
  readonly gateId: string
  /** The gate's point; `beforeToolCall` unless something else than a tool call is asked about. */
  readonly point: GatePoint
  readonly identifier: string
  readonly apiName: string
  readonly args: unknown
  /** SHA-256, in hex, of the canonical JSON of `args`: what the answer is bound to. */
  readonly argsDigest: string
  readonly instructions?: string
  readonly approvers?: readonly string[]
  /** Milliseconds since 1970. */
  readonly requestedAt: number
  /** Milliseconds since 1970; absent when the question never expires. */
  readonly expiresAt?: number
  readonly allow: readonly ApprovalChoice[]
}

/** The human's answer. */
export interface ApprovalAnswer {
  readonly decision: ApprovalChoice
  /** Who answered. */
  readonly approver?: string
  readonly reason?: string
  /** With `edit`: the arguments to run instead. */
  readonly args?: unknown
  /** Digest of the arguments that were shown. An answer whose digest differs from the request's is refused. */
  readonly argsDigest?: string
  /** With `reject`: end the run instead of telling the model. @default false */
  readonly stop?: boolean
  /**
   * With `approve` and `edit`: the same gate asks the same approvers no more about this tool, at this point, for the rest of the run.
   *
   * @default false
   */
  readonly alwaysAllow?: boolean
}

/** An answer as an approver gives it. */
export interface HeardAnswer extends ApprovalAnswer {
  /** By what way it came, for events and spans: `http`, `page`, `slack`, ... */
  readonly channel?: string
  /** Whether it is known who gave it: by something that only they have (`proved`), or because it was said (`claimed`). */
  readonly identity?: AnswerIdentity
}

/** Nobody answers while this process waits: the run is to be parked, and the answer found when it is resumed. */
export interface ParkedApproval {
  readonly decision: 'park'
}

/** Lets an approved call run at most once, over processes that end at any moment. */
export interface ExecutionLedger {
  /**
   * Before the tool runs. `run`: this process may. `done`: it ran before, and this is what it gave. `unknown`: a
   * process took it and never told how it ended.
   */
  claim(requestId: string): Promise<ExecutionClaim>
  /** After the tool ran. */
  settle(requestId: string, result: SettledExecution): Promise<void>
  /**
   * Before a saved run goes on; the key is that of its state. `run`: this process may, until it dies or says what came
   * of it. `held`: a process that lives goes on with it. `done`: it went on before, and this is what came of it. Absent:
   * nothing keeps two processes from going on from one state.
   */
  claimRun?(key: string): Promise<RunClaim>
  /** After the run went on: what came of it, as JSON. Absent: nothing that counts, so that it may go on from there again. */
  settleRun?(key: string, result?: unknown): Promise<void>
}

export type RunClaim =
  | {
      readonly state: 'run'
      /** Aborted once another process may go on with the run, as where a lease ran out: it is gone on with here no further. */
      readonly lost?: AbortSignal
    }
  | { readonly state: 'held' }
  | { readonly state: 'done'; readonly result: unknown }

export type ExecutionClaim =
  | { readonly state: 'run' }
  | { readonly state: 'done'; readonly result: SettledExecution }
  | { readonly state: 'unknown' }

/** What a tool gave, as JSON. */
export interface SettledExecution {
  readonly ok: boolean
  /** What it returned, when `ok`. */
  readonly value?: unknown
  /** What it said of that, where it returned a `ToolResult`. */
  readonly told?: { readonly content: string; readonly success: boolean }
  /** What it threw, when not. */
  readonly error?: string
}

/** Whoever can ask a human. */
export interface Approver {
  /**
   * Resolves with the answer. Rejecting, or an answer outside of `request.allow`, denies the call.
   * `{ decision: 'park' }` ends the tool call as `waiting`; asked again with the same `request.id`, it gives the
   * answer. The signal is aborted at the request's expiry and when the run is aborted, stopped or ended; with a reason whose
   * `cause` is a HookspanError `STATE_CLAIMED` when another process goes on with the run, and waits for the answer.
   */
  requestApproval(
    request: ApprovalRequest,
    options: { signal: AbortSignal },
  ): Promise<HeardAnswer | ParkedApproval>
  /**
   * Asked once when the time is over: an answer that was given just in time still counts, and from then on none is
   * taken. Absent, or nothing: nobody answered.
   */
  lookup?(request: ApprovalRequest): Promise<HeardAnswer | undefined>
  /**
   * The run ended, or was stopped, while the parked request was open: nobody needs the answer, and none is taken. Told
   * again of one that is closed, it does nothing.
   */
  withdraw?(requestId: string): void | Promise<void>
  /**
   * A run that went on from a saved state has ended. It may have asked something just before its process died, which the state
   * does not know of: whatever it or a sub-agent of it has open is closed, and no answer is taken.
   */
  withdrawRun?(rootOperationId: string): Promise<void>
  /**
   * Whether asking about the request again gives an answer or an end at once: somebody answered, or its time is over. Changes
   * nothing. Whoever wakes parked runs asks it.
   */
  closed?(requestId: string): Promise<boolean>
  /**
   * Nobody is asked, because a human said before that this is always allowed (`alwaysAllow`). Told before it runs; rejecting
   * denies it.
   */
  allowed?(request: ApprovalRequest): void | Promise<void>
  /** Present: an approved tool call is claimed before it runs. */
  readonly ledger?: ExecutionLedger
}

/**
 * What was asked before under the id of a request counts for the same tool and the same arguments only: the code may be another one now.
 *
 * @throws HookspanError `APPROVAL_MISMATCH`.
 */
export function assertSameCall(asked: ApprovalRequest, request: ApprovalRequest): void {
  if (asked.apiName !== request.apiName || asked.identifier !== request.identifier) {
    throw new HookspanError(
      'APPROVAL_MISMATCH',
      `the request was about "${asked.apiName}" of "${asked.identifier}", now it is "${request.apiName}" of "${request.identifier}"`,
    )
  }
  if (asked.argsDigest === request.argsDigest) return
  throw new HookspanError(
    'APPROVAL_MISMATCH',
    `the request was about other arguments: digest ${asked.argsDigest}, now ${request.argsDigest}`,
  )
}

const APPROVER: Fields<Approver> = {
  requestApproval: required(a.function),
  lookup: a.function,
  withdraw: a.function,
  withdrawRun: a.function,
  closed: a.function,
  allowed: a.function,
  ledger: a.object,
}
const LEDGER: Fields<ExecutionLedger> = {
  claim: required(a.function),
  settle: required(a.function),
  claimRun: a.function,
  settleRun: a.function,
}

/** @throws HookspanError of the code, naming the method that is missing or misspelt. */
export function assertApprover(approver: unknown, whose: string, code: HookspanErrorCode): void {
  const { approver: inside } = (approver ?? {}) as { approver?: Partial<Approver> }
  if (typeof inside?.requestApproval === 'function') {
    const mend = 'Give `dispatcher.use()` all of it, or give its `approver`.'
    throw new HookspanError(code, `The approver of ${whose} is what createApprovals() gave. ${mend}`)
  }
  assertFields<Approver>(approver, APPROVER, `the approver of ${whose}`, code)
  const { ledger } = approver
  if (ledger !== undefined) assertFields<ExecutionLedger>(ledger, LEDGER, `the ledger of ${whose}`, code)
}

/** Never rejects: what stays open expires. */
export async function withdrawRun(approver: Approver | undefined, rootOperationId: string): Promise<void> {
  try {
    await approver?.withdrawRun?.(rootOperationId)
  } catch (error) {
    const what = `Approvals of run "${rootOperationId}", which has ended, may be open still`
    console.warn(`hookspan: ${what}: ${errorMessage(error)}`)
  }
}
