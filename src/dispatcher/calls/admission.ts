import { isRefusal } from '../../gates/chain.ts'
import { untilAborted } from '../../internal/async.ts'
import type { OperationCore } from '../run/operation-core.ts'
import { decide } from './decide.ts'

/**
 * What the first step or call waits for: where the run was saved, that no other process goes on with it; then the
 * `onStart` gates, which decide once. In a tool of a run that is saved, each waits until what it is in is saved. Undefined when
 * there is nothing to wait for. Rejects with `STATE_CLAIMED`, and where it cannot be saved.
 */
export function admission(core: OperationCore): Promise<unknown> | undefined {
  const { phase, claim } = core
  const saving = core.ended ? undefined : core.inside?.pending
  const waits = claim?.pending ?? (saving && untilAborted(saving, core.signal))
  if (waits !== undefined) {
    const admitted = waits.then(() => admission(core))
    // Whoever waits for it is told, and some only ask whether there is anything to wait for.
    admitted.catch(() => {})
    return admitted
  }
  if (phase.name === 'running') return undefined
  if (phase.name === 'new') {
    if (core.decidesAt('onStart')) return admit(core)
    phase.run()
  }
  return phase.name === 'admitting' ? phase.admitted : undefined
}

/** Lets the `onStart` gates decide, once. Gives the effective input. */
export function admit(core: OperationCore): Promise<unknown> {
  const { phase } = core
  if (phase.admitted === undefined) phase.admit(decideStart(core))
  return phase.admitted as Promise<unknown>
}

async function decideStart(core: OperationCore): Promise<unknown> {
  const { input, claim } = core
  const asks = core.phase.name === 'new'
  if (claim?.pending !== undefined) await claim.pending
  const place = { traced: core.traced, gates: core.gates, stepIndex: undefined }
  const decided = asks ? await decide(core, 'onStart', input, place) : undefined
  if (isRefusal(decided)) core.requestStop(decided)
  core.phase.run()
  return decided?.kind === 'proceed' ? decided.payload : input
}
