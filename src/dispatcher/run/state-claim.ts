import type { Approver, ExecutionLedger, RunClaim } from '../../gates/index.ts'
import { errorMessage, HookspanError } from '../../internal/errors.ts'
import { sha256 } from '../../internal/sha256.ts'
import type { LiveParent, OperationInit } from './operation-init.ts'
import type { ParkedOperation } from './parked.ts'

/** Where it is written down which states a run has gone on from. */
export interface RunLedger {
  claimRun(key: string): Promise<RunClaim>
  settleRun(key: string, result?: unknown): Promise<void>
}

/** Undefined where the approvals' store does not keep two processes apart. */
export function runLedgerOf(ledger: ExecutionLedger | undefined): RunLedger | undefined {
  return ledger?.claimRun !== undefined && ledger.settleRun !== undefined ? (ledger as RunLedger) : undefined
}

/** States whose claim the caller of `startOperation` holds, and settles: it knows better what came of the run. */
const coveredStates = new WeakMap<ParkedOperation, StateClaim | undefined>()

/**
 * Keeps a run from going on from one state twice: what no human has to approve would be done twice, too.
 *
 *     asking ──► held ──► settled
 *        └─────► refused              another one goes on with it, or went on
 */
export class StateClaim {
  readonly #ledger: RunLedger
  readonly #name: string
  readonly #keys: string[]
  readonly #lost = new AbortController()
  #asking: Promise<void> | undefined
  #settling: Promise<void> | undefined
  #refusal: unknown

  constructor(ledger: RunLedger, saved: ParkedOperation) {
    this.#ledger = ledger
    this.#name = saved.operationId
    this.#keys = [keyOf(saved)]
  }

  /**
   * For an operation that resumes; `pending` says whether it may. Without a ledger that is known at once.
   *
   * @throws HookspanError `STATE_CLAIMED` when this process went on from the state and there is no ledger.
   */
  static ask(ledger: RunLedger | undefined, saved: ParkedOperation): StateClaim {
    const claim = new StateClaim(ledger ?? OWN_LEDGER, saved)
    if (ledger === undefined) {
      const known = claimHere(claim.#keys[0] as string)
      if (known.state !== 'run') throw claim.refused(known)
      return claim
    }
    claim.#asking = claim.#ask()
    // Whoever waits for it is told, and it may be that nobody does.
    claim.#asking.catch(() => {})
    return claim
  }

  static cover(saved: ParkedOperation, claim?: StateClaim): void {
    coveredStates.set(saved, claim)
  }

  static isCovered(saved: ParkedOperation): boolean {
    return coveredStates.has(saved)
  }

  /** Tells when the claim is lost that the operation, or its caller, has of the state. */
  static whenLost(own: StateClaim | undefined, saved: ParkedOperation | undefined, lost: () => void): void {
    const claim = own ?? (saved && coveredStates.get(saved))
    if (claim !== undefined) claim.#lost.signal.addEventListener('abort', lost, { once: true })
  }

  /** Until it is known whether the run may go on; after that only where it may not. Rejects with the refusal. */
  get pending(): Promise<void> | undefined {
    return this.#asking
  }

  /** Why the run may not go on here. */
  get refusal(): unknown {
    return this.#refusal
  }

  get settled(): Promise<void> | undefined {
    return this.#settling
  }

  async #ask(): Promise<void> {
    try {
      const claim = await this.claim()
      if (claim.state !== 'run') throw this.refused(claim)
      this.#asking = undefined
    } catch (error) {
      this.#refusal = error
      throw error
    }
  }

  /** The claim as it is, for who gives out what came of the run before. */
  async claim(): Promise<RunClaim> {
    const claim = await this.#ledger.claimRun(this.#keys[0] as string)
    if (claim.state === 'run') claim.lost?.addEventListener('abort', () => this.#lose(), { once: true })
    return claim
  }

  #lose(): void {
    const message =
      `Run "${this.#name}" was lost: this process could not say for too long that it goes on with it, and another one may. ` +
      'Resume it from the same state.'
    this.#refusal ??= new HookspanError('STATE_CLAIMED', message)
    this.#lost.abort()
  }

  refused({ state }: RunClaim): HookspanError {
    const message =
      state === 'done'
        ? `Run "${this.#name}" went on from this state before: resume it from what came of that.`
        : `Run "${this.#name}" is being resumed from this state by another process, or here.`
    return new HookspanError('STATE_CLAIMED', `${message} Nothing was run.`)
  }

  /** While this process lives, no other one goes on from what is saved on the way either. */
  async alsoHold(saved: ParkedOperation): Promise<void> {
    if (this.#ledger === OWN_LEDGER) return
    const key = keyOf(saved)
    if (this.#refusal !== undefined || this.#settling !== undefined || this.#keys.includes(key)) return
    this.#keys.push(key)
    await this.#tell('is at work', () => this.#ledger.claimRun(key))
  }

  /** What came of it. Undefined: nothing that counts, so that the run may go on from there again. Never rejects. */
  settle(result: unknown): Promise<void> {
    this.#settling ??= this.#settle(result)
    return this.#settling
  }

  /** The run was saved again, as it is now: who goes on, goes on from that. Never rejects. */
  moveOn(saved: ParkedOperation, result: unknown): Promise<void> {
    return this.settle(keyOf(saved) === this.#keys[0] ? undefined : result)
  }

  async #settle(result: unknown): Promise<void> {
    // At once where it is held: who parks a run may go on with it in the same turn.
    if (this.#asking !== undefined) {
      try {
        await this.#asking
      } catch {
        return
      }
    }
    await Promise.all(
      this.#keys.map((key) => this.#tell('went on', () => this.#ledger.settleRun(key, result))),
    )
  }

  async #tell(what: string, told: () => Promise<unknown>): Promise<void> {
    try {
      await told()
    } catch (error) {
      const lost = `hookspan: that run "${this.#name}" ${what} could not be written down`
      console.warn(`${lost}, and it may be resumed from the same state again: ${errorMessage(error)}`)
    }
  }
}

/**
 * The claim of an operation that resumes; undefined where its caller, or the root above it, holds one.
 *
 * @throws HookspanError `STATE_CLAIMED`: see {@link StateClaim.ask}.
 */
export function claimOf(init: OperationInit, plugged: Approver | undefined): StateClaim | undefined {
  const { resume } = init
  if (resume === undefined || StateClaim.isCovered(resume)) return undefined
  const parent = init.parent && 'asParent' in init.parent ? init.parent.asParent() : init.parent
  const live = (parent as Partial<LiveParent> | undefined)?.live
  if (live?.tree.isResumed) return undefined
  const { ledger } = init.approver ?? live?.approver ?? plugged ?? {}
  return StateClaim.ask(runLedgerOf(ledger), resume)
}

/** The same for as long as nothing happens in the run or in a sub-agent of it, whoever saves it. */
function keyOf({ operationId, runKey = '', sequence, tree }: ParkedOperation): string {
  const { steps = 0, llmCalls = 0, toolCalls = 0 } = tree?.sums ?? {}
  return sha256(JSON.stringify([operationId, runKey, sequence, steps, llmCalls, toolCalls]))
}

/** States that this process went on from, where no store of approvals says so to the others. */
const goneOnFrom = new Map<string, RunClaim>()
const MAX_REMEMBERED = 1_024

function claimHere(key: string): RunClaim {
  const known = goneOnFrom.get(key)
  if (known === undefined) goneOnFrom.set(key, { state: 'held' })
  return known ?? { state: 'run' }
}

const OWN_LEDGER: RunLedger = {
  async claimRun(key) {
    return claimHere(key)
  },
  async settleRun(key, result) {
    goneOnFrom.delete(key)
    if (result === undefined) return
    goneOnFrom.set(key, { state: 'done', result: null })
    for (const [oldest, { state }] of goneOnFrom) {
      if (goneOnFrom.size <= MAX_REMEMBERED) break
      if (state === 'done') goneOnFrom.delete(oldest)
    }
  },
}
