import type { GateRecord, ToolSource } from '../../hooks/index.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import type { WaitingCall } from './parked.ts'

/** What a gate decides on, and where in the run that is. */
export interface DecidedPlace {
  readonly traced: TracedActivity
  /** Takes what the gates decide. */
  readonly gates: GateRecord[]
  readonly stepIndex: number | undefined
  readonly identifier?: string
  readonly source?: ToolSource
  readonly apiName?: string
  readonly toolCallId?: string
  readonly callKey?: string
  readonly args?: unknown
  readonly model?: string
  readonly provider?: string
  /** Where the call may be taken up again by another process, so that an approver may park the run. */
  readonly parkable?: boolean
  /** The call as it waited, when this is its second half. */
  readonly waited?: WaitingCall
  /** Ids of the requests about the call that were answered; grows with each. */
  readonly settled?: string[]
}
