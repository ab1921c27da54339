/** The columns that the list of runs can have: those that it has unless others are chosen, and more. */
import type { ComponentChildren } from 'preact'
import type { WaitingRequest } from '../../src/viewer/model/approval.ts'
import {
  formatAgo,
  formatCost,
  formatCount,
  formatDuration,
  formatWhole,
} from '../../src/viewer/model/format.ts'
import { share } from '../../src/viewer/model/run-numbers.ts'
import type { RunSummary } from '../../src/viewer/model/span.ts'
import { elapsedMs } from '../../src/viewer/model/timing.ts'
import { AnswerButton } from './approvals.tsx'
import { MarkBadges } from './marks.tsx'
import { Badge, StatusMark, Text } from './parts.tsx'

export interface RunColumn {
  key: string
  head: string
  class: string
  /** A key of `SORT_KEYS`. */
  sort?: string
  greatestFirst?: boolean
  /** Not unless it is chosen. */
  isExtra?: boolean
  title?: (run: RunSummary) => string
  /** Of what it counts, where its head is not seen. */
  unit?: string
  cell: (run: RunSummary, now: { us: number; asked: WaitingRequest[] }) => ComponentChildren
}

function name(key: string, head: string, of: (run: RunSummary) => string): RunColumn {
  return {
    key,
    head,
    class: 'c-text',
    sort: key,
    isExtra: true,
    title: of,
    cell: (run) => <Text>{of(run)}</Text>,
  }
}

function number(key: string, head: string, of: (run: RunSummary) => string): RunColumn {
  const unit = head.toLowerCase()
  return { key, head, class: 'c-num', sort: key, greatestFirst: true, isExtra: true, unit, cell: of }
}

/** In the order in which they stand. What the run is comes before all of them. */
export const RUN_COLUMNS: readonly RunColumn[] = [
  {
    key: 'status',
    head: 'Status',
    class: 'c-status',
    sort: 'status',
    cell: (run) => <StatusMark status={run.status} />,
  },
  name('reason', 'Ended by', (run) => run.reason),
  name('service', 'Service', (run) => run.service),
  name('model', 'Model', (run) => run.models.join(', ')),
  name('agents', 'Agents', (run) => run.agents.join(', ')),
  name('tools', 'Tools', (run) => run.tools.join(', ')),
  name('conversation', 'Conversation', (run) => run.conversationId),
  {
    key: 'duration',
    head: 'Duration',
    class: 'c-num',
    sort: 'duration',
    greatestFirst: true,
    cell: (run, { us }) => formatDuration(elapsedMs(run, us)),
  },
  {
    key: 'tokens',
    head: 'Tokens',
    class: 'c-num',
    sort: 'tokens',
    greatestFirst: true,
    unit: 'tokens',
    title: (run) => `${formatWhole(run.inputTokens)} in, ${formatWhole(run.outputTokens)} out`,
    cell: (run) => formatCount(run.inputTokens + run.outputTokens).replace(/^0$/, '–'),
  },
  number('input', 'Tokens in', (run) => formatCount(run.inputTokens)),
  number('output', 'Tokens out', (run) => formatCount(run.outputTokens)),
  number('cached', 'Cached', (run) => share(run.cachedTokens, run.inputTokens)),
  {
    key: 'cost',
    head: 'Cost',
    class: 'c-num c-cost',
    sort: 'cost',
    greatestFirst: true,
    title: (run) => (run.estimatedUsd > 0 ? 'Estimated from tokens' : ''),
    cell: (run) => `${run.estimatedUsd > 0 ? '~' : ''}${formatCost(run.costUsd)}`,
  },
  {
    key: 'calls',
    head: 'Calls',
    class: 'c-num c-calls',
    sort: 'calls',
    greatestFirst: true,
    title: (run) => `${formatWhole(run.llmCalls)} model calls, ${formatWhole(run.toolCalls)} tool calls`,
    cell: (run) => `${formatCount(run.llmCalls)} + ${formatCount(run.toolCalls)}`,
  },
  number('mocked', 'Mocked', (run) => formatWhole(run.mockedCalls)),
  number('steps', 'Steps', (run) => formatWhole(run.steps)),
  number('spans', 'Spans', (run) => formatWhole(run.spans)),
  {
    key: 'signals',
    head: 'Signals',
    class: 'c-flags',
    sort: 'errors',
    greatestFirst: true,
    cell: (run, { asked }) => <Signals run={run} asked={asked} />,
  },
  {
    key: 'started',
    head: 'Started',
    class: 'c-num c-when',
    sort: 'started',
    greatestFirst: true,
    title: (run) => new Date(run.startUs / 1000).toLocaleString(),
    cell: (run, { us }) => formatAgo((us - run.startUs) / 1000),
  },
]

const USUAL = RUN_COLUMNS.filter((column) => !column.isExtra).map((column) => column.key)

/** Keys with commas between them, as in an address; empty for the usual ones. */
export function chosenColumns(keys: string): readonly RunColumn[] {
  const chosen = keys === '' ? USUAL : keys.split(',')
  return RUN_COLUMNS.filter((column) => chosen.includes(column.key))
}

export function withColumn(keys: string, key: string, on: boolean): string {
  const chosen = chosenColumns(keys).map((column) => column.key)
  const next = on ? [...chosen, key] : chosen.filter((other) => other !== key)
  const ordered = RUN_COLUMNS.map((column) => column.key).filter((one) => next.includes(one))
  // Of none, the first stays: no columns are said by no other word.
  return ordered.join() === USUAL.join() ? '' : ordered.join() || USUAL[0]!
}

/** What of it can be answered here is `asked`. */
function Signals({ run, asked }: { run: RunSummary; asked: WaitingRequest[] }) {
  return (
    <>
      <MarkBadges run={run} />
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
    </>
  )
}
