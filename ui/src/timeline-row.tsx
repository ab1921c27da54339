/** One line of the timeline, and the heads of its columns. */
import { useMemo } from 'preact/hooks'
import {
  counted,
  formatCost,
  formatCount,
  formatDuration,
  formatMoment,
} from '../../src/viewer/model/format.ts'
import type { RunSummary, SpanRow } from '../../src/viewer/model/span.ts'
import { endOf } from '../../src/viewer/model/timing.ts'
import type { TreeNode } from '../../src/viewer/model/tree.ts'
import type { Sums } from '../../src/viewer/model/tree-parts.ts'
import { Icon } from './icons.tsx'
import { Badge } from './parts.tsx'
import { RowName } from './row-name.tsx'

export interface Range {
  fromUs: number
  lengthUs: number
}

/** What the bars are drawn to. */
export function rangeOf(nodes: readonly TreeNode[], nowUs: number): Range {
  let fromUs = Number.POSITIVE_INFINITY
  let toUs = 0
  for (const { row } of nodes) {
    fromUs = Math.min(fromUs, row.startUs)
    toUs = Math.max(toUs, endOf(row, nowUs))
  }
  return { fromUs, lengthUs: Math.max(1, toUs - fromUs) }
}

/** The same of a run that ended, when not all of it is here. */
export function rangeOfRun({ startUs, endUs }: RunSummary): Range {
  return { fromUs: startUs, lengthUs: Math.max(1, endUs - startUs) }
}

/** The space of the mark by which a row is folded. */
const FOLD_PX = 22

export function Row({
  node,
  range,
  nowUs,
  compact,
  sums,
  failing,
  selected,
  open,
  collapsed,
  folds: mayFold,
  dim,
  passed,
  tries,
}: {
  node: TreeNode
  range: Range
  nowUs: number
  compact: boolean
  sums: Sums | undefined
  /** Something in it failed, or it did itself. */
  failing: boolean
  selected: boolean
  open: boolean
  collapsed: boolean
  /** Rows can be folded. */
  folds: boolean
  /** Only the way to what is shown. */
  dim: boolean
  /** Gates below it that let it pass and are folded. */
  passed: number
  tries: number | undefined
}) {
  const { row, depth, children } = node
  const folds = mayFold && children.length > 0
  const atUs = row.state === 'running' ? nowUs : 0
  // The same elements as long as it shows the same: scrolling by a row draws one row, not all in sight.
  return useMemo(
    () => (
      <div
        id={`row-${row.spanId}`}
        role="treeitem"
        aria-level={depth + 1}
        aria-selected={selected}
        aria-expanded={folds ? !collapsed : undefined}
        class={`row cat-${row.category} ${selected ? 'selected' : ''} ${open ? 'open' : ''} ${dim ? 'dim' : ''} ${row.error ? 'bad' : ''} ${lookOf(row)} ${row.state}`}
      >
        <div
          class="c-name"
          style={{ paddingLeft: `${8 + Math.min(depth, 24) * 16 + (folds ? 0 : FOLD_PX)}px` }}
        >
          {folds && (
            <button
              type="button"
              class={`fold ${collapsed ? '' : 'down'}`}
              tabIndex={-1}
              aria-label={collapsed ? 'Expand' : 'Collapse'}
            >
              <Icon name="chevron" />
            </button>
          )}
          <Icon name={row.category} />
          <RowName row={row} tries={tries} />
          {passed > 0 && (
            <span class="passed" title={`${counted(passed, 'gate')} let it pass`}>
              <Icon name="gate" />
              {passed > 1 ? passed : ''}
            </span>
          )}
          {collapsed && failing && !row.error && <Badge kind="error whole">failed inside</Badge>}
        </div>
        {compact ? (
          <Numbers row={row} sums={sums} nowUs={atUs} />
        ) : (
          <Bar row={row} range={range} nowUs={atUs} />
        )}
      </div>
    ),
    [node, row, folds, range, atUs, compact, sums, failing, selected, open, collapsed, dim, passed, tries],
  )
}

/** What did not run as it was asked for looks so. */
function lookOf({ outcome, mocked }: SpanRow): string {
  if (outcome === 'denied' || outcome === 'rejected') return 'refused'
  return mocked ? 'mocked' : ''
}

function Bar({ row, range, nowUs }: { row: SpanRow; range: Range; nowUs: number }) {
  const end = endOf(row, nowUs)
  const left = ((row.startUs - range.fromUs) / range.lengthUs) * 100
  const width = ((end - row.startUs) / range.lengthUs) * 100
  // Of a part of the run: what is beyond it is not drawn, and the label stays in sight.
  const from = Math.max(left, 0)
  const to = Math.min(left + width, 100)
  if (to < 0 || from > 100) return <div class="c-bar" />
  const ms = (end - row.startUs) / 1000
  // The label stands where there is room: after the bar, else before it, else above.
  const side = to < 82 ? 'after' : from > 18 ? 'before' : 'above'
  return (
    <div class="c-bar">
      <span
        class={`bar label-${side} ${left < 0 ? 'from-before' : ''} ${left + width > 100.01 ? 'goes-on' : ''}`}
        style={{ left: `${from}%`, width: `${Math.max(0, to - from)}%` }}
      >
        <span class="bar-label">{formatDuration(ms)}</span>
      </span>
    </div>
  )
}

/** Of an agent, with what it asked others to do. */
function Numbers({ row, sums, nowUs }: { row: SpanRow; sums: Sums | undefined; nowUs: number }) {
  const { inputTokens, outputTokens, costUsd } = row.category === 'agent' && sums ? sums : row
  const tokens = inputTokens + outputTokens
  return (
    <>
      <span class="c-n">{formatDuration((endOf(row, nowUs) - row.startUs) / 1000)}</span>
      <span class="c-n">{tokens ? formatCount(tokens) : ''}</span>
      <span class="c-n">{costUsd ? formatCost(costUsd) : ''}</span>
    </>
  )
}

export function Columns() {
  return (
    <>
      <span class="c-n">Duration</span>
      <span class="c-n">Tokens</span>
      <span class="c-n">Cost</span>
    </>
  )
}

/** @param startUs of the run, from which the times are told. */
export function Axis({ range, startUs }: { range: Range; startUs: number }) {
  return (
    <div class="c-bar">
      {[0, 0.25, 0.5, 0.75, 1].map((share) => (
        <span key={share} class={`tick ${share === 1 ? 'last' : ''}`} style={{ left: `${share * 100}%` }}>
          {formatMoment((range.fromUs - startUs + range.lengthUs * share) / 1000, range.lengthUs / 4000)}
        </span>
      ))}
    </div>
  )
}
