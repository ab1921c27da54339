/** Sums over the runs of a query, from the columns of the list. */
import type { InTurns } from '../model/in-turns.ts'
import { isOver, type RunNumbers, type StartBar } from '../model/run-numbers.ts'
import { RUN_STATUSES, type RunStatus } from '../model/span.ts'
import { percentile } from '../model/statistics.ts'
import { type RunFigures, SUMS } from './run-columns.ts'

const BARS = 60

/** Of runs that come some at a time, whichever way round. */
export class RunCounter {
  readonly #sums = Object.fromEntries(SUMS.map((key) => [key, 0])) as Record<(typeof SUMS)[number], number>
  readonly #byStatus = Object.fromEntries(RUN_STATUSES.map((status) => [status, 0])) as Record<
    RunStatus,
    number
  >
  readonly #startsUs: number[] = []
  readonly #statuses: RunStatus[] = []
  /** Of runs that ended. */
  readonly #durationsMs: number[] = []

  add(runs: readonly RunFigures[]): void {
    for (const run of runs) {
      for (const key of SUMS) this.#sums[key] += run[key]
      this.#byStatus[run.status]++
      this.#startsUs.push(run.startUs)
      this.#statuses.push(run.status)
      if (isOver(run.status)) this.#durationsMs.push(run.durationMs)
    }
  }

  /** Adds what another one counted. */
  merge(other: RunCounter): void {
    for (const key of SUMS) this.#sums[key] += other.#sums[key]
    for (const status of RUN_STATUSES) this.#byStatus[status] += other.#byStatus[status]
    for (const us of other.#startsUs) this.#startsUs.push(us)
    for (const status of other.#statuses) this.#statuses.push(status)
    for (const ms of other.#durationsMs) this.#durationsMs.push(ms)
  }

  *numbers(): InTurns<RunNumbers> {
    yield
    const durationsMs = Float64Array.from(this.#durationsMs).sort()
    yield
    return {
      runs: this.#startsUs.length,
      ended: durationsMs.length,
      ...this.#sums,
      byStatus: this.#byStatus,
      ...(durationsMs.length > 0 && {
        durationMs: { p50: percentile(durationsMs, 0.5), p95: percentile(durationsMs, 0.95) },
      }),
      starts: this.#bars(),
    }
  }

  #bars(): StartBar[] {
    if (this.#startsUs.length === 0) return []
    const firstUs = this.#startsUs.reduce((least, us) => Math.min(least, us), Number.POSITIVE_INFINITY)
    const lastUs = this.#startsUs.reduce((most, us) => Math.max(most, us), Number.NEGATIVE_INFINITY)
    // At least a microsecond wide, the last run inside the last one.
    const widthUs = Math.floor((lastUs - firstUs) / BARS) + 1
    const bars: StartBar[] = []
    for (let fromUs = firstUs; fromUs <= lastUs; fromUs += widthUs)
      bars.push({ fromUs, toUs: fromUs + widthUs, byStatus: {} })
    for (const [index, us] of this.#startsUs.entries()) {
      const { byStatus } = bars[Math.floor((us - firstUs) / widthUs)]!
      const status = this.#statuses[index]!
      byStatus[status] = (byStatus[status] ?? 0) + 1
    }
    return bars
  }
}
