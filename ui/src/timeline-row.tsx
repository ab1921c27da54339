/** One line of the timeline, and the heads of its columns. */
import { formatCost, formatCount, formatDuration } from '../../src/viewer/model/format.ts'
import type { SpanRow } from '../../src/viewer/model/span.ts'
import { endOf } from '../../src/viewer/model/timing.ts'
import type { TreeNode } from '../../src/viewer/model/tree.ts'
import type { Sums } from '../../src/viewer/model/tree-parts.ts'
import { Icon } from './icons.tsx'
import { RowName } from './row-name.tsx'

interface Range {
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

export function Row({
  node,
  range,
  nowUs,
  compact,
  sums,
  selected,
  open,
  collapsed,
  dim,
  onOpen,
  onFold,
}: {
  node: TreeNode
  range: Range
  nowUs: number
  compact: boolean
  sums: Sums | undefined
  selected: boolean
  open: boolean
  collapsed: boolean
  dim: boolean
  onOpen: () => void
  onFold: () => void
}) {
  const { row, depth, children } = node
  return (
    <div
      id={`row-${row.spanId}`}
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={selected}
      aria-expanded={children.length > 0 ? !collapsed : undefined}
      class={`row cat-${row.category} ${selected ? 'selected' : ''} ${open ? 'open' : ''} ${dim ? 'dim' : ''} ${row.error ? 'bad' : ''} ${row.state}`}
      onClick={onOpen}
    >
      <div class="c-name" style={{ paddingLeft: `${8 + Math.min(depth, 24) * 16}px` }}>
        {children.length > 0 ? (
          <button
            type="button"
            class={`fold ${collapsed ? '' : 'down'}`}
            tabIndex={-1}
            aria-label={collapsed ? 'Expand' : 'Collapse'}
            onClick={(event) => {
              event.stopPropagation()
              onFold()
            }}
          >
            <Icon name="chevron" />
          </button>
        ) : (
          <span class="fold" />
        )}
        <Icon name={row.category} />
        <RowName row={row} />
      </div>
      {compact ? (
        <Numbers row={row} sums={sums} nowUs={nowUs} />
      ) : (
        <Bar row={row} range={range} nowUs={nowUs} />
      )}
    </div>
  )
}

function Bar({ row, range, nowUs }: { row: SpanRow; range: Range; nowUs: number }) {
  const end = endOf(row, nowUs)
  const left = ((row.startUs - range.fromUs) / range.lengthUs) * 100
  const width = ((end - row.startUs) / range.lengthUs) * 100
  const ms = (end - row.startUs) / 1000
  // The label stands where there is room: after the bar, else before it, else above.
  const side = left + width < 82 ? 'after' : left > 18 ? 'before' : 'above'
  return (
    <div class="c-bar">
      <div class="lane">
        <span class={`bar label-${side}`} style={{ left: `${left}%`, width: `${width}%` }}>
          <span class="bar-label">{formatDuration(ms)}</span>
        </span>
      </div>
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

export function Axis({ range }: { range: Range }) {
  return (
    <div class="c-bar">
      <div class="lane">
        {[0, 0.25, 0.5, 0.75, 1].map((share) => (
          <span key={share} class={`tick ${share === 1 ? 'last' : ''}`} style={{ left: `${share * 100}%` }}>
            {formatDuration((range.lengthUs * share) / 1000)}
          </span>
        ))}
      </div>
    </div>
  )
}
