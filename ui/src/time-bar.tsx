/** Where a run's time went, as one bar with its legend. */
import { useEffect, useState } from 'preact/hooks'
import { TIME_KINDS, type TimeKind, timeBreakdown } from '../../src/viewer/model/timing.ts'
import type { TreeNode } from '../../src/viewer/model/tree.ts'

const TIME_NAMES = {
  model: 'Model',
  tool: 'Tools',
  human: 'People',
  other: 'Gates, compaction',
  idle: 'Own code',
} as const

/** Computed after the first paint: a long run's rows come before its sums. Its place is kept. */
export function TimeBar({ tree, nowUs }: { tree: TreeNode | undefined; nowUs: number }) {
  const [times, setTimes] = useState<Record<TimeKind, number>>()
  useEffect(() => {
    if (!tree) return
    const frame = requestAnimationFrame(() => setTimes(timeBreakdown(tree, nowUs)))
    return () => cancelAnimationFrame(frame)
  }, [tree, nowUs])
  if (!times) {
    return (
      <div class="fact time">
        <dt>Where the time went</dt>
        <dd>
          <div class="time-bar" aria-hidden="true" />
          <p class="legend">&nbsp;</p>
        </dd>
      </div>
    )
  }
  const total = TIME_KINDS.reduce((sum, kind) => sum + times[kind], 0) || 1
  const kinds = TIME_KINDS.filter((kind) => times[kind] / total >= 0.005)
  return (
    <div class="fact time">
      <dt>Where the time went</dt>
      <dd>
        <div class="time-bar" aria-hidden="true">
          {kinds.map((kind) => (
            <span key={kind} class={`t-${kind}`} style={{ flexGrow: times[kind] / total }} />
          ))}
        </div>
        <ul class="legend">
          {kinds.map((kind) => (
            <li key={kind}>
              <i class={`t-${kind}`} aria-hidden="true" />
              {TIME_NAMES[kind]} {Math.round((times[kind] / total) * 100)}%
            </li>
          ))}
        </ul>
      </dd>
    </div>
  )
}
