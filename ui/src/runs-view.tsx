/** All runs, newest first unless one asks for another order. */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatWhole } from '../../src/viewer/model/format.ts'
import { USE_KINDS } from '../../src/viewer/model/run-uses.ts'
import type { RunSummary } from '../../src/viewer/model/span.ts'
import { USE_WORDS } from '../../src/viewer/model/use-columns.ts'
import { useApprovals } from './approvals.tsx'
import { ExportMenu } from './export-menu.tsx'
import { useFollowed, useKeys, useLive, useNowUs, useSource, useToldOnce } from './hooks.ts'
import { keep, readKept } from './kept.ts'
import { ColumnsMenu, ViewsMenu } from './list-menus.tsx'
import { useMarks } from './marks.tsx'
import { usePageTitle } from './page-title.ts'
import { Button, Empty, Notices } from './parts.tsx'
import { QueryField } from './query-field.tsx'
import { go, type ListRoute, pathOf, rememberList } from './route.ts'
import { RunSums } from './run-sums.tsx'
import { groupByConversation, RunsTable, type Widths } from './runs-table.tsx'
import { useSnippets } from './use-snippets.ts'

const PAGE = 200
/** An answer that says what was not searched yet is asked for again so soon. */
const NOT_ALL_MS = 100
/** Sums over all runs are asked for no sooner after the last ones, however often runs change. */
const NUMBERS_PAUSE_MS = 2_000
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

/** Where the list was left: for whoever comes back to it. */
let place = { path: '', selected: '', scrollTop: 0, limit: PAGE }
const COMPACT = 'hookspan-compact'
const WIDTHS = 'hookspan-widths'
const NO_WIDTHS: Widths = {}

/** As many as are told side by side. */
const MOST_COMPARED = 20

export function RunsView({ route }: { route: ListRoute }) {
  rememberList(route)
  const source = useSource()
  const path = pathOf(route)
  const left = useRef(place.path === path ? place : undefined).current
  const [limit, setLimit] = useState(left?.limit ?? PAGE)
  const [compact, setCompact] = useState(() => readKept<number>(COMPACT, 0) === 1)
  const [widths, setWidths] = useState(() => readKept(WIDTHS, NO_WIDTHS))
  const [version, setVersion] = useState(0)
  const [marked, setMarked] = useState<string[]>([])
  const [selected, setSelected] = useState(left?.selected ?? '')
  const [problem, setProblem] = useState('')
  const marks = useMarks(setProblem)
  const input = useRef<HTMLInputElement>(null)
  const frame = useRef<HTMLDivElement>(null)
  // While spans come, runs change more often than the list is answered.
  const { value, error } = useFollowed(
    () => source.runs(route.query, limit, route.sort),
    [route.query, route.sort, limit],
    version,
    0,
  )
  const { value: numbers } = useFollowed(
    () => source.numbers(route.query),
    [route.query],
    version,
    NUMBERS_PAUSE_MS,
  )
  const toldOnce = useToldOnce(route.query, route.query && value?.indexing ? undefined : value)
  useLive((event) => {
    if (event.type === 'changed' || event.type === 'connected') setVersion((before) => before + 1)
  })
  useEffect(() => {
    if (!value?.indexing) return
    const timer = setTimeout(() => setVersion((before) => before + 1), NOT_ALL_MS)
    return () => clearTimeout(timer)
  }, [value])
  const isThere = value !== undefined
  useLayoutEffect(() => {
    if (isThere && left && frame.current) frame.current.scrollTop = left.scrollTop
  }, [isThere])
  const keepPlace = () => {
    place = { path, selected, scrollTop: frame.current?.scrollTop ?? 0, limit }
  }
  useLayoutEffect(keepPlace, [path, selected, limit])
  usePageTitle(route.query)
  const runs = value?.runs ?? []
  const snippets = useSnippets(route.query, value)
  const { requests } = useApprovals()
  const nowUs = useNowUs(
    true,
    runs.some((run) => run.status === 'running' || run.status === 'waiting') ? 1000 : 10_000,
  )
  const search = useCallback((query: string) => go({ ...route, query }, true), [route])
  const toggleCompact = () => {
    setCompact(!compact)
    keep(COMPACT, compact ? 0 : 1)
  }
  const resize = (next: Widths) => {
    setWidths(next)
    keep(WIDTHS, next)
  }
  const narrowTo = (fromUs: number, toUs: number) => {
    const others = route.query.split(/\s+/).filter((term) => term && !/^(after|before|since):/.test(term))
    const time = (us: number, round: (ms: number) => number) => new Date(round(us / 1000)).toISOString()
    search([...others, `after:${time(fromUs, Math.floor)}`, `before:${time(toUs, Math.ceil)}`].join(' '))
  }
  const mark = (traceId: string) =>
    setMarked((before) =>
      before.includes(traceId) ? before.filter((id) => id !== traceId) : [...before, traceId],
    )
  const open = (run: RunSummary | undefined) =>
    run && go({ page: 'run', traceId: run.traceId, view: 'timeline', spanId: '', find: value?.words ?? '' })
  /** Of none that are picked: the one that is selected with the one below it, which was before it. */
  const compare = () => {
    const [after, before] = shown.slice(at)
    if (marked.length === 0 && at >= 0 && before)
      go({ page: 'compare', a: before.traceId, b: after!.traceId })
    if (marked.length === 2) go({ page: 'compare', a: marked[0]!, b: marked[1]! })
    if (marked.length > 2 && marked.length <= MOST_COMPARED)
      go({ page: 'steps', runs: marked, exactly: false })
  }
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
  /** From the search to what it found. */
  const first = () => move(-shown.length)
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
    '+': () => marks.toggle(shown[at], 'good'),
    '-': () => marks.toggle(shown[at], 'bad'),
    w: (event) => {
      event.preventDefault()
      marks.edit(shown[at])
    },
    c: compare,
    g: () => go({ ...route, grouped: !route.grouped }),
    r: () => toggleCompact(),
    v: () => go({ page: 'sets', a: route.query, b: route.query }),
    b: () => go({ page: 'uses', kind: 'tool', query: route.query }),
    Escape: () => (document.activeElement as HTMLElement | null)?.blur(),
  })

  return (
    <main class="runs-page">
      <h1 class="sr">Runs</h1>
      <div class="toolbar">
        <QueryField query={route.query} runs={runs} field={input} onQuery={search} onEnter={first} />
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
          <button
            type="button"
            class={`chip ${compact ? 'on' : ''}`}
            aria-pressed={compact}
            title="A line for each run (r)"
            onClick={toggleCompact}
          >
            Compact
          </button>
        </div>
        <ColumnsMenu route={route} onReset={() => resize(NO_WIDTHS)} />
        <ViewsMenu route={route} />
        <ExportMenu query={route.query} picked={marked} />
        <nav class="chips" aria-label="Sums by">
          {USE_KINDS.map((kind) => (
            <a key={kind} class="chip" href={pathOf({ page: 'uses', kind, query: route.query })}>
              {USE_WORDS[kind].all}
            </a>
          ))}
          <a
            class="chip"
            href={pathOf({ page: 'sets', a: route.query, b: route.query })}
            title="With another search (v)"
          >
            Compare
          </a>
        </nav>
        <p class="count" role="status" aria-live={toldOnce}>
          {value ? `${formatWhole(value.total)} ${value.total === 1 ? 'run' : 'runs'}` : ' '}
          {value && value.indexing > 0 && route.query
            ? `, ${formatWhole(value.indexing)} spans not searched yet`
            : ''}
        </p>
      </div>
      <Notices error={error || problem} problems={value?.problems} />
      {marks.dialog}
      {numbers && numbers.runs > 0 && <RunSums numbers={numbers} route={route} onRange={narrowTo} />}
      {value && runs.length === 0 ? (
        route.query ? (
          <Empty title="No run matches">
            <p>
              {value.words
                ? 'Every word must occur in one span. Try fewer words, or'
                : 'Leave something out, or'}{' '}
              <button type="button" class="more" onClick={() => search('')}>
                show all runs
              </button>
              .
            </p>
          </Empty>
        ) : source.readOnly ? (
          <Empty title="No run in this time" />
        ) : (
          <Welcome />
        )
      ) : (
        <div class="table-frame" ref={frame} onScroll={keepPlace}>
          <RunsTable
            groups={groups}
            grouped={route.grouped}
            compact={compact}
            columns={route.columns}
            widths={widths}
            onWidth={(key, width) => resize({ ...widths, [key]: width })}
            sort={route.sort}
            onSort={(sort) => go({ ...route, sort }, true)}
            nowUs={nowUs}
            selected={selected}
            requests={requests}
            words={value?.words ?? ''}
            snippets={snippets}
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
          <span>{pickedWords(marked.length)}</span>
          <Button
            kind="primary"
            icon="compare"
            onClick={compare}
            disabled={marked.length < 2 || marked.length > MOST_COMPARED}
          >
            {marked.length > 2 ? 'Compare by steps' : 'Compare'}
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

function pickedWords(count: number): string {
  if (count === 1) return 'Pick one more run to compare'
  return count === 2 ? 'Two runs picked' : `${count} runs picked`
}

function toggleTerm(query: string, term: string): string {
  const terms = query.split(/\s+/).filter(Boolean)
  return (terms.includes(term) ? terms.filter((other) => other !== term) : [...terms, term]).join(' ')
}
