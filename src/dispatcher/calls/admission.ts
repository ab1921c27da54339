import { isRefusal } from '../../gates/chain.ts'
import type { OperationCore } from '../run/operation-core.ts'
import { decide } from './decide.ts'

/**
 * What the first step or call waits for: where the run was saved, that no other process goes on with it; then the
 * `onStart` gates, which decide once. Undefined when they have. Rejects with `STATE_CLAIMED`.
 */
export function admission(core: OperationCore): Promise<unknown> | undefined {
  const { phase, claim } = core
  if (claim?.pending !== undefined) return claim.pending.then(() => admission(core))
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
