/** Several runs of one case, act by act: together as long as they did the same. */
import { useMemo } from 'preact/hooks'
import { counted, formatCost, formatCount, formatDuration } from '../../src/viewer/model/format.ts'
import { branchesOf, type Cell, type RunActs, tableOf } from '../../src/viewer/model/run-steps.ts'
import { useKeys, useLoaded, useSource } from './hooks.ts'
import { Icon } from './icons.tsx'
import { usePageTitle } from './page-title.ts'
import { Badge, NotComparable, StatusMark, Text } from './parts.tsx'
import { go, listRoute, pathOf, type Route } from './route.ts'

export function StepsView({ route }: { route: Extract<Route, { page: 'steps' }> }) {
  const source = useSource()
  const { value, error } = useLoaded(() => source.acts(route.runs), [route.runs.join()])
  const { order, rows } = useMemo(
    () => tableOf(branchesOf(value ?? [], route.exactly)),
    [value, route.exactly],
  )
  useKeys({
    u: () => go(listRoute()),
    m: () => go({ ...route, exactly: !route.exactly }, true),
  })
  usePageTitle(`${counted(route.runs.length, 'run')} by steps`)
  if (error) return <NotComparable why={error} />
  if (!value) return <main class="compare-page" aria-busy="true" />
  const parting = rows.findIndex((cells) => cells.length > 1)
  return (
    <main class="compare-page">
      <header class="compare-head">
        <div class="run-title">
          <a class="back" href={pathOf(listRoute())} aria-label="All runs">
            ‹
          </a>
          <h1>{counted(value.length, 'run')} by steps</h1>
          <p class="input">{partingWords(rows, parting)}</p>
          <div class="actions">
            <button
              type="button"
              class={`chip ${route.exactly ? 'on' : ''}`}
              aria-pressed={route.exactly}
              title="Other arguments are another step (m)"
              onClick={() => go({ ...route, exactly: !route.exactly }, true)}
            >
              With arguments
            </button>
          </div>
        </div>
      </header>
      <div class="compare-rows steps" tabIndex={0} role="region" aria-label="Steps of the runs">
        <table style={{ minWidth: `${60 + order.length * 120}px` }}>
          <thead>
            <tr>
              <th scope="col">
                <span class="sr">Step</span>
              </th>
              {order.map((at) => (
                <RunHead key={at} acts={value[at]!} first={value[order[0]!]!} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((cells, depth) => (
              <tr key={depth} class={depth === parting ? 'parting-row' : ''}>
                <th scope="row">{depth + 1}</th>
                {spaced(cells, order.length).map((cell, index) =>
                  'empty' in cell ? (
                    <td key={index} class="none" colSpan={cell.empty} />
                  ) : (
                    <ActCell key={index} cell={cell} runs={value} total={order.length} />
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </main>
  )
}

function partingWords(rows: readonly Cell[][], parting: number): string {
  if (parting < 0) return 'All did the same.'
  const ways = rows[parting]!.map(({ branch }) => `${branch.runs.length} ${branch.act.label}`)
  return `They part at step ${parting + 1}: ${ways.slice(0, 5).join(', ')}${ways.length > 5 ? ', …' : ''}`
}

function RunHead({ acts: { run, isCut }, first }: { acts: RunActs; first: RunActs }) {
  return (
    <th scope="col">
      <a href={pathOf({ page: 'run', traceId: run.traceId, view: 'timeline', spanId: '' })}>
        <Text>{run.title || 'unnamed'}</Text> <code>{run.traceId.slice(0, 6)}</code>
      </a>
      <StatusMark status={run.status} />
      <span class="hint">
        {formatDuration(run.durationMs)} · {formatCount(run.inputTokens + run.outputTokens)} tok
        {run.costUsd > 0 ? ` · ${formatCost(run.costUsd)}` : ''}
      </span>
      {run !== first.run && (
        <a class="more" href={pathOf({ page: 'compare', a: first.run.traceId, b: run.traceId })}>
          with the first
        </a>
      )}
      {isCut && <span class="hint">its first 500 steps</span>}
    </th>
  )
}

/** With the columns of runs that are over. */
function spaced(cells: readonly Cell[], columns: number): (Cell | { empty: number })[] {
  const all: (Cell | { empty: number })[] = []
  let at = 0
  for (const cell of [...cells].sort((a, b) => a.from - b.from)) {
    if (cell.from > at) all.push({ empty: cell.from - at })
    all.push(cell)
    at = cell.from + cell.branch.runs.length
  }
  if (at < columns) all.push({ empty: columns - at })
  return all
}

function ActCell({ cell, runs, total }: { cell: Cell; runs: readonly RunActs[]; total: number }) {
  const { act, runs: members, bad, refused, mocked } = cell.branch
  const failed = bad - refused
  const first = runs[members[0]!]!
  return (
    <td
      colSpan={members.length}
      class={`act cat-${act.category} ${bad === members.length ? 'bad' : ''} ${cell.parts ? 'parts' : ''} ${members.length === total ? 'all' : ''}`}
    >
      <a
        href={pathOf({
          page: 'run',
          traceId: first.run.traceId,
          view: act.category === 'end' ? 'conversation' : 'timeline',
          spanId: act.category === 'end' ? '' : act.spanId,
        })}
      >
        {act.category !== 'end' && <Icon name={act.category} />}
        <b>
          <Text>{act.category === 'end' ? `ended: ${act.label}` : act.label}</Text>
        </b>
        {members.length < total && members.length > 1 && <span class="hint">{members.length}×</span>}
        {mocked > 0 && (
          <Badge kind="mocked">
            {mocked === members.length ? 'mocked' : `${mocked} of ${members.length} mocked`}
          </Badge>
        )}
        {failed > 0 && failed < members.length && (
          <Badge kind="error whole">{`${failed} of ${members.length} failed`}</Badge>
        )}
        {refused > 0 && refused < members.length && (
          <Badge kind="denied whole">{`${refused} of ${members.length} refused`}</Badge>
        )}
      </a>
      {act.preview && (
        <span class="preview">
          <Text>{act.preview.slice(0, 300)}</Text>
        </span>
      )}
    </td>
  )
}
