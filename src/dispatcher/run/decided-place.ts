import type { ApprovalRequest, GateContext } from '../../gates/index.ts'
import type { GateRecord } from '../../hooks/index.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import type { OpenActivity } from './operation-core.ts'

type OfCall = 'identifier' | 'source' | 'apiName' | 'toolCallId' | 'callKey' | 'args'

/** What a gate decides on, and where in the run that is. */
export interface DecidedPlace extends Pick<GateContext, OfCall | 'model' | 'provider' | 'usage'> {
  readonly traced: TracedActivity
  /** What is decided on: once it has been ended, nobody is to be asked about it. */
  readonly call?: OpenActivity
  /** Takes what the gates decide. */
  readonly gates: GateRecord[]
  readonly stepIndex: number | undefined
  /** Where the call may be taken up again by another process, so that an approver may park the run. */
  readonly parkable?: boolean
  /** The question about the call that is open while its run is parked. */
  readonly asked?: ParkedQuestion
  /** Ids of the requests about the call that were answered; grows with each. */
  readonly settled?: string[]
}

/** Told as asked, and not yet as answered. */
export interface ParkedQuestion {
  request: ApprovalRequest | undefined
}
