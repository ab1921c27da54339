/** Sums over the runs of a query, from the columns of the list. */
import type { InTurns } from '../model/in-turns.ts'
import { isOver, type RunNumbers, type StartBar } from '../model/run-numbers.ts'
import { RUN_STATUSES, type RunStatus } from '../model/span.ts'
import { percentile } from '../model/statistics.ts'
import type { RunFigures } from './run-columns.ts'

const BARS = 60

/** Of runs that come some at a time, whichever way round. */
export class RunCounter {
  readonly #sums = {
    inputTokens: 0,
    outputTokens: 0,
    cachedTokens: 0,
    costUsd: 0,
    estimatedUsd: 0,
    toolCalls: 0,
    mockedCalls: 0,
  }
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
      this.#sums.inputTokens += run.inputTokens
      this.#sums.outputTokens += run.outputTokens
      this.#sums.cachedTokens += run.cachedTokens
      this.#sums.costUsd += run.costUsd
      this.#sums.estimatedUsd += run.estimatedUsd
      this.#sums.toolCalls += run.toolCalls
      this.#sums.mockedCalls += run.mockedCalls
      this.#byStatus[run.status]++
      this.#startsUs.push(run.startUs)
      this.#statuses.push(run.status)
      if (isOver(run.status)) this.#durationsMs.push(run.durationMs)
    }
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
