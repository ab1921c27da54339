import type { Activity, ActivityEnd, Annotation } from '../dispatcher/index.ts'
import type { GateRecord } from '../hooks/index.ts'
import type { SpanFailure } from './end.ts'

/**
 * Why all of a run is worth keeping, in the words of `hookspan.operation.keep`. `human`: somebody was asked, or refused;
 * `cost`, `duration`: more than it was to be.
 */
export type KeepReason = 'error' | 'denied' | 'human' | 'cost' | 'duration'

/** From where on a run is kept for its size alone. Absent: never for that. */
export interface KeepLimits {
  readonly costUsd: number | undefined
  readonly durationMs: number | undefined
}

/**
 * What is known of a run, with those of its agents that are of this process. The first reason stays, because whoever
 * samples whole traces wants one answer, and spans that ended before have been sent without.
 */
export class RunKeep {
  readonly #limits: KeepLimits
  readonly #startedAt: number
  #costUsd = 0
  #reason: KeepReason | undefined

  /** `startedAt`: epoch milliseconds; where the run goes on, those of its first beginning. */
  constructor(limits: KeepLimits, startedAt: number) {
    this.#limits = limits
    this.#startedAt = startedAt
  }

  get reason(): KeepReason | undefined {
    return this.#reason
  }

  begun(activity: Activity): void {
    if (activity.kind === 'human') this.#reason ??= 'human'
  }

  noted(annotation: Annotation): void {
    if (annotation.kind === 'gate') this.#reason ??= ofGate(annotation.record)
  }

  /** `now`: epoch milliseconds. */
  ended(end: ActivityEnd, failure: SpanFailure | undefined, now: number): void {
    if (end.kind === 'llm') this.#costUsd += end.costUsd ?? 0
    this.#reason ??= ofEnd(end) ?? (failure && 'error') ?? this.#ofSize(end, now)
  }

  #ofSize(end: ActivityEnd, now: number): KeepReason | undefined {
    const { costUsd = Number.POSITIVE_INFINITY, durationMs = Number.POSITIVE_INFINITY } = this.#limits
    // Of a run that goes on, what was spent before is in its totals alone.
    const total = end.kind === 'operation' ? (end.totals?.costUsd ?? 0) : 0
    if (Math.max(this.#costUsd, total) > costUsd) return 'cost'
    return now - this.#startedAt > durationMs ? 'duration' : undefined
  }
}

function ofGate({ decision, enforced }: GateRecord): KeepReason | undefined {
  return decision === 'deny' && enforced ? 'denied' : undefined
}

function ofEnd(end: ActivityEnd): KeepReason | undefined {
  switch (end.kind) {
    case 'tool':
      if (end.outcome === 'denied') return 'denied'
      return end.outcome === 'rejected' || end.outcome === 'waiting' ? 'human' : undefined
    case 'gate':
      return ofGate(end.gate)
    case 'operation':
      if (end.abandoned) return 'error'
      if (end.reason === 'denied') return 'denied'
      return end.reason === 'cost_limit' ? 'cost' : undefined
    default:
      return undefined
  }
}
