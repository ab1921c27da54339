/** All runs, newest first. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatWhole } from '../../src/viewer/model/format.ts'
import type { RunSummary } from '../../src/viewer/model/span.ts'
import { useApprovals } from './approvals.tsx'
import { useKeys, useLive, useLoaded, useNowUs, useSource } from './hooks.ts'
import { Icon } from './icons.tsx'
import { Button, Empty } from './parts.tsx'
import { go, type Route, rememberList } from './route.ts'
import { groupByConversation, RunsTable } from './runs-table.tsx'

const PAGE = 200
const CHIPS: [string, string][] = [
  ['Failed', 'status:failed'],
  ['With errors', 'status:with-errors'],
  ['Interrupted', 'status:interrupted'],
  ['Denied', 'status:denied'],
  ['Running', 'status:running'],
  ['Waiting', 'status:waiting'],
  ['Mocked', 'mocked:yes'],
  ['Slow', 'duration>10s'],
]

export function RunsView({ route }: { route: Extract<Route, { page: 'runs' }> }) {
  rememberList(route)
  const source = useSource()
  const [limit, setLimit] = useState(PAGE)
  const [version, setVersion] = useState(0)
  const [marked, setMarked] = useState<string[]>([])
  const [selected, setSelected] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const { value, error } = useLoaded(() => source.runs(route.query, 0, limit), [route.query, limit, version])
  useLive((event) => {
    if (event.type === 'changed' || event.type === 'connected') setVersion((before) => before + 1)
  })
  useEffect(() => {
    if (!value?.indexing) return
    const timer = setTimeout(() => setVersion((before) => before + 1), 1000)
    return () => clearTimeout(timer)
  }, [value])
  const runs = value?.runs ?? []
  const { requests } = useApprovals()
  const nowUs = useNowUs(
    true,
    runs.some((run) => run.status === 'running' || run.status === 'waiting') ? 1000 : 10_000,
  )
  const search = useCallback((query: string) => go({ ...route, query }, true), [route])
  const mark = (traceId: string) =>
    setMarked((before) =>
      before.includes(traceId) ? before.filter((id) => id !== traceId) : [...before.slice(-1), traceId],
    )
  const open = (run: RunSummary | undefined) =>
    run && go({ page: 'run', traceId: run.traceId, view: 'timeline', spanId: '' })
  const compare = () => marked.length === 2 && go({ page: 'compare', a: marked[0]!, b: marked[1]! })
  const groups = useMemo(
    () => (route.grouped ? groupByConversation(runs) : [{ id: '', runs }]),
    [runs, route.grouped],
  )
  // By id, in the order shown: runs come on top while one reads.
  const shown = groups.flatMap((group) => group.runs)
  const at = shown.findIndex((run) => run.traceId === selected)
  const move = (by: number) => {
    const next = Math.max(0, Math.min(shown.length - 1, at + by))
    setSelected(shown[next]?.traceId ?? '')
    document.querySelectorAll('.runs tbody tr.run')[next]?.scrollIntoView({ block: 'nearest' })
  }
  useKeys({
    '/': (event) => {
      event.preventDefault()
      input.current?.focus()
    },
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: (event) => {
      event.preventDefault()
      move(1)
    },
    ArrowUp: (event) => {
      event.preventDefault()
      move(-1)
    },
    Enter: (event) => {
      if ((event.target as HTMLElement).closest('a, button')) return
      open(shown[at])
    },
    x: () => shown[at] && mark(shown[at].traceId),
    c: compare,
    g: () => go({ ...route, grouped: !route.grouped }),
    Escape: () => (document.activeElement as HTMLElement | null)?.blur(),
  })

  return (
    <main class="runs-page">
      <h1 class="sr">Runs</h1>
      <div class="toolbar">
        <label class="search">
          <Icon name="search" />
          <span class="sr">Search runs</span>
          <input
            ref={input}
            type="search"
            value={route.query}
            placeholder="Search anything, or agent:support cost>0.01"
            onInput={(event) => search(event.currentTarget.value)}
            spellcheck={false}
            autocomplete="off"
          />
          <kbd>/</kbd>
        </label>
        <div class="chips">
          {CHIPS.map(([label, term]) => {
            const on = route.query.split(/\s+/).includes(term)
            return (
              <button
                key={term}
                type="button"
                class={`chip ${on ? 'on' : ''}`}
                aria-pressed={on}
                onClick={() => search(toggleTerm(route.query, term))}
              >
                {label}
              </button>
            )
          })}
          <button
            type="button"
            class={`chip ${route.grouped ? 'on' : ''}`}
            aria-pressed={route.grouped}
            onClick={() => go({ ...route, grouped: !route.grouped })}
          >
            By conversation
          </button>
        </div>
        <p class="count" role="status">
          {value ? `${formatWhole(value.total)} ${value.total === 1 ? 'run' : 'runs'}` : ' '}
          {value && value.indexing > 0 && route.query
            ? `, ${formatWhole(value.indexing)} spans not searched yet`
            : ''}
        </p>
      </div>
      {error && <p class="notice error">{error}</p>}
      {value && runs.length === 0 ? (
        route.query ? (
          <Empty title="No run matches">
            <p>
              Every word must occur in one span. Try fewer words, or{' '}
              <button type="button" class="more" onClick={() => search('')}>
                show all runs
              </button>
              .
            </p>
          </Empty>
        ) : (
          <Welcome />
        )
      ) : (
        <div class="table-frame">
          <RunsTable
            groups={groups}
            grouped={route.grouped}
            nowUs={nowUs}
            selected={selected}
            requests={requests}
            marked={marked}
            onMark={mark}
          />
          {value && value.total > runs.length && (
            <Button onClick={() => setLimit((before) => before + PAGE * 5)}>
              Show more of {formatWhole(value.total)}
            </Button>
          )}
        </div>
      )}
      {marked.length > 0 && (
        <div class="floating" role="status">
          <span>{marked.length === 1 ? 'Pick one more run to compare' : 'Two runs picked'}</span>
          <Button kind="primary" icon="compare" onClick={compare} disabled={marked.length !== 2}>
            Compare
          </Button>
          <Button icon="close" title="Drop the selection" onClick={() => setMarked([])} />
        </div>
      )}
    </main>
  )
}

function Welcome() {
  return (
    <Empty title="Waiting for the first run">
      <p>Send OpenTelemetry traces here, from any framework:</p>
      <pre class="code">OTEL_EXPORTER_OTLP_ENDPOINT={location.origin} node your-agent.js</pre>
      <p>or, with hookspan, in one line:</p>
      <pre class="code">{"startTracing({ serviceName: 'my-agent' })"}</pre>
      <p>An exported run can be dropped onto this page.</p>
    </Empty>
  )
}

function toggleTerm(query: string, term: string): string {
  const terms = query.split(/\s+/).filter(Boolean)
  return (terms.includes(term) ? terms.filter((other) => other !== term) : [...terms, term]).join(' ')
}
