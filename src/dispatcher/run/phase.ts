import type { ParkedOperation, SavedStep } from './parked.ts'

/**
 * Where a run stands. This class is the only one that says so.
 *
 *     new ──► admitting ──► running ──► stopping
 *      │          │            │           │
 *      └──────────┴─────┬──────┴───────────┘
 *                       ├──► ending ──► ended     complete(), fail(), interrupt(), abandon()
 *                       └──► parked               park(): it goes on in another operation
 *
 * `new`: the `onStart` gates have not been asked. `admitting`: they decide. `stopping`: a gate or a human said that
 * the run is to end, and nothing new begins in it. `ending`: its last events are told.
 */
export type PhaseName = 'new' | 'admitting' | 'running' | 'stopping' | 'ending' | 'ended' | 'parked'

/** Why a run is to end. */
export interface Stop {
  readonly code: string
  readonly reason: string
}

export class Phase {
  #name: PhaseName
  #stop: Stop | undefined
  #admitted: Promise<unknown> | undefined
  #suspended: SavedStep | undefined
  #left = false

  constructor(resumed: ParkedOperation | undefined) {
    this.#name = resumed === undefined || resumed.unadmitted !== undefined ? 'new' : 'running'
    this.#suspended = resumed?.openStep
    if (resumed?.stop !== undefined) this.requestStop(resumed.stop)
  }

  get name(): PhaseName {
    return this.#name
  }

  /** Nothing is told of it any more. */
  get over(): boolean {
    return this.#name === 'ended' || this.#name === 'parked'
  }

  get ending(): boolean {
    return this.#name === 'ending'
  }

  /** Set once a gate or a human said that the run is to end, and from then on. */
  get stop(): Stop | undefined {
    return this.#stop
  }

  /** The `onStart` gates have not decided. */
  get unadmitted(): boolean {
    return this.#name === 'new' || this.#name === 'admitting'
  }

  /** What the `onStart` gates made of the input, once they were asked. */
  get admitted(): Promise<unknown> | undefined {
    return this.#admitted
  }

  /** The step that goes on when the run does: it was open when the run was parked. */
  get suspendedStep(): SavedStep | undefined {
    return this.#suspended
  }

  /** The `onStart` gates decide. */
  admit(decided: Promise<unknown>): void {
    this.#admitted = decided
    if (this.#name === 'new') this.#name = 'admitting'
  }

  /** They have decided, or there are none. */
  run(): void {
    if (this.#name === 'new' || this.#name === 'admitting') this.#name = 'running'
  }

  /** False when the run is to end already: the first one who says so counts. */
  requestStop(stop: Stop): boolean {
    if (this.#stop !== undefined) return false
    this.#stop = stop
    if (!this.over && !this.ending) this.#name = 'stopping'
    return true
  }

  suspend(step: SavedStep): void {
    this.#suspended = step
  }

  takeSuspended(): SavedStep | undefined {
    const step = this.#suspended
    this.#suspended = undefined
    return step
  }

  /** False when it has begun to end before: a handler of one of the last events may end the run once more. */
  beginEnd(): boolean {
    if (this.over || this.ending) return false
    this.#name = 'ending'
    return true
  }

  end(): void {
    this.#name = 'ended'
  }

  park(): void {
    this.#name = 'parked'
  }

  /** The same, but that another process has gone on with it already. */
  leave(): void {
    this.#left = true
    this.park()
  }

  get left(): boolean {
    return this.#left
  }
}
