import type { ApprovalChoice } from './decision.ts'

/** A question to a human about one tool call. Plain JSON. */
export interface ApprovalRequest {
  readonly id: string
  readonly operationId: string
  readonly rootOperationId: string
  readonly agentName?: string
  readonly toolCallId: string
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
}

/** Whoever can ask a human. */
export interface Approver {
  /**
   * Resolves with the answer. Rejecting, or an answer outside of `request.allow`, denies the call.
   * The signal is aborted at the request's expiry and when the run is aborted.
   */
  requestApproval(request: ApprovalRequest, options: { signal: AbortSignal }): Promise<ApprovalAnswer>
}
