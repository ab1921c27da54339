import type { Refusal } from '../../gates/chain.ts'
import type { Stop } from '../run/phase.ts'

/**
 * Thrown by a tool in which a run waits for a human in another process, as a sub-agent's does: the call ends as
 * `waiting`, and the same call in the resumed run goes on where it was.
 */
export class RunSuspended extends Error {
  override readonly name: string = 'RunSuspended'
}

/** Thrown by a tool whose whole work was refused by a gate or a human: the call ends as `denied` or `rejected`. */
export class CallRefused extends Error {
  override readonly name: string = 'CallRefused'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.reason)
    this.refusal = refusal
  }
}

/** What a call is refused with whose run was stopped by what was decided elsewhere. */
export function refusalBy(stop: Stop): Refusal {
  return { kind: 'deny', ...stop, stop: true }
}
