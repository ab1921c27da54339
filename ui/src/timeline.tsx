/** The run as a tree with its waterfall. Only the rows in sight exist, so ten thousand scroll as ten do. */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatDuration, formatWhole } from '../../src/viewer/model/format.ts'
import { isPassedGate, rowsInSight } from '../../src/viewer/model/rows-in-sight.ts'
import type { RunSummary, SpanRow } from '../../src/viewer/model/span.ts'
import { criticalPath, endOf } from '../../src/viewer/model/timing.ts'
import { flatten, spanOfRow, type TreeNode } from '../../src/viewer/model/tree.ts'
import { sumsOf } from '../../src/viewer/model/tree-parts.ts'
import { triesOf } from '../../src/viewer/model/tries.ts'
import { withErrors } from '../../src/viewer/model/why.ts'
import { useKeys } from './hooks.ts'
import { keep, readKept } from './kept.ts'
import { Minimap } from './minimap.tsx'
import { Splitter, useSplit } from './splitter.tsx'
import { Axis, Columns, Row, rangeOf, rangeOfRun } from './timeline-row.tsx'
import { TimelineTools } from './timeline-tools.tsx'
import { useFollow } from './use-follow.ts'
import { useFound } from './use-found.ts'
import { ROW_PX, useVirtual } from './use-virtual.ts'
import { useZoom } from './use-zoom.ts'

interface Props {
  tree: TreeNode
  summary: RunSummary
  /** When `tree` holds only the first rows: how many there are. */
  totalRows: number | undefined
  selected: string
  onSelect: (spanId: string) => void
  nowUs: number
  /** Without bars: names, previews and numbers. */
  compact: boolean
  /** What is searched for in the run. */
  find: string
  onFind: (find: string) => void
  /** The part that the address tells. */
  zoomed: string
  onZoom: (zoom: string) => void
}

export function Timeline({
  tree,
  summary,
  totalRows,
  selected,
  onSelect,
  nowUs,
  compact,
  find,
  onFind,
  zoomed,
  onZoom,
}: Props) {
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set())
  const [cursor, setCursor] = useState(selected)
  const [critical, setCritical] = useState(false)
  const [gates, setGates] = useState(() => readKept('hookspan-passed-gates', false))
  const name = useSplit('hookspan-name-px', 140)
  const input = useRef<HTMLInputElement>(null)
  const { found, indexing, failed } = useFound(find, tree, summary.traceId, nowUs)
  const all = useMemo(() => flatten(tree), [tree])
  const path = useMemo(() => (critical ? criticalPath(tree, nowUs) : undefined), [critical, tree, nowUs])
  const whole = useMemo(() => (totalRows ? rangeOfRun(summary) : rangeOf(all, nowUs)), [all, nowUs])
  const zoom = useZoom(whole, all, cursor, nowUs, !compact, { zoom: zoomed, onZoom })
  const { range } = zoom
  const passed = useMemo(() => passedBelow(all, gates), [all, gates])
  const { rows, way, matches } = useMemo(() => {
    const isInPart = ({ row }: TreeNode) =>
      row.startUs <= range.fromUs + range.lengthUs && endOf(row, nowUs) >= range.fromUs
    const isWanted = ({ row }: TreeNode) =>
      (found === undefined || found.has(row.spanId)) && (path === undefined || path.has(row.spanId))
    const isFiltered = found !== undefined || path !== undefined
    const isOut = (node: TreeNode) => zoom.brush !== undefined && !isInPart(node)
    return rowsInSight(tree, {
      matches: isFiltered ? (node) => isWanted(node) && !isOut(node) : undefined,
      hides: (node) => isOut(node) || (!gates && isPassedGate(node)),
      isCollapsed: ({ row }) => collapsed.has(row.spanId),
      keeps: ({ row }) => row.spanId === cursor,
    })
  }, [tree, collapsed, found, path, zoom.brush, gates, cursor])
  const isFiltered = found !== undefined || path !== undefined
  const failing = useMemo(() => withErrors(tree), [tree])
  const tries = useMemo(() => triesOf(tree), [tree])
  const sums = useMemo(() => (compact ? sumsOf(tree) : undefined), [tree, compact])
  const count = Math.max(rows.length, isFiltered || zoom.brush ? 0 : (totalRows ?? 0))
  const list = useVirtual(count)
  const live = summary.status === 'running' || summary.status === 'waiting'
  const follow = useFollow(list.ref, live, rows.length, selected === '')
  const at = useMemo(() => (cursor ? rows.findIndex(({ row }) => row.spanId === cursor) : -1), [rows, cursor])

  // Before the next key can come: it is meant for the row that is seen as chosen.
  useLayoutEffect(() => {
    if (!selected || spanOfRow(cursor) === selected) return
    setCursor(selected)
    unfold(selected)
  }, [selected])
  useLayoutEffect(() => {
    if (at < 0) return
    list.reveal(at)
    follow.leave()
  }, [cursor, at >= 0])
  // Who reads a span keeps its row in sight.
  useLayoutEffect(() => {
    if (selected) follow.set(false)
  }, [selected])

  const choose = (index: number) => {
    const node = rows[Math.max(0, Math.min(rows.length - 1, index))]
    if (node) stand(node.row)
  }
  /** Where a span is open, the one that is gone to opens. */
  const stand = (row: SpanRow) => {
    setCursor(row.spanId)
    if (selected) open(row)
  }
  const open = (row: SpanRow) => {
    setCursor(row.spanId)
    if (row.category !== 'missing') onSelect(spanOfRow(row.spanId))
  }
  const fold = (node: TreeNode | undefined, shut: boolean) => {
    if (!node || node.children.length === 0) return
    setCollapsed((before) => {
      const next = new Set(before)
      if (shut) next.add(node.row.spanId)
      else next.delete(node.row.spanId)
      return next
    })
  }
  /** Opens what a row is folded into. */
  const unfold = (rowId: string) => {
    if (collapsed.size === 0) return
    const byId = new Map(all.map(({ row }) => [row.spanId, row]))
    const above = new Set([tree.row.spanId])
    for (let id = byId.get(rowId)?.parentSpanId; id && !above.has(id); id = byId.get(id)?.parentSpanId)
      above.add(id)
    setCollapsed((before) => new Set([...before].filter((id) => !above.has(id))))
  }
  const left = () => {
    const node = rows[at]
    if (node && node.children.length > 0 && !collapsed.has(node.row.spanId)) fold(node, true)
    else if (node) choose(rows.findLastIndex((other, index) => index < at && other.depth < node.depth))
  }
  const next = (by: 1 | -1) => {
    if (!found || found.size === 0) return
    const from = all.findIndex(({ row }) => row.spanId === cursor)
    for (let step = 1; step <= all.length; step++) {
      const { row } = all[(from + by * step + all.length * 2) % all.length]!
      if (!found.has(row.spanId)) continue
      unfold(row.spanId)
      return stand(row)
    }
  }
  /** One listener for all rows, as they change their meaning while they are scrolled. */
  const onClick = (event: MouseEvent) => {
    const target = event.target as Element
    const id = target.closest('.row')?.id.slice('row-'.length)
    const node = id ? rows.find(({ row }) => row.spanId === id) : undefined
    if (!node) return
    if (target.closest('.fold')) fold(node, !collapsed.has(node.row.spanId))
    else open(node.row)
  }
  const foldAll = () =>
    setCollapsed(
      collapsed.size > 0
        ? new Set()
        : new Set(
            all.filter((node) => node.depth > 0 && node.children.length > 0).map((node) => node.row.spanId),
          ),
    )
  const showGates = () => {
    keep('hookspan-passed-gates', !gates)
    setGates(!gates)
  }
  const stop = (act: () => void) => (event: KeyboardEvent) => {
    event.preventDefault()
    act()
  }
  useKeys({
    ArrowDown: stop(() => choose(at + 1)),
    ArrowUp: stop(() => choose(at - 1)),
    j: () => choose(at + 1),
    k: () => choose(at - 1),
    ArrowRight: stop(() => fold(rows[at], false)),
    ArrowLeft: stop(left),
    l: () => fold(rows[at], false),
    h: left,
    Home: stop(() => choose(0)),
    End: stop(() => choose(rows.length - 1)),
    PageDown: stop(() => choose(at + 15)),
    PageUp: stop(() => choose(at - 15)),
    Enter: (event) => {
      if (!(event.target as HTMLElement).closest('button, a') && rows[at]) open(rows[at].row)
    },
    '/': stop(() => input.current?.focus()),
    n: () => next(1),
    N: () => next(-1),
    p: () => setCritical((before) => !before),
    o: showGates,
    '>': () => zoom.by(0.5),
    '<': () => zoom.by(2),
    0: () => zoom.set(undefined),
    z: () => zoom.toRow(),
  })

  return (
    <div
      class={`timeline ${compact ? 'compact' : ''} ${path ? 'critical' : ''}`}
      style={name.px === undefined || compact ? undefined : { '--name-px': `${name.px}px` }}
    >
      <TimelineTools
        input={input}
        find={find}
        onFind={onFind}
        onNext={next}
        told={`${isFiltered || zoom.brush ? `${formatWhole(matches)} of ${formatWhole(all.length)}` : ''}${indexing > 0 ? `, ${formatWhole(indexing)} spans not searched yet` : ''}${failed ? ', the words of spans could not be searched' : ''}`}
        switches={[
          {
            name: 'Critical path',
            on: critical,
            title: 'What the end waited for (p)',
            turn: () => setCritical(!critical),
          },
          { name: collapsed.size > 0 ? 'Expand all' : 'Collapse all', turn: foldAll },
          (gates || passed.size > 0) && {
            name: 'Passed gates',
            on: gates,
            title: 'Gates that let a call pass (o)',
            turn: showGates,
          },
          live && { name: 'Follow', on: follow.on, turn: () => follow.set(!follow.on) },
        ]}
        part={
          zoom.brush && `${formatDuration(range.lengthUs / 1000)} of ${formatDuration(whole.lengthUs / 1000)}`
        }
        onWhole={() => zoom.set(undefined)}
      />
      {!compact && (
        <Minimap nodes={all} whole={whole} nowUs={live ? nowUs : 0} brush={zoom.brush} onBrush={zoom.set} />
      )}
      <div class="timeline-head">
        <span class="c-name" aria-hidden="true">
          Span
        </span>
        {!compact && (
          <Splitter
            label="Width of the names"
            split={name}
            grows="right"
            measured={(splitter) => splitter.previousElementSibling!.getBoundingClientRect().width}
          />
        )}
        {compact ? <Columns /> : <Axis range={range} startUs={whole.fromUs} />}
      </div>
      <div
        class="timeline-rows"
        ref={list.ref}
        role="tree"
        tabIndex={0}
        aria-label="Spans"
        aria-activedescendant={at >= 0 ? `row-${cursor}` : undefined}
        onScroll={list.onScroll}
        onWheel={zoom.onWheel}
        onClick={onClick}
      >
        <div class="spacer" role="presentation" style={{ height: `${count * ROW_PX}px` }}>
          <div
            class="window"
            role="presentation"
            style={{ transform: `translateY(${list.from * ROW_PX}px)` }}
          >
            {rows.slice(list.from, list.to).map((node, index) => (
              <Row
                key={list.keyOf(list.from + index)}
                node={node}
                range={range}
                nowUs={nowUs}
                compact={compact}
                sums={sums?.get(node)}
                failing={failing.has(node)}
                selected={node.row.spanId === cursor}
                open={selected !== '' && spanOfRow(node.row.spanId) === selected}
                collapsed={!isFiltered && collapsed.has(node.row.spanId)}
                folds={!isFiltered}
                dim={way.has(node)}
                passed={passed.get(node) ?? 0}
                tries={tries.get(node)}
              />
            ))}
          </div>
        </div>
      </div>
    </div>
  )
}

/** How many gates let pass what each node is, where they have no rows of their own. */
function passedBelow(all: readonly TreeNode[], shown: boolean): ReadonlyMap<TreeNode, number> {
  const passed = new Map<TreeNode, number>()
  for (const node of shown ? [] : all) {
    const count = node.children.filter(isPassedGate).length
    if (count > 0) passed.set(node, count)
  }
  return passed
}
