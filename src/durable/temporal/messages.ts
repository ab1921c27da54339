import type { DurableOutcome } from '../runs.ts'

// What a workflow and its activity say to each other. Plain JSON; no more of it than is new, because Temporal keeps all of it.

/** The signal that one of the approvals was answered. */
export const ANSWERED = 'hookspan answered'

/** The signal that brings what is to be kept, and the query that gives what is. */
export const KEPT = 'hookspan kept'

/** The activity that has a run until it ends or waits for a human. */
export const activityOf = (agent: string): string => `${agent}.segment`

export interface Turn {
  readonly input: unknown
  /** How many activities the run had before this one. */
  readonly turn: number
  /** The run is to end now. */
  readonly cancelled?: true
}

/** What a run has given, in its order, from this position on. */
export interface Note extends Pick<Turn, 'turn'> {
  readonly attempt: number
  readonly position: number
  readonly values: readonly unknown[]
}

/** How an activity ended: with the run, or to be begun again. */
export interface TurnEnd {
  readonly outcome?: DurableOutcome
  /** Once one of these is answered, or this time is over; what came before was not worth a signal. */
  readonly wait?: { readonly requestIds: readonly string[]; readonly timeoutMs: number; readonly note: Note }
  /** At once, with this timeout. */
  readonly heartbeatTimeoutMs?: number
}
