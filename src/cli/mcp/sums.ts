/** Sums as a model reads them: without what is zero where that says nothing, as each sign of it costs. */
import type { RunNumbers } from '../../viewer/model/run-numbers.ts'
import { COUNTS_OF, type UseCount, type UseKind, type UseSum } from '../../viewer/model/run-uses.ts'

/** Told also where there is none of it: that nothing failed is news. */
const ALWAYS: ReadonlySet<UseCount> = new Set(['calls', 'failed', 'denied'])

export function useLine(kind: UseKind, use: UseSum): object {
  const counts = COUNTS_OF[kind].filter((count) => use[count] !== 0 || ALWAYS.has(count))
  const { name, runs, durationMs, topError } = use
  return {
    name,
    runs,
    ...Object.fromEntries(counts.map((count) => [count, count === 'costUsd' ? usd(use[count]) : use[count]])),
    ...(durationMs && { durationMs }),
    ...(topError && { topError }),
  }
}

export function numbersLine({
  byStatus,
  costUsd,
  estimatedUsd,
  ...numbers
}: Omit<RunNumbers, 'starts'>): object {
  return {
    ...numbers,
    costUsd: usd(costUsd),
    ...(estimatedUsd > 0 && { estimatedUsd: usd(estimatedUsd) }),
    byStatus: Object.fromEntries(Object.entries(byStatus).filter(([, count]) => count > 0)),
  }
}

/** A millionth of a dollar is as exact as any price. */
const usd = (amount: number): number => Number(amount.toFixed(6))
