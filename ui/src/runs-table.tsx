/** The list of runs: a line for each, under its conversation where that was asked for. */
import type { WaitingRequest } from '../../src/viewer/model/approval.ts'
import { formatCost, formatCount } from '../../src/viewer/model/format.ts'
import type { Snippet } from '../../src/viewer/model/snippet.ts'
import type { RunSummary } from '../../src/viewer/model/span.ts'
import { Text } from './parts.tsx'
import { pathOf } from './route.ts'
import { chosenColumns, type RunColumn } from './run-columns.tsx'
import { SortHead } from './sort-head.tsx'

interface RunGroup {
  /** The conversation; empty where there is none. */
  id: string
  runs: RunSummary[]
}

/** Of columns that were resized, in pixels. */
export type Widths = Readonly<Record<string, number>>

interface Props {
  groups: RunGroup[]
  grouped: boolean
  /** A line each. */
  compact: boolean
  /** Keys of `RUN_COLUMNS`, as in the address. */
  columns: string
  widths: Widths
  onWidth: (key: string, width: number) => void
  /** A key of `SORT_KEYS`, `-` before it for the greatest first. */
  sort: string
  onSort: (sort: string) => void
  nowUs: number
  selected: string
  requests: readonly WaitingRequest[]
  /** Words that were searched for in the spans; they are searched for in a run that is opened, too. */
  words: string
  snippets: Readonly<Record<string, Snippet>>
  marked: readonly string[]
  onMark: (traceId: string) => void
}

export function RunsTable({
  groups,
  grouped,
  compact,
  columns,
  widths,
  onWidth,
  sort,
  onSort,
  ...rows
}: Props) {
  const shown = chosenColumns(columns)
  const head = { sort, onSort, onWidth }
  return (
    <table class={`runs ${compact ? 'compact' : ''}`}>
      <thead>
        <tr>
          <th scope="col" class="c-mark">
            <span class="sr">Compare</span>
          </th>
          <SortHead {...head} head="Run" class="c-run" name="run" column="run" width={widths.run} />
          {shown.map((column) => (
            <SortHead
              key={column.key}
              {...head}
              head={column.head}
              class={column.class}
              name={column.sort ?? column.key}
              greatestFirst={column.greatestFirst}
              column={column.key}
              width={widths[column.key]}
            />
          ))}
        </tr>
      </thead>
      {groups.map((group) => (
        <tbody key={group.id}>
          {grouped && (
            <tr class="group">
              <th colSpan={shown.length + 2} scope="rowgroup">
                {group.id ? <Text>{group.id}</Text> : 'No conversation'}
                <span>
                  {' '}
                  {group.runs.length} {group.runs.length === 1 ? 'run' : 'runs'},{' '}
                  {formatCount(group.runs.reduce((sum, run) => sum + run.inputTokens + run.outputTokens, 0))}{' '}
                  tokens, {group.runs.some((run) => run.estimatedUsd > 0) ? '~' : ''}
                  {formatCost(group.runs.reduce((sum, run) => sum + run.costUsd, 0))}
                </span>
              </th>
            </tr>
          )}
          {group.runs.map((run) => (
            <RunRow
              key={run.traceId}
              run={run}
              columns={shown}
              nowUs={rows.nowUs}
              selected={run.traceId === rows.selected}
              asked={rows.requests.filter((request) => request.traceId === run.traceId)}
              words={rows.words}
              snippet={rows.snippets[run.traceId]}
              marked={rows.marked.includes(run.traceId)}
              onMark={() => rows.onMark(run.traceId)}
            />
          ))}
        </tbody>
      ))}
    </table>
  )
}

function RunRow({
  run,
  columns,
  nowUs,
  selected,
  asked,
  words,
  snippet,
  marked,
  onMark,
}: {
  run: RunSummary
  columns: readonly RunColumn[]
  nowUs: number
  selected: boolean
  /** What of it can be answered here. */
  asked: WaitingRequest[]
  words: string
  snippet: Snippet | undefined
  marked: boolean
  onMark: () => void
}) {
  return (
    <tr class={`run ${selected ? 'selected' : ''}`} onClick={openFromAnywhere}>
      <td class="c-mark">
        <input
          type="checkbox"
          checked={marked}
          onChange={onMark}
          aria-label={`Compare ${run.title || run.traceId}`}
        />
      </td>
      <td class="c-run">
        <a href={pathOf({ page: 'run', traceId: run.traceId, view: 'timeline', spanId: '', find: words })}>
          <span class="title">
            <Text>{run.title || 'unnamed'}</Text>
          </span>
          {run.service && run.service !== run.title && (
            <span class="service">
              <Text>{run.service}</Text>
            </span>
          )}
          <span class="preview">{snippet ? <Found {...snippet} /> : <Said run={run} />}</span>
        </a>
      </td>
      {columns.map((column) => {
        const cell = column.cell(run, { us: nowUs, asked })
        return (
          <td
            key={column.key}
            class={`${column.class} ${cell === '–' ? 'none' : ''}`}
            title={column.title?.(run)}
            data-unit={column.unit}
          >
            {cell}
          </td>
        )
      })}
    </tr>
  )
}

/**
 * A click beside the title is one on the title, with the same keys held; not one on what is a button or a link itself, nor
 * one that ends in words that were marked.
 */
function openFromAnywhere(event: MouseEvent): void {
  const clicked = event.target as Element
  if (clicked.closest('a, button, input, .c-mark') || String(getSelection()) !== '') return
  const { ctrlKey, metaKey, shiftKey, altKey } = event
  const same = { ctrlKey, metaKey, shiftKey, altKey, bubbles: true, cancelable: true }
  ;(event.currentTarget as Element).querySelector('.c-run a')?.dispatchEvent(new MouseEvent('click', same))
}

function Said({ run }: { run: RunSummary }) {
  return (
    <>
      <Text>{run.inputPreview || run.model || ' '}</Text>
      {run.answerPreview && (
        <span class="answer" title={run.answerPreview}>
          <Text>{run.answerPreview}</Text>
        </span>
      )}
    </>
  )
}

/** Where the words are, in place of what the run began with. */
function Found({ name, before, match, after }: Snippet) {
  return (
    <>
      <span class="hint">
        <Text>{name}</Text>:{' '}
      </span>
      <Text>{before}</Text>
      <mark>
        <Text>{match}</Text>
      </mark>
      <Text>{after}</Text>
    </>
  )
}

export function groupByConversation(runs: RunSummary[]): RunGroup[] {
  const groups = new Map<string, RunSummary[]>()
  for (const run of runs) groups.set(run.conversationId, [...(groups.get(run.conversationId) ?? []), run])
  const alone = groups.get('') ?? []
  groups.delete('')
  const named = [...groups].map(([id, members]) => ({ id, runs: members }))
  return alone.length > 0 ? [...named, { id: '', runs: alone }] : named
}
