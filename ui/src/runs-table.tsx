/** The list of runs: a line for each, under its conversation where that was asked for. */
import type { WaitingRequest } from '../../src/viewer/model/approval.ts'
import {
  formatAgo,
  formatCost,
  formatCount,
  formatDuration,
  formatWhole,
} from '../../src/viewer/model/format.ts'
import type { RunSummary } from '../../src/viewer/model/span.ts'
import { AnswerButton } from './approvals.tsx'
import { Badge, StatusMark, Text } from './parts.tsx'
import { pathOf } from './route.ts'
import { SortHead } from './sort-head.tsx'

interface RunGroup {
  /** The conversation; empty where there is none. */
  id: string
  runs: RunSummary[]
}

interface Props {
  groups: RunGroup[]
  grouped: boolean
  /** A line each. */
  compact: boolean
  /** A key of `SORT_KEYS`, `-` before it for the greatest first. */
  sort: string
  onSort: (sort: string) => void
  nowUs: number
  selected: string
  requests: readonly WaitingRequest[]
  marked: readonly string[]
  onMark: (traceId: string) => void
}

const COLUMNS: readonly { head: string; class: string; sort?: string; greatestFirst?: boolean }[] = [
  { head: 'Compare', class: 'c-mark' },
  { head: 'Run', class: 'c-run', sort: 'run' },
  { head: 'Status', class: 'c-status', sort: 'status' },
  { head: 'Duration', class: 'c-num', sort: 'duration', greatestFirst: true },
  { head: 'Tokens', class: 'c-num', sort: 'tokens', greatestFirst: true },
  { head: 'Cost', class: 'c-num', sort: 'cost', greatestFirst: true },
  { head: 'Calls', class: 'c-num c-calls', sort: 'calls', greatestFirst: true },
  { head: 'Signals', class: 'c-flags', sort: 'errors', greatestFirst: true },
  { head: 'Started', class: 'c-num c-when', sort: 'started', greatestFirst: true },
]

export function RunsTable({
  groups,
  grouped,
  compact,
  sort,
  onSort,
  nowUs,
  selected,
  requests,
  marked,
  onMark,
}: Props) {
  return (
    <table class={`runs ${compact ? 'compact' : ''}`}>
      <thead>
        <tr>
          {COLUMNS.map((column) => (
            <Head key={column.head} column={column} sort={sort} onSort={onSort} />
          ))}
        </tr>
      </thead>
      {groups.map((group) => (
        <tbody key={group.id}>
          {grouped && (
            <tr class="group">
              <th colSpan={COLUMNS.length} scope="rowgroup">
                {group.id ? <Text>{group.id}</Text> : 'No conversation'}
                <span>
                  {' '}
                  {group.runs.length} {group.runs.length === 1 ? 'run' : 'runs'},{' '}
                  {formatCount(group.runs.reduce((sum, run) => sum + run.inputTokens + run.outputTokens, 0))}{' '}
                  tokens
                </span>
              </th>
            </tr>
          )}
          {group.runs.map((run) => (
            <RunRow
              key={run.traceId}
              run={run}
              nowUs={nowUs}
              selected={run.traceId === selected}
              asked={requests.filter((request) => request.traceId === run.traceId)}
              marked={marked.includes(run.traceId)}
              onMark={() => onMark(run.traceId)}
            />
          ))}
        </tbody>
      ))}
    </table>
  )
}

function Head({
  column,
  sort,
  onSort,
}: {
  column: (typeof COLUMNS)[number]
  sort: string
  onSort: (sort: string) => void
}) {
  if (column.sort !== undefined)
    return <SortHead {...column} name={column.sort} sort={sort} onSort={onSort} />
  return (
    <th scope="col" class={column.class}>
      <span class="sr">{column.head}</span>
    </th>
  )
}

function RunRow({
  run,
  nowUs,
  selected,
  asked,
  marked,
  onMark,
}: {
  run: RunSummary
  nowUs: number
  selected: boolean
  /** What of it can be answered here. */
  asked: WaitingRequest[]
  marked: boolean
  onMark: () => void
}) {
  const open = run.status === 'running' || run.status === 'waiting'
  const ms = open ? Math.max(run.durationMs, (nowUs - run.startUs) / 1000) : run.durationMs
  const tokens = run.inputTokens + run.outputTokens
  return (
    <tr class={`run ${selected ? 'selected' : ''}`}>
      <td class="c-mark">
        <input
          type="checkbox"
          checked={marked}
          onChange={onMark}
          aria-label={`Compare ${run.title || run.traceId}`}
        />
      </td>
      <td class="c-run">
        <a href={pathOf({ page: 'run', traceId: run.traceId, view: 'timeline', spanId: '' })}>
          <span class="title">
            <Text>{run.title || 'unnamed'}</Text>
          </span>
          {run.service && run.service !== run.title && (
            <span class="service">
              <Text>{run.service}</Text>
            </span>
          )}
          <span class="preview">
            <Text>{run.inputPreview || run.model || ' '}</Text>
            {run.answerPreview && (
              <span class="answer" title={run.answerPreview}>
                <Text>{run.answerPreview}</Text>
              </span>
            )}
          </span>
        </a>
      </td>
      <td class="c-status">
        <StatusMark status={run.status} />
      </td>
      <td class="c-num">{formatDuration(ms)}</td>
      <td class="c-num" title={`${formatWhole(run.inputTokens)} in, ${formatWhole(run.outputTokens)} out`}>
        {tokens ? formatCount(tokens) : '–'}
      </td>
      <td class="c-num">{formatCost(run.costUsd)}</td>
      <td class="c-num c-calls" title={`${run.llmCalls} model calls, ${run.toolCalls} tool calls`}>
        {run.llmCalls} + {run.toolCalls}
      </td>
      <td class="c-flags">
        {asked.length > 0 ? (
          <AnswerButton requests={asked} />
        ) : run.waiting > 0 ? (
          <Badge kind="human" title="Approvals waiting">
            {run.waiting} waiting
          </Badge>
        ) : null}
        {run.errors > 0 && (
          <Badge kind="error" title="Spans that failed">
            {run.errors} {run.errors === 1 ? 'error' : 'errors'}
          </Badge>
        )}
        {run.mockedCalls > 0 && (
          <Badge kind="mocked" title={`${run.mockedCalls} of ${run.toolCalls} tool calls were mocked`}>
            {Math.round((run.mockedCalls / Math.max(1, run.toolCalls)) * 100)}% mocked
          </Badge>
        )}
      </td>
      <td class="c-num c-when" title={new Date(run.startUs / 1000).toLocaleString()}>
        {formatAgo((nowUs - run.startUs) / 1000)}
      </td>
    </tr>
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
