/** One run: its facts, its views and the span that is open beside them. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatCost, formatCount, formatDuration } from '../../src/viewer/model/format.ts'
import type { RunSummary, SpanRow } from '../../src/viewer/model/span.ts'
import { TIME_KINDS, type TimeKind, timeBreakdown } from '../../src/viewer/model/timing.ts'
import { buildTree, flatten, type TreeNode } from '../../src/viewer/model/tree.ts'
import { AnswerButton, useApprovals } from './approvals.tsx'
import { ConversationView } from './conversation-view.tsx'
import { EventsView } from './events-view.tsx'
import { GraphView } from './graph-view.tsx'
import { useKeys, useLive, useNowUs, useSource } from './hooks.ts'
import { LintView } from './lint-view.tsx'
import { Badge, Button, Empty, StatusMark, Text } from './parts.tsx'
import { go, listRoute, pathOf, type Route, VIEWS, type View } from './route.ts'
import { SpanPanel } from './span-panel.tsx'
import { Timeline } from './timeline.tsx'

const VIEW_NAMES: Record<View, string> = {
  timeline: 'Timeline',
  tree: 'Tree',
  conversation: 'Conversation',
  graph: 'Graph',
  events: 'Events',
  lint: 'Context lint',
}

export function RunView({ route }: { route: Extract<Route, { page: 'run' }> }) {
  const { run, error, version } = useRun(route.traceId)
  const open = run !== undefined && (run.summary.status === 'running' || run.summary.status === 'waiting')
  const nowUs = useNowUs(open)
  const tree = useMemo(() => (run ? buildTree(run.rows) : undefined), [run])
  const select = (spanId: string) => go({ ...route, spanId }, route.spanId !== '' && spanId !== '')
  const show = (view: View) => go({ ...route, view })
  useKeys({
    ...Object.fromEntries(VIEWS.map((view, index) => [String(index + 1), () => show(view)])),
    Escape: () => (route.spanId ? select('') : go(listRoute())),
    e: () => jumpToError(1),
    E: () => jumpToError(-1),
  })
  if (error && !run)
    return (
      <main>
        <Empty title="This run is not here">
          <p>{error}</p>
          <p>
            <a href={pathOf(listRoute())}>All runs</a>
          </p>
        </Empty>
      </main>
    )
  if (!run || !tree) return <main class="run-page" aria-busy="true" />

  function jumpToError(direction: 1 | -1): void {
    if (!tree) return
    const errors = flatten(tree)
      .filter((node) => node.row.error)
      .map((node) => node.row.spanId)
    if (errors.length === 0) return
    const at = errors.indexOf(route.spanId)
    select(errors[(at + direction + errors.length) % errors.length]!)
  }

  return (
    <main class={`run-page ${route.spanId ? 'with-panel' : ''}`}>
      <RunHeader summary={run.summary} rows={run.rows} tree={tree} nowUs={nowUs} route={route} />
      <div class="tabs" role="tablist" aria-label="Views of the run">
        {VIEWS.map((view, index) => (
          <button
            key={view}
            type="button"
            role="tab"
            id={`tab-${view}`}
            aria-selected={route.view === view}
            aria-controls="view"
            onClick={() => show(view)}
          >
            {VIEW_NAMES[view]}
            <kbd>{index + 1}</kbd>
          </button>
        ))}
      </div>
      <div class="split">
        <section class="view" id="view" role="tabpanel" aria-labelledby={`tab-${route.view}`}>
          {(route.view === 'timeline' || route.view === 'tree') && (
            <Timeline
              key={route.traceId}
              tree={tree}
              traceId={run.summary.traceId}
              selected={route.spanId}
              onSelect={select}
              nowUs={nowUs}
              compact={route.view === 'tree'}
            />
          )}
          {route.view === 'conversation' && (
            <ConversationView
              traceId={run.summary.traceId}
              version={version}
              selected={route.spanId}
              onSelect={select}
            />
          )}
          {route.view === 'graph' && <GraphView tree={tree} selected={route.spanId} onSelect={select} />}
          {route.view === 'events' && (
            <EventsView
              traceId={run.summary.traceId}
              version={version}
              startUs={run.summary.startUs}
              selected={route.spanId}
              onSelect={select}
            />
          )}
          {route.view === 'lint' && (
            <LintView traceId={run.summary.traceId} version={version} onSelect={select} />
          )}
        </section>
        {route.spanId && (
          <SpanPanel
            key={route.spanId}
            traceId={run.summary.traceId}
            spanId={route.spanId}
            tree={tree}
            nowUs={nowUs}
            version={version}
            onSelect={select}
          />
        )}
      </div>
    </main>
  )
}

function sameSummary(before: RunSummary | undefined, after: RunSummary): boolean {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(after)
}

/** The run's rows, kept up to date by asking only for what changed. */
function useRun(traceId: string) {
  const source = useSource()
  const [state, setState] = useState<{
    run: { summary: RunSummary; rows: SpanRow[] } | undefined
    error: string
    version: number
  }>({ run: undefined, error: '', version: 0 })
  const known = useRef({
    traceId: '',
    rows: new Map<string, SpanRow>(),
    seq: 0,
    loading: false,
    again: false,
    summary: undefined as RunSummary | undefined,
  })
  const load = async () => {
    const memory = known.current
    if (memory.loading) {
      memory.again = true
      return
    }
    memory.loading = true
    try {
      const reply = await source.run(traceId, memory.seq)
      if (memory !== known.current) return
      memory.seq = reply.seq
      for (const row of reply.rows) memory.rows.set(row.spanId, row)
      // A run that died keeps its rows; only what they say of themselves changes.
      if (reply.summary.status === 'interrupted')
        for (const row of memory.rows.values()) if (row.endUs === 0) row.state = 'interrupted'
      // Nothing new, as after connecting: nothing is drawn again.
      if (reply.rows.length === 0 && sameSummary(known.current.summary, reply.summary)) return
      memory.summary = reply.summary
      setState((before) => ({
        run: { summary: reply.summary, rows: [...memory.rows.values()] },
        error: '',
        version: before.version + 1,
      }))
    } catch (error) {
      setState((before) => ({ ...before, error: (error as Error).message }))
    } finally {
      memory.loading = false
      if (memory.again && memory === known.current) {
        memory.again = false
        void load()
      }
    }
  }
  // Not after the first frame: what was asked for before the page was there may have come by then.
  useLayoutEffect(() => {
    known.current = { traceId, rows: new Map(), seq: 0, loading: false, again: false, summary: undefined }
    setState({ run: undefined, error: '', version: 0 })
    void load()
  }, [traceId])
  useLive((event) => {
    if (
      event.type === 'connected' ||
      (event.type === 'changed' && event.runs.some((id) => id.startsWith(traceId)))
    )
      void load()
  })
  return state
}

function RunHeader({
  summary,
  rows,
  tree,
  nowUs,
  route,
}: {
  summary: RunSummary
  rows: SpanRow[]
  tree: TreeNode
  nowUs: number
  route: Extract<Route, { page: 'run' }>
}) {
  const source = useSource()
  const running = summary.status === 'running' || summary.status === 'waiting'
  const ms = running ? Math.max(summary.durationMs, (nowUs - summary.startUs) / 1000) : summary.durationMs
  const cached = summary.inputTokens > 0 ? summary.cachedTokens / summary.inputTokens : 0
  const remove = async () => {
    if (!confirm('Remove this run from the viewer?')) return
    await source.remove(summary.traceId)
    go(listRoute())
  }
  return (
    <header class="run-header">
      <div class="run-title">
        {!source.offline && (
          <a class="back" href={pathOf(listRoute())} aria-label="All runs">
            ‹
          </a>
        )}
        <h1>
          <Text>{summary.title || 'unnamed'}</Text>
        </h1>
        <StatusMark status={summary.status} />
        {summary.reason && summary.reason !== 'done' && (
          <Badge kind="error">
            <Text>{summary.reason}</Text>
          </Badge>
        )}
        <p class="input">
          <Text>{summary.inputPreview}</Text>
        </p>
        <div class="actions">
          {!source.offline && (
            <>
              <a
                class="button"
                href={`/api/runs/${summary.traceId}/export.html`}
                download
                title="One file that opens offline, with all views"
              >
                HTML
              </a>
              <a class="button" href={`/api/runs/${summary.traceId}/export.json`} download title="OTLP/JSON">
                JSON
              </a>
            </>
          )}
          {source.mayChange && <Button icon="trash" title="Remove this run" onClick={() => void remove()} />}
        </div>
      </div>
      <dl class="facts">
        <Fact name="Duration">{formatDuration(ms)}</Fact>
        <Fact name="Tokens in" note={cached > 0 ? `${Math.round(cached * 100)}% cached` : ''}>
          {formatCount(summary.inputTokens)}
        </Fact>
        <Fact name="Tokens out">{formatCount(summary.outputTokens)}</Fact>
        <Fact name="Cost">{formatCost(summary.costUsd)}</Fact>
        <Fact name="Model calls">{summary.llmCalls}</Fact>
        <Fact name="Tool calls" note={summary.mockedCalls > 0 ? `${summary.mockedCalls} mocked` : ''}>
          {summary.toolCalls}
        </Fact>
        <Fact name="Errors" kind={summary.errors > 0 ? 'bad' : ''}>
          {summary.errors}
        </Fact>
        <TimeBar tree={tree} nowUs={nowUs} />
      </dl>
      <Waiting
        traceId={summary.traceId}
        rows={rows}
        nowUs={nowUs}
        onOpen={(spanId) => go({ ...route, spanId })}
      />
    </header>
  )
}

function Fact({
  name,
  note,
  kind,
  children,
}: {
  name: string
  note?: string
  kind?: string
  children: string | number
}) {
  return (
    <div class={`fact ${kind ?? ''}`}>
      <dt>{name}</dt>
      <dd>
        {children}
        {note && <small>{note}</small>}
      </dd>
    </div>
  )
}

const TIME_NAMES = {
  model: 'Model',
  tool: 'Tools',
  human: 'People',
  other: 'Gates, compaction',
  idle: 'Own code',
} as const

/** Computed after the first paint: a long run's rows come before its sums. Its place is kept. */
function TimeBar({ tree, nowUs }: { tree: TreeNode; nowUs: number }) {
  const [times, setTimes] = useState<Record<TimeKind, number>>()
  useEffect(() => {
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

/** What waits for a person: as the spans tell, and as the approval store tells where it is connected. */
function Waiting({
  traceId,
  rows,
  nowUs,
  onOpen,
}: {
  traceId: string
  rows: SpanRow[]
  nowUs: number
  onOpen: (spanId: string) => void
}) {
  const { requests } = useApprovals()
  const asked = requests.filter((request) => request.traceId === traceId)
  const spans = rows
    .filter((row) => row.category === 'human' && row.state === 'running')
    .map((row) => ({ row, call: rows.find((other) => other.spanId === row.parentSpanId) }))
  const unseen = asked.filter(({ toolCallId }) => !spans.some(({ call }) => call?.callId === toolCallId))
  if (spans.length + unseen.length === 0) return null
  return (
    <ul class="waiting">
      {spans.map(({ row, call }) => {
        const request = asked.find(({ toolCallId }) => call?.callId === toolCallId)
        return (
          <li key={row.spanId}>
            <strong>Waits for a person</strong>
            <span>
              {call?.category === 'tool' ? <Text>{`${call.label}(${call.preview})`}</Text> : 'to decide'}
            </span>
            <span class="since">{formatDuration((nowUs - row.startUs) / 1000)}</span>
            <Button onClick={() => onOpen(row.spanId)}>Show</Button>
            {request && <AnswerButton requests={[request]} />}
          </li>
        )
      })}
      {unseen.map((request) => (
        <li key={request.id}>
          <strong>Waits for a person</strong>
          <span>
            <Text>{`${request.apiName}(${JSON.stringify(request.args)})`}</Text>
          </span>
          <span class="since">{formatDuration(nowUs / 1000 - request.requestedAt)}</span>
          <AnswerButton requests={[request]} />
        </li>
      ))}
    </ul>
  )
}
