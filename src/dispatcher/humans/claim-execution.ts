import type { Refusal } from '../../gates/chain.ts'
import type { SettledExecution } from '../../gates/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { expected } from '../../internal/expect.ts'
import { isRecord } from '../../internal/objects.ts'
import type { OperationCore } from '../run/operation-core.ts'

/** What an approved call may do: run, and say how it ended; take the result of an earlier run; nothing. */
export type Claimed =
  | { readonly state: 'run'; readonly settle?: Settle }
  | { readonly state: 'done'; readonly result: SettledExecution }
  | { readonly state: 'refused'; readonly refusal: Refusal }

type Settle = (result: SettledExecution) => Promise<void>

/** Claims the one run that an approval allows, where the approver keeps a ledger of them. Never throws. */
export async function claimExecution(core: OperationCore, requestId: string): Promise<Claimed> {
  const settle = settlerOf(core, requestId)
  const ledger = core.approver?.ledger
  if (ledger === undefined || settle === undefined) return { state: 'run' }
  try {
    const claim = await ledger.claim(requestId)
    if (claim?.state === 'run') return { state: 'run', settle }
    if (claim?.state === 'done' && isRecord(claim.result)) return claim
    if (claim?.state !== 'unknown') throw expected('`claim` of the ledger to give a claim', claim)
    return { state: 'refused', refusal: unknownExecution('the approved tool was running') }
  } catch (error) {
    const reason = `the approved call could not be claimed: ${errorMessage(error)}`
    return { state: 'refused', refusal: { kind: 'deny', code: 'approval_error', reason, stop: false } }
  }
}

/** Of a tool that may have had its effect, and nobody knows. */
export function unknownExecution(what: string): Refusal {
  const reason = `the process ended while ${what}; it is not run a second time`
  return { kind: 'deny', code: 'execution_unknown', reason, stop: false }
}

/** Writes down how an approved run ended. Undefined where nobody keeps a ledger. */
export function settlerOf(core: OperationCore, requestId: string): Settle | undefined {
  const ledger = core.approver?.ledger
  if (ledger === undefined) return undefined
  return async (result) => {
    try {
      await ledger.settle(requestId, result)
    } catch (error) {
      core.reportFailure('approval.settle', error)
    }
  }
}

/** Nobody needs the answer to a parked question any more. The approver is told, and what it throws is reported. */
export function withdrawParked(core: OperationCore, requestId: string): void {
  if (core.questions.left) return
  const report = (error: unknown) => core.reportFailure('approval.withdraw', error)
  try {
    Promise.resolve(core.approver?.withdraw?.(requestId)).catch(report)
  } catch (error) {
    report(error)
  }
}
