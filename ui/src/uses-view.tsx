/** What each tool, model, agent, gate or person did in all runs of a search; each number leads to its runs. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { counted, formatWhole } from '../../src/viewer/model/format.ts'
import { NEWEST_FIRST } from '../../src/viewer/model/query-keys.ts'
import { USE_KINDS, type UseCount, type UseKind, type UseSum } from '../../src/viewer/model/run-uses.ts'
import {
  USE_COLUMNS,
  USE_WORDS,
  type UseColumn,
  useErrorTerm,
  useTerm,
} from '../../src/viewer/model/use-columns.ts'
import { useFollowed, useKeys, useLive, useSource, useToldOnce } from './hooks.ts'
import { usePageTitle } from './page-title.ts'
import { Empty, Notices, Text } from './parts.tsx'
import { QueryField } from './query-field.tsx'
import { go, listRoute, pathOf, rememberList, type UsesRoute } from './route.ts'
import { SortHead } from './sort-head.tsx'

const PAUSE_MS = 1_000

export function UsesView({ route }: { route: UsesRoute }) {
  const { kind, query } = route
  const source = useSource()
  const [version, setVersion] = useState(0)
  const [sort, setSort] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const list = { ...listRoute(), query }
  rememberList(list)
  const { value, error } = useFollowed(() => source.uses(query, kind), [query, kind], version, PAUSE_MS)
  const { value: page } = useFollowed(() => source.runs(query, 50, NEWEST_FIRST), [query], version, PAUSE_MS)
  const toldOnce = useToldOnce(`${kind} ${query}`, value)
  useLive((event) => {
    if (event.type === 'changed' || event.type === 'connected') setVersion((before) => before + 1)
  })
  const isBehind = value !== undefined && value.pending + value.indexing > 0
  useEffect(() => {
    if (!isBehind) return
    const timer = setTimeout(() => setVersion((before) => before + 1), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  const kinds = useRef<HTMLElement>(null)
  // On a phone they do not all fit, and the one that is shown may be the last.
  useEffect(() => {
    kinds.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [kind])
  const search = useCallback((next: string) => go({ ...route, query: next }, true), [route])
  const show = (next: UseKind) => go({ ...route, kind: next }, true)
  useKeys({
    '/': (event) => {
      event.preventDefault()
      input.current?.focus()
    },
    u: () => go(list),
    ...Object.fromEntries(USE_KINDS.map((one, index) => [String(index + 1), () => show(one)])),
  })
  const isHere = value?.kind === kind
  const { all } = USE_WORDS[kind]
  usePageTitle(query ? `${all}: ${query}` : all)
  const behind = value
    ? [behindText(value.pending, 'run', 'summed'), behindText(value.indexing, 'span', 'searched')]
    : []
  return (
    <main class="runs-page" aria-busy={isHere || error ? undefined : true}>
      <h1 class="sr">{all}</h1>
      <div class="toolbar">
        <a class="back" href={pathOf(list)} aria-label="The runs">
          ‹
        </a>
        <QueryField query={query} runs={page?.runs ?? []} field={input} onQuery={search} />
        <nav class="chips" aria-label="Sums by" ref={kinds}>
          {USE_KINDS.map((one, index) => (
            <a
              key={one}
              class={`chip ${one === kind ? 'on' : ''}`}
              aria-current={one === kind ? 'page' : undefined}
              href={pathOf({ ...route, kind: one })}
            >
              {USE_WORDS[one].all}
              <kbd>{index + 1}</kbd>
            </a>
          ))}
        </nav>
        <p class="count" role="status" aria-live={toldOnce}>
          {page && value
            ? [`${counted(value.names, 'name')} in ${counted(page.total, 'run')}`, ...behind]
                .filter(Boolean)
                .join(', ')
            : ' '}
        </p>
      </div>
      <Notices error={error} problems={page?.problems} />
      {isHere && value.uses.length === 0 && (
        <Empty title={`No ${all.toLowerCase()} in these runs`}>
          <p>
            {query ? (
              <button type="button" class="more" onClick={() => search('')}>
                Look in all runs
              </button>
            ) : (
              'They are counted as runs come.'
            )}
          </p>
        </Empty>
      )}
      {isHere && value.uses.length > 0 && (
        <div class="table-frame">
          <UsesTable kind={kind} uses={value.uses} query={query} sort={sort} onSort={setSort} />
          {value.names > value.uses.length && (
            <p class="hint pad">
              {formatWhole(value.names - value.uses.length)} that occur less are not shown.
            </p>
          )}
        </div>
      )}
    </main>
  )
}

function behindText(count: number, one: string, what: string): string {
  return count > 0 ? `${counted(count, one)} not ${what} yet` : ''
}

function UsesTable({
  kind,
  uses,
  query,
  sort,
  onSort,
}: {
  kind: UseKind
  uses: readonly UseSum[]
  query: string
  /** A column's head, `-` before it for the greatest first; empty: as they came. */
  sort: string
  onSort: (sort: string) => void
}) {
  const columns = USE_COLUMNS[kind]
  const { one, error } = USE_WORDS[kind]
  const hasErrors = uses.some((use) => use.topError)
  const sorted = useMemo(() => inOrder(uses, columns, sort), [uses, sort, kind])
  const found = (term: string) => pathOf({ ...listRoute(), query: [query, term].filter(Boolean).join(' ') })
  const runsWith = (count: UseCount, use: UseSum) => found(useTerm(kind, count, use.name))
  return (
    <table class="uses">
      <thead>
        <tr>
          <SortHead head={one} sort={sort} name="name" onSort={onSort} class="c-name" />
          <SortHead head="Runs" sort={sort} name="runs" greatestFirst onSort={onSort} class="c-num" />
          {columns.map(({ head, says }) => (
            <SortHead
              key={head}
              head={head}
              title={says}
              sort={sort}
              name={head}
              greatestFirst
              onSort={onSort}
              class="c-num"
            />
          ))}
          {hasErrors && (
            <th scope="col" class="c-error">
              {error}
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {sorted.map((use) => (
          <tr key={use.name}>
            <th scope="row" class="c-name">
              <a href={runsWith('calls', use)} title={use.name}>
                <Text>{use.name}</Text>
              </a>
            </th>
            <td class="c-num">
              <a href={runsWith('calls', use)}>{formatWhole(use.runs)}</a>
            </td>
            {columns.map((column) => (
              <td key={column.head} class={`c-num ${column.isBad && column.value(use) > 0 ? 'bad' : ''}`}>
                <Cell column={column} use={use} href={runsWith(column.count ?? 'calls', use)} />
              </td>
            ))}
            {hasErrors && (
              <td class="c-error">
                {use.topError && (
                  <a
                    href={found(useErrorTerm(kind, use.name, use.topError.text))}
                    title={`${use.topError.text} (${formatWhole(use.topError.count)}× in ${counted(use.topError.runs, 'run')})`}
                  >
                    <small>{formatWhole(use.topError.count)}×</small> <Text>{use.topError.text}</Text>
                  </a>
                )}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** A number leads to the runs that have it; where there is none of it, there is nothing to lead to. */
function Cell({ column, use, href }: { column: UseColumn; use: UseSum; href: string }) {
  const note = column.note?.(use)
  if (column.count && column.value(use) === 0) return <span class="none">0</span>
  return (
    <a href={href} title={column.says}>
      {column.text(use)} {note && <small>{note}</small>}
    </a>
  )
}

function inOrder(uses: readonly UseSum[], columns: readonly UseColumn[], sort: string): readonly UseSum[] {
  const key = sort.replace(/^-/, '')
  const way = sort.startsWith('-') ? -1 : 1
  if (key === 'name') return [...uses].sort((a, b) => way * (a.name < b.name ? -1 : 1))
  const value = key === 'runs' ? (use: UseSum) => use.runs : columns.find(({ head }) => head === key)?.value
  return value ? [...uses].sort((a, b) => way * (value(a) - value(b))) : uses
}
