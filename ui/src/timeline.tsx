/** The run as a tree with its waterfall. Only the rows in sight exist, so ten thousand scroll as ten do. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatCompaction, formatCost, formatCount, formatDuration } from '../../src/viewer/model/format.ts'
import { rowTitle } from '../../src/viewer/model/row-title.ts'
import type { GateDecision, SpanRow } from '../../src/viewer/model/span.ts'
import { criticalPath, endOf } from '../../src/viewer/model/timing.ts'
import { flatten, spanOfRow, type TreeNode } from '../../src/viewer/model/tree.ts'
import { type Sums, sumsOf } from '../../src/viewer/model/tree-parts.ts'
import { useKeys, useSource } from './hooks.ts'
import { Icon } from './icons.tsx'
import { Badge, Text } from './parts.tsx'

const ROW_PX = 30
const OVERSCAN = 6

interface Props {
  tree: TreeNode
  traceId: string
  selected: string
  onSelect: (spanId: string) => void
  nowUs: number
  /** Without bars: names, previews and numbers. */
  compact: boolean
}

export function Timeline({ tree, traceId, selected, onSelect, nowUs, compact }: Props) {
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set())
  const [cursor, setCursor] = useState(selected)
  const [critical, setCritical] = useState(false)
  const [query, setQuery] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const found = useFound(query, tree, traceId)
  const all = useMemo(() => flatten(tree), [tree])
  const rows = useMemo(
    () => (collapsed.size === 0 ? all : flatten(tree, (node) => collapsed.has(node.row.spanId))),
    [tree, collapsed],
  )
  const path = useMemo(() => (critical ? criticalPath(tree, nowUs) : undefined), [critical, tree, nowUs])
  const range = useMemo(() => rangeOf(all, nowUs), [all, nowUs])
  const sums = useMemo(() => (compact ? sumsOf(tree) : undefined), [tree, compact])
  const list = useVirtual(rows.length)
  const at = rows.findIndex((node) => node.row.spanId === cursor)

  useEffect(() => {
    if (!selected || spanOfRow(cursor) === selected) return
    setCursor(selected)
    unfold(selected)
  }, [selected])
  useLayoutEffect(() => {
    if (at >= 0) list.reveal(at)
  }, [cursor, at >= 0])

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
  })

  return (
    <div class={`timeline ${compact ? 'compact' : ''} ${path ? 'critical' : ''}`}>
      <div class="timeline-tools">
        <label class="search small">
          <Icon name="search" />
          <span class="sr">Search in this run</span>
          <input
            ref={input}
            type="search"
            value={query}
            placeholder="Search in this run"
            onInput={(event) => setQuery(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Enter' && next(event.shiftKey ? -1 : 1)}
            spellcheck={false}
            autocomplete="off"
          />
          <kbd>/</kbd>
        </label>
        <span class="found" role="status">
          {found ? `${found.size} found` : ''}
        </span>
        <button
          type="button"
          class={`chip ${critical ? 'on' : ''}`}
          aria-pressed={critical}
          onClick={() => setCritical(!critical)}
        >
          Critical path
        </button>
        <button
          type="button"
          class="chip"
          onClick={() =>
            setCollapsed(
              collapsed.size > 0
                ? new Set()
                : new Set(
                    all
                      .filter((node) => node.depth > 0 && node.children.length > 0)
                      .map((node) => node.row.spanId),
                  ),
            )
          }
        >
          {collapsed.size > 0 ? 'Expand all' : 'Collapse all'}
        </button>
      </div>
      <div class="timeline-head" aria-hidden="true">
        <span class="c-name">Span</span>
        {compact ? <Columns /> : <Axis range={range} />}
      </div>
      <div
        class="timeline-rows"
        ref={list.ref}
        role="tree"
        tabIndex={0}
        aria-label="Spans"
        aria-activedescendant={at >= 0 ? `row-${cursor}` : undefined}
        onScroll={list.onScroll}
      >
        <div class="spacer" role="presentation" style={{ height: `${rows.length * ROW_PX}px` }}>
          <div
            class="window"
            role="presentation"
            style={{ transform: `translateY(${list.from * ROW_PX}px)` }}
          >
            {rows.slice(list.from, list.to).map((node, index) => (
              <Row
                // A row that scrolls out of sight is used again for the one that comes in: its elements stay.
                key={(list.from + index) % list.size}
                node={node}
                range={range}
                nowUs={nowUs}
                compact={compact}
                sums={sums?.get(node)}
                selected={node.row.spanId === cursor}
                open={selected !== '' && spanOfRow(node.row.spanId) === selected}
                collapsed={collapsed.has(node.row.spanId)}
                dim={
                  (found !== undefined && !found.has(node.row.spanId)) ||
                  (path !== undefined && !path.has(node.row.spanId))
                }
                onOpen={() => open(node.row)}
                onFold={() => fold(node, !collapsed.has(node.row.spanId))}
              />
            ))}
          </div>
        </div>
      </div>
    </div>
  )
}

interface Range {
  fromUs: number
  lengthUs: number
}

function rangeOf(nodes: readonly TreeNode[], nowUs: number): Range {
  let fromUs = Number.POSITIVE_INFINITY
  let toUs = 0
  for (const { row } of nodes) {
    fromUs = Math.min(fromUs, row.startUs)
    toUs = Math.max(toUs, endOf(row, nowUs))
  }
  return { fromUs, lengthUs: Math.max(1, toUs - fromUs) }
}

function Row({
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

/** What the row is about, in words; the span's raw name is in its panel. */
export function RowName({ row, plain }: { row: SpanRow; plain?: boolean }) {
  const gate = row.category === 'gate' ? row.gates?.[0] : undefined
  return (
    <span class="name">
      <span class="what">
        <Text>{rowTitle(row)}</Text>
      </span>
      {row.category === 'human' && (
        <Badge kind="human">
          {row.human?.action
            ? `${row.human.action}${row.human.waitedMs ? ` after ${formatDuration(row.human.waitedMs)}` : ''}`
            : row.state === 'running'
              ? 'waiting'
              : 'asked'}
        </Badge>
      )}
      {row.compaction?.tokensBefore !== undefined && (
        <Badge kind="compact">{formatCompaction(row.compaction)}</Badge>
      )}
      {gate && (
        <Badge kind={gateKind(gate)} title={gate.code}>
          {gate.enforced ? '' : 'shadow: '}
          <Text>{gate.decision.replace('_', ' ')}</Text>
        </Badge>
      )}
      {row.mocked && <Badge kind="mocked">mocked</Badge>}
      {(row.outcome === 'denied' || row.outcome === 'rejected' || row.outcome === 'skipped') && (
        <Badge kind="denied">{row.outcome}</Badge>
      )}
      {row.state === 'running' && row.category !== 'human' && <Badge kind="running">running</Badge>}
      {row.state === 'interrupted' && <Badge kind="error whole">interrupted</Badge>}
      {row.error && !plain && (
        <Badge kind="error">
          <Text>{row.errorText || 'error'}</Text>
        </Badge>
      )}
      {row.category === 'tool' && !row.error && !plain && (
        <span class="hint">
          <Text>{row.preview}</Text>
        </span>
      )}
      {row.category === 'llm' && row.inputTokens > 0 && !plain && (
        <span class="hint">
          {formatCount(row.inputTokens)} → {formatCount(row.outputTokens)}
        </span>
      )}
      {row.category === 'llm' && row.cachedTokens > 0 && !plain && (
        <Badge kind="cache" title="Input tokens read from the prompt cache">
          {Math.round((row.cachedTokens / Math.max(1, row.inputTokens)) * 100)}% cached
        </Badge>
      )}
    </span>
  )
}

/** Red for what was refused, amber for what a person decides, grey for what only would have been. */
export function gateKind(gate: GateDecision): string | undefined {
  if (gate.decision === 'proceed') return undefined
  if (!gate.enforced) return 'shadow'
  return gate.decision === 'require_approval' ? 'human' : gate.decision === 'deny' ? 'denied' : 'cache'
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

function Columns() {
  return (
    <>
      <span class="c-n">Duration</span>
      <span class="c-n">Tokens</span>
      <span class="c-n">Cost</span>
    </>
  )
}

function Axis({ range }: { range: Range }) {
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

/** Ids of what matches: rows by what they show, and spans by any word in them. */
function useFound(query: string, tree: TreeNode, traceId: string): ReadonlySet<string> | undefined {
  const source = useSource()
  const [inContent, setInContent] = useState<string[]>([])
  const text = query.trim().toLowerCase()
  useEffect(() => {
    setInContent([])
    if (text.length < 2) return
    const timer = setTimeout(() => void source.search(text, traceId).then(setInContent, () => {}), 150)
    return () => clearTimeout(timer)
  }, [text, traceId])
  return useMemo(() => {
    if (!text) return undefined
    const shown = flatten(tree).filter(({ row }) =>
      `${row.name} ${row.label} ${row.preview} ${row.outcome} ${row.errorText}`.toLowerCase().includes(text),
    )
    return new Set([...shown.map((node) => node.row.spanId), ...inContent])
  }, [text, tree, inContent])
}

/** The same object as long as nothing is seen that was not seen before: then nothing is drawn again. */
const sightOf =
  (element: HTMLElement) =>
  (before: { top: number; height: number }): { top: number; height: number } => {
    const { scrollTop: top, clientHeight: height } = element
    return before.top === top && before.height === height ? before : { top, height }
  }

function useVirtual(count: number) {
  const ref = useRef<HTMLDivElement>(null)
  const [sight, setSight] = useState({ top: 0, height: 900 })
  const frame = useRef(0)
  useLayoutEffect(() => {
    const element = ref.current
    if (!element) return
    const measure = () => setSight(sightOf(element))
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const from = Math.max(0, Math.floor(sight.top / ROW_PX) - OVERSCAN)
  const size = Math.ceil(sight.height / ROW_PX) + 1 + 2 * OVERSCAN
  return {
    ref,
    from,
    to: Math.min(count, from + size),
    size,
    onScroll: () => {
      cancelAnimationFrame(frame.current)
      frame.current = requestAnimationFrame(() => {
        const element = ref.current
        if (element) setSight(sightOf(element))
      })
    },
    reveal: (index: number) => {
      const element = ref.current
      if (!element) return
      const top = index * ROW_PX
      if (top < element.scrollTop) element.scrollTop = top - ROW_PX
      else if (top + ROW_PX > element.scrollTop + element.clientHeight)
        element.scrollTop = top + ROW_PX * 2 - element.clientHeight
    },
  }
}
