import type { SegmentInput } from '../drive.ts'

// What a workflow and its activities say to each other. Plain JSON; no more of it than is new, because Temporal keeps all of it.

/** The signal that one of the approvals was answered. */
export const ANSWERED = 'hookspan answered'

/** The signal that brings what is to be kept, and the query that gives what is. */
export const KEPT = 'hookspan kept'

/** The activity of an agent, by what it does. */
export const activityName = (agent: string, what: 'begin' | 'segment' | 'look'): string => `${agent}.${what}`

/** What a run is begun with. Milliseconds. */
export interface Begun {
  /** Epoch milliseconds at which the run is to end. */
  readonly endsAt?: number
  readonly heartbeatTimeoutMs: number
}

export interface SegmentAsk extends Omit<SegmentInput<unknown>, 'kept'> {
  readonly input: unknown
  /** How many notes come before it. */
  readonly position: number
}

/** The records that one part of a run has given. */
export interface Note {
  /** Who sent it: of two for one position, the first counts. */
  readonly by: string
  readonly position: number
  readonly kept: readonly unknown[]
}
