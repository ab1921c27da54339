import type { ExecutionClaim, ExecutionLedger, SettledExecution } from '../gates/index.ts'
import { errorMessage } from '../internal/errors.ts'
import type { AuditEvent } from './audit-chain.ts'
import { onHost } from './audit-events.ts'
import type { AuditLog } from './audit-log.ts'
import type { SideWork } from './side-work.ts'
import type { ApprovalRecord, ApprovalStore } from './store.ts'

/** What approvals write down of themselves, in the log they are given, if any. */
export class AuditTrail {
  readonly #log: AuditLog | undefined

  constructor(log: AuditLog | undefined) {
    this.#log = log
  }

  get isKept(): boolean {
    return this.#log !== undefined
  }

  /** An audit log that cannot be written is a failure of the approval, not a nuisance: the caller hears of it. */
  async append(event: AuditEvent): Promise<void> {
    await this.#log?.append(onHost(event))
  }

  /** Lets `work` write and act while nobody else writes, where the log can do that. */
  exclusively<T>(work: (append: AuditLog['append']) => Promise<T>): Promise<T> {
    const exclusively = this.#log?.exclusively?.((append) => work((event) => append(onHost(event))))
    return exclusively ?? work((event) => this.append(event))
  }
}

const STATES = { claimed: 'unknown', settled: 'done' } as const

/** What a claim of it gives, unless somebody is faster; undefined where nobody may claim it. */
function expectedClaim(record: ApprovalRecord | undefined): ExecutionClaim['state'] | undefined {
  if (record?.status !== 'answered') return undefined
  return record.execution === undefined ? 'run' : STATES[record.execution]
}

/**
 * The store's claims, written down, in the log first: where that cannot be written nothing is claimed, and the yes counts once it can. Each is tracked, so that whoever closes the store waits for it: a run that is parked
 * says so on its way, and its process may end with it.
 */
export function loggedLedger(store: ApprovalStore, trail: AuditTrail, work: SideWork): ExecutionLedger {
  const claimed = (id: string): Promise<ExecutionClaim> =>
    trail.exclusively(async (append) => {
      const tell = (state: ExecutionClaim['state']) => append({ event: 'claimed', requestId: id, state })
      const expected = trail.isKept ? expectedClaim(await store.get(id)) : undefined
      if (expected !== undefined) await tell(expected)
      const claim = await store.claim(id).catch(async (error: unknown) => {
        await append({ event: 'refused', requestId: id, code: 'STORE_FAILED', problem: errorMessage(error) })
        throw error
      })
      if (claim.state !== expected) await tell(claim.state)
      return claim
    })
  const settled = async (id: string, result: SettledExecution): Promise<void> => {
    await store.settle(id, result)
    await trail.append({ event: 'settled', requestId: id, ok: result.ok })
  }
  const { claimRun, settleRun } = store
  return {
    claim: (id) => work.track(claimed(id)),
    settle: (id, result) => work.track(settled(id, result)),
    ...(claimRun !== undefined &&
      settleRun !== undefined && {
        claimRun: (key) => work.track(claimRun.call(store, key)),
        settleRun: (key, result) => work.track(settleRun.call(store, key, result)),
      }),
  }
}
