/** What the runs of one query differ in from those of another: before and after a change. */
import { formatCost, formatCount, formatDuration } from './format.ts'
import { failedRuns, isOver } from './run-numbers.ts'
import { RUN_STATUSES, type RunStatus, type RunSummary } from './span.ts'
import {
  differenceOf,
  type Estimate,
  MomentSums,
  meanDifference,
  percentile,
  percentileEstimate,
  proportion,
} from './statistics.ts'

const SET_MEASURES = ['failed', 'withErrors', 'denied', 'p50', 'p95', 'tokens', 'cost', 'toolCalls'] as const
export type SetMeasureKey = (typeof SET_MEASURES)[number]

export interface SetMeasure {
  key: SetMeasureKey
  /** Absent where no run tells. */
  a?: number
  b?: number
  /** `b` less `a`, with its 95 % confidence interval. Absent where there are too few runs to say. */
  difference?: Estimate
}

export interface ComparedSet {
  runs: number
  /** That are not running or waiting any more. */
  ended: number
}

export interface SetDiff {
  a: ComparedSet
  b: ComparedSet
  measures: SetMeasure[]
  /** When words were searched for: spans that were not. */
  indexing: number
  problems: string[]
}

interface MeasureWords {
  name: string
  says: string
  method: string
  format: (value: number) => string
  /** Of a difference. @default `format` */
  formatDifference?: (value: number) => string
}

const percent = (share: number) => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`
const points = (share: number) => `${(share * 100).toFixed(1)} points`
const NEWCOMBE = "Newcombe's interval for the difference of two proportions"
const RANKS = 'order statistics, combined by the method of variance estimates recovery'
const WELCH = "Welch's interval for the difference of two means"

export const MEASURE_WORDS: Readonly<Record<SetMeasureKey, MeasureWords>> = {
  failed: {
    name: 'Failed',
    says: 'Failed or interrupted, of the runs that ended',
    method: NEWCOMBE,
    format: percent,
    formatDifference: points,
  },
  withErrors: {
    name: 'With errors',
    says: 'Came to their end though something failed, of the runs that ended',
    method: NEWCOMBE,
    format: percent,
    formatDifference: points,
  },
  denied: {
    name: 'Denied',
    says: 'Stopped by a gate or a person, of the runs that ended',
    method: NEWCOMBE,
    format: percent,
    formatDifference: points,
  },
  p50: { name: 'Duration, p50', says: 'Of the runs that ended', method: RANKS, format: formatDuration },
  p95: { name: 'Duration, p95', says: 'Of the runs that ended', method: RANKS, format: formatDuration },
  tokens: {
    name: 'Tokens',
    says: 'In and out, mean of a run that ended',
    method: WELCH,
    format: formatCount,
  },
  cost: { name: 'Cost', says: 'Mean of a run that ended', method: WELCH, format: formatCost },
  toolCalls: {
    name: 'Tool calls',
    says: 'Mean of a run that ended',
    method: WELCH,
    format: (value) => value.toFixed(value < 10 ? 2 : 1),
  },
}

/** Sums of one set, of runs that come some at a time. Only those that ended count: the others have yet to say what they come to. */
export class RunSet {
  runs = 0
  readonly #byStatus = Object.fromEntries(RUN_STATUSES.map((status) => [status, 0])) as Record<
    RunStatus,
    number
  >
  readonly #durationsMs: number[] = []
  readonly #tokens = new MomentSums()
  readonly #cost = new MomentSums()
  readonly #toolCalls = new MomentSums()

  add(
    runs: readonly Pick<
      RunSummary,
      'status' | 'durationMs' | 'inputTokens' | 'outputTokens' | 'costUsd' | 'toolCalls'
    >[],
  ): void {
    this.runs += runs.length
    for (const run of runs) {
      if (!isOver(run.status)) continue
      this.#byStatus[run.status]++
      this.#durationsMs.push(run.durationMs)
      this.#tokens.add(run.inputTokens + run.outputTokens)
      this.#cost.add(run.costUsd)
      this.#toolCalls.add(run.toolCalls)
    }
  }

  get ended(): number {
    return this.#durationsMs.length
  }

  sortedMs(): Float64Array {
    return Float64Array.from(this.#durationsMs).sort()
  }

  /** How many of those that ended. */
  count(key: 'failed' | 'withErrors' | 'denied'): number {
    if (key === 'failed') return failedRuns({ byStatus: this.#byStatus })
    return this.#byStatus[key === 'denied' ? 'denied' : 'with_errors']
  }

  moments(key: 'tokens' | 'cost' | 'toolCalls') {
    const sums = { tokens: this.#tokens, cost: this.#cost, toolCalls: this.#toolCalls }
    return sums[key].moments()
  }
}

export function measuresOf(a: RunSet, b: RunSet): SetMeasure[] {
  const durations = { a: a.sortedMs(), b: b.sortedMs() }
  return SET_MEASURES.map((key) => {
    if (key === 'p50' || key === 'p95') return ofPercentile(key, durations.a, durations.b)
    if (key === 'failed' || key === 'withErrors' || key === 'denied') return ofShare(key, a, b)
    const [ofA, ofB] = [a.moments(key), b.moments(key)]
    return {
      key,
      ...(ofA.count > 0 && { a: ofA.mean }),
      ...(ofB.count > 0 && { b: ofB.mean }),
      ...found(meanDifference(ofA, ofB)),
    }
  })
}

function ofShare(key: 'failed' | 'withErrors' | 'denied', a: RunSet, b: RunSet): SetMeasure {
  const ofA = a.ended > 0 ? proportion(a.count(key), a.ended) : undefined
  const ofB = b.ended > 0 ? proportion(b.count(key), b.ended) : undefined
  return {
    key,
    ...(ofA && { a: ofA.value }),
    ...(ofB && { b: ofB.value }),
    ...found(ofA && ofB && differenceOf(ofA, ofB)),
  }
}

function ofPercentile(key: 'p50' | 'p95', a: Float64Array, b: Float64Array): SetMeasure {
  const share = key === 'p50' ? 0.5 : 0.95
  const [ofA, ofB] = [percentileEstimate(a, share), percentileEstimate(b, share)]
  return {
    key,
    ...(a.length > 0 && { a: percentile(a, share) }),
    ...(b.length > 0 && { b: percentile(b, share) }),
    ...found(ofA && ofB && differenceOf(ofA, ofB)),
  }
}

function found(difference: Estimate | undefined): Pick<SetMeasure, 'difference'> {
  return difference ? { difference } : {}
}

/** `unclear` where the interval holds zero: these runs do not show that there is a difference. */
export function verdictOf({ difference }: SetMeasure): 'more' | 'less' | 'unclear' {
  if (!difference || (difference.low <= 0 && difference.high >= 0)) return 'unclear'
  return difference.value > 0 ? 'more' : 'less'
}

/** "+3.2 points", "−1.20 s". */
export function signed(key: SetMeasureKey, value: number): string {
  const { format, formatDifference = format } = MEASURE_WORDS[key]
  if (value === 0) return '0'
  return `${value > 0 ? '+' : '−'}${formatDifference(Math.abs(value))}`
}
