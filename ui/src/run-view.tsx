/** One run: its facts, its views and the span that is open beside them. */
import { useMemo, useState } from 'preact/hooks'
import { buildTree, spanOfRow } from '../../src/viewer/model/tree.ts'
import { failuresIn } from '../../src/viewer/model/why.ts'
import { ConversationView } from './conversation-view.tsx'
import { EventsView } from './events-view.tsx'
import { GraphView } from './graph-view.tsx'
import { useKeys, useNowUs, useSource } from './hooks.ts'
import { LintView } from './lint-view.tsx'
import { useMarks } from './marks.tsx'
import { usePageTitle } from './page-title.ts'
import { Empty } from './parts.tsx'
import { go, keepZoom, listRoute, pathOf, type Route, VIEWS, type View } from './route.ts'
import { RunHeader } from './run-header.tsx'
import { groupByConversation } from './runs-table.tsx'
import { NO_ANSWER } from './source.ts'
import { SpanPanel } from './span-panel.tsx'
import { Splitter, useSplit } from './splitter.tsx'
import { Timeline } from './timeline.tsx'
import { useRun } from './use-run.ts'

const VIEW_NAMES: Record<View, string> = {
  timeline: 'Timeline',
  tree: 'Tree',
  conversation: 'Conversation',
  graph: 'Graph',
  events: 'Events',
  lint: 'Context lint',
}

/** Runs of the list that are leafed through. */
const LEAF_THROUGH = 1_000

export function RunView({ route }: { route: Extract<Route, { page: 'run' }> }) {
  const source = useSource()
  const { run, error, version } = useRun(route.traceId)
  usePageTitle([run?.summary.title, run?.summary.inputPreview].filter(Boolean).join(': '))
  const open = run !== undefined && (run.summary.status === 'running' || run.summary.status === 'waiting')
  const nowUs = useNowUs(open)
  const panel = useSplit('hookspan-panel-px', 280)
  const [problem, setProblem] = useState('')
  const marks = useMarks(setProblem)
  const tree = useMemo(() => (run ? buildTree(run.rows, run.summary.status === 'running') : undefined), [run])
  const select = (spanId: string) => go({ ...route, spanId }, route.spanId !== '' && spanId !== '')
  const [toStep, setToStep] = useState(false)
  const show = (view: View, step = false) => {
    setToStep(step)
    go({ ...route, view })
  }
  useKeys({
    ...Object.fromEntries(VIEWS.map((view, index) => [String(index + 1), () => show(view)])),
    ':': (event) => {
      // There it has the key to itself.
      if (route.view === 'conversation') return
      event.preventDefault()
      show('conversation', true)
    },
    // It closes what is open beside the run, and never the run.
    Escape: () => route.spanId && select(''),
    '+': () => marks.toggle(run?.summary, 'good'),
    '-': () => marks.toggle(run?.summary, 'bad'),
    w: (event) => {
      event.preventDefault()
      marks.edit(run?.summary)
    },
    u: () => !source.offline && go(listRoute()),
    '[': () => void leaf(-1),
    ']': () => void leaf(1),
    e: () => jumpToError(1),
    E: () => jumpToError(-1),
  })
  /** To the run before or after this one, in the list as it was left. */
  async function leaf(by: 1 | -1): Promise<void> {
    const list = listRoute()
    if (source.offline) return
    const { runs } = await source.runs(list.query, LEAF_THROUGH, list.sort)
    const shown = list.grouped ? groupByConversation(runs).flatMap((group) => group.runs) : runs
    const at = shown.findIndex((one) => one.traceId.startsWith(route.traceId))
    const next = at < 0 ? undefined : shown[at + by]
    // In place of this one: Back leads to where one came from, not through all that was leafed through.
    if (next) go({ ...route, traceId: next.traceId, spanId: '', zoom: '' }, true)
  }

  if (error && !run)
    return (
      <main>
        <Empty title={error === NO_ANSWER ? 'Viewer not reachable' : 'This run is not here'} isPage>
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
    const errors = failuresIn(tree).map((node) => spanOfRow(node.row.spanId))
    if (errors.length === 0) return
    const at = errors.indexOf(route.spanId)
    select(errors[(at + direction + errors.length) % errors.length]!)
  }

  return (
    <main class={`run-page ${route.spanId ? 'with-panel' : ''}`} aria-busy={run.totalRows ? true : undefined}>
      <RunHeader
        summary={run.summary}
        rows={run.rows}
        tree={run.totalRows ? undefined : tree}
        nowUs={nowUs}
        route={route}
        marks={marks}
      />
      {/* That the viewer does not answer is said at the top. */}
      {[problem, error !== '' && error !== NO_ANSWER && `${error} You see what was read of it before.`].map(
        (said) =>
          said && (
            <p key={said} class="notice error" role="alert">
              {said}
            </p>
          ),
      )}
      {marks.dialog}
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
      <div class="split" style={panel.px === undefined ? undefined : { '--panel': `${panel.px}px` }}>
        <section class="view" id="view" role="tabpanel" aria-labelledby={`tab-${route.view}`}>
          {(route.view === 'timeline' || route.view === 'tree') && (
            <Timeline
              key={route.traceId}
              tree={tree}
              summary={run.summary}
              totalRows={run.totalRows}
              selected={route.spanId}
              onSelect={select}
              nowUs={nowUs}
              compact={route.view === 'tree'}
              find={route.find ?? ''}
              onFind={(find) => go({ ...route, find }, true)}
              zoomed={route.zoom ?? ''}
              onZoom={(zoom) => keepZoom(route.traceId, zoom)}
            />
          )}
          {route.view === 'conversation' && (
            <ConversationView
              key={run.summary.traceId}
              traceId={run.summary.traceId}
              version={version}
              live={open}
              selected={route.spanId}
              toStep={toStep}
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
          <>
            <Splitter
              label="Width of the panel"
              split={panel}
              grows="left"
              measured={(splitter) => splitter.nextElementSibling!.getBoundingClientRect().width}
            />
            <SpanPanel
              key={route.spanId}
              traceId={run.summary.traceId}
              spanId={route.spanId}
              tree={tree}
              nowUs={nowUs}
              version={version}
              onSelect={select}
            />
          </>
        )}
      </div>
    </main>
  )
}
