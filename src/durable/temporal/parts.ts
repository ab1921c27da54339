import type { Segment, SegmentInput } from '../drive.ts'

// What a workflow and its activities say to each other. Plain JSON; no more of it than is new, because Temporal keeps all of it.

/** The signal that one of the approvals was answered. */
export const ANSWERED = 'hookspan answered'

/** The activity of an agent, by what it does. */
export const activityName = (agent: string, what: 'begin' | 'segment' | 'look'): string => `${agent}.${what}`

/** What a run is begun with. Milliseconds. */
export interface Begun {
  readonly maxDurationMs?: number
  readonly segmentTimeoutMs: number
  readonly heartbeatTimeoutMs: number
}

export interface SegmentAsk extends Omit<SegmentInput<unknown>, 'kept'> {
  /** How many records come before it: they are in the history. */
  readonly position: number
  /** The segment that gave the last of them. */
  readonly after?: string
  /** The worker that has the run was asked for it, and did not give it. */
  readonly again?: true
}

export interface SegmentGiven extends Segment<unknown, unknown> {
  readonly token: string
  /** Where the worker that has the run is found. */
  readonly workerQueue?: string
}
