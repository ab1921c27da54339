/** Requests that are counted, and shown; one more says that there are more. */
export const MOST_ASKED = 500

export function countAsked(requests: number): string {
  return requests > MOST_ASKED ? `${MOST_ASKED}+` : `${requests}`
}

/** A request to people, as the page is told of it. */
export interface WaitingRequest {
  readonly id: string
  /** The run it belongs to; it may not have been sent here. */
  readonly traceId: string
  readonly agentName?: string
  readonly toolCallId: string
  readonly identifier: string
  readonly apiName: string
  readonly args: unknown
  /** Goes back with the answer: what was seen is what may run. */
  readonly argsDigest: string
  readonly instructions?: string
  readonly approvers?: readonly string[]
  /** Milliseconds since 1970. */
  readonly requestedAt: number
  /** Milliseconds since 1970. */
  readonly expiresAt?: number
  readonly allow: readonly ('approve' | 'edit' | 'reject')[]
}

export interface ApprovalReply {
  readonly decision: 'approve' | 'edit' | 'reject'
  readonly argsDigest: string
  readonly args?: unknown
  readonly reason?: string
}

export interface ApprovalOutcome {
  readonly status: 'pending' | 'answered' | 'expired' | 'cancelled'
  readonly answer?: { readonly decision: string; readonly approver?: string; readonly reason?: string }
}
