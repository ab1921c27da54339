import type { ExecutionLedger } from '../gates/index.ts'
import { errorMessage, HookspanError } from '../internal/errors.ts'
import { sha256 } from '../internal/sha256.ts'
import type { SavedRun } from './run-state.ts'
import type { AgentRun } from './types.ts'

/** Keeps a run from going on from one state twice: what no human has to approve would be done twice, too. */
export class ResumedOnce {
  readonly #ledger: ExecutionLedger | undefined
  readonly #key: string
  readonly #name: string

  constructor(ledger: ExecutionLedger | undefined, saved: SavedRun) {
    this.#ledger = ledger
    this.#key = keyOf(saved)
    this.#name = saved.operation.operationId
  }

  /**
   * Undefined: the run may go on. Else what came of it before.
   *
   * @throws HookspanError `STATE_CLAIMED`.
   */
  async claim(): Promise<AgentRun | undefined> {
    const claim = await this.#ledger?.claimRun?.(this.#key)
    if (claim?.state === 'done') return claim.result as AgentRun
    if (claim?.state !== 'held') return undefined
    const message = `Run "${this.#name}" is being resumed from this state by another process, or here. Nothing was run.`
    throw new HookspanError('STATE_CLAIMED', message)
  }

  /** Never throws: what was done is done. */
  async settle(run: AgentRun | undefined): Promise<void> {
    try {
      await this.#ledger?.settleRun?.(this.#key, run === undefined ? undefined : this.#kept(run))
    } catch (error) {
      const what = `hookspan: that run "${this.#name}" went on could not be written down`
      console.warn(`${what}, and it may be resumed from the same state again: ${errorMessage(error)}`)
    }
  }

  /** What failed or was aborted may be tried again, and what still waits as before has not gone on. */
  #kept({ error: _error, ...run }: AgentRun): Omit<AgentRun, 'error'> | undefined {
    if (run.state !== undefined) return keyOf(run.state) === this.#key ? undefined : run
    return run.status === 'error' || run.reason === 'interrupted' ? undefined : run
  }
}

/** The same for as long as nothing happens in the run, whoever saves it. */
function keyOf(saved: SavedRun): string {
  return sha256(JSON.stringify(placeOf(saved)))
}

function placeOf({ operation, children }: SavedRun): unknown[] {
  const { operationId, runKey = '', sequence } = operation
  const below = Object.entries(children).map(([name, child]) => [name, ...placeOf(child)])
  return [operationId, runKey, sequence, ...below.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))]
}
