/** A run's line in the list, from its rows. */

import { answeredMessages, sentMessages } from './call-content.ts'
import { oneLine } from './digest.ts'
import { finish, type InTurns } from './in-turns.ts'
import { messageText } from './messages.ts'
import { asksAndEnds, PARKED } from './parked.ts'
import { type RunUse, usesOf } from './run-uses.ts'
import type { AskedInRun, RunStatus, RunSummary, SpanRecord, SpanRow } from './span.ts'
import { flatten, growingTree, TRACE_ROOT, type TreeNode } from './tree.ts'
import { eachCallOnce } from './tree-parts.ts'
import { failedAtItsEnd, failuresIn } from './why.ts'

export interface SummaryInput {
  traceId: string
  rows: readonly SpanRow[]
  conversationId: string
  /** Why operations ended, by span. */
  reasonOf: (spanId: string) => string
  /** Opens one span, for the input shown in the list; its logs are not asked for. */
  open: (spanId: string) => SpanRecord | undefined
  /** What the approval store knows, and the spans may not. @default nothing is asked */
  asked?: AskedInRun | undefined
  /** It was heard of so lately that spans may be on their way. @default false */
  isFresh?: boolean
  /** What people said of it. @default nothing */
  marks?: Marks | undefined
}

type Marks = Pick<RunSummary, 'mark' | 'note' | 'labels'>
const NO_MARKS: Marks = { mark: '', note: '', labels: [] }

export function summarise(input: SummaryInput): RunSummary {
  return finish(summing(input)).summary
}

/** `summarise`, giving way to others now and then; and what sums over many runs are made of. */
export function* summing({
  traceId,
  rows,
  conversationId,
  reasonOf,
  open,
  asked,
  isFresh = false,
  marks = NO_MARKS,
}: SummaryInput): InTurns<{ summary: RunSummary; uses: RunUse[] }> {
  const root = yield* growingTree(rows)
  const nodes = root ? flatten(root) : []
  yield
  const agents = nodes.filter((node) => node.row.category === 'agent')
  const main = agents[0] ?? nodes[0]
  const once = eachCallOnce(nodes)
  const calls = once.filter(({ row }) => row.category === 'llm' || row.category === 'embedding')
  const tools = once.filter((node) => node.row.category === 'tool')
  const firstAgent = nodes.find((node) => node.row.category === 'agent')
  // What prepares a call is told as one by some, without its messages.
  const firstCalls = nodes.filter(isModelCall).slice(0, 2)
  const opened = opensOnce(open)
  const startUs = rows.reduce((least, row) => Math.min(least, row.startUs), Number.POSITIVE_INFINITY)
  const endUs = rows.reduce((most, row) => Math.max(most, row.endUs || row.startUs), 0)
  const agent = main?.row.category === 'agent' ? main.row.label : ''
  const reason = lastReason(agents, reasonOf)
  // Most have none, and to find that out is not to walk through them.
  const errors = root && rows.some((row) => row.error) ? failuresIn(root).length : 0
  const isOver = errors > 0 && reason === '' && failedAtItsEnd(root!)
  const status = asked?.open ? 'waiting' : statusOf(nodes, { reason, errors, isOver, isFresh })
  const asks = nodes.filter(({ row }) => isOpenQuestion(row, status)).length
  const sum = (pick: (row: SpanRow) => number) => calls.reduce((total, node) => total + pick(node.row), 0)
  const summary: RunSummary = {
    traceId,
    title: agent || asked?.agentName || (nodes.find(isReal) ?? main)?.row.name || '',
    agent,
    service: main?.row.service ?? '',
    model: calls[0]?.row.label ?? '',
    conversationId,
    status,
    reason,
    inputPreview: yield* firstText([firstAgent, nodes[0], ...firstCalls], opened, userText),
    answerPreview: yield* firstText([firstAgent, nodes[0], nodes.findLast(isModelCall)], opened, answerText),
    startUs: Number.isFinite(startUs) ? startUs : 0,
    endUs,
    durationMs: Number.isFinite(startUs) ? (endUs - startUs) / 1000 : 0,
    spans: rows.length,
    steps: once.filter((node) => node.row.category === 'step').length,
    llmCalls: calls.length,
    toolCalls: tools.length,
    mockedCalls: tools.filter((node) => node.row.mocked).length,
    errors,
    waiting: Math.max(asks, asked?.open ?? 0),
    inputTokens: sum((row) => row.inputTokens),
    outputTokens: sum((row) => row.outputTokens),
    cachedTokens: sum((row) => row.cachedTokens),
    costUsd: sum((row) => row.costUsd),
    estimatedUsd: sum((row) => (row.costEstimated ? row.costUsd : 0)),
    agents: distinct(agents.map((node) => node.row.label)),
    tools: distinct(tools.map((node) => node.row.label)),
    models: distinct(calls.map((node) => node.row.label)),
    mark: marks.mark,
    note: marks.note,
    labels: marks.labels,
  }
  yield
  return { summary, uses: usesOf(nodes, once, reasonOf) }
}

/** Of the main agent; when it was resumed, of its last part. What its sub-agents ended for does not count. */
function lastReason(agents: readonly TreeNode[], reasonOf: (spanId: string) => string): string {
  const depth = agents.reduce((least, node) => Math.min(least, node.depth), Number.POSITIVE_INFINITY)
  const main = agents.filter((node) => node.depth === depth)
  return main.map((node) => reasonOf(node.row.spanId)).findLast(Boolean) ?? ''
}

/** A question of a run that was parked has ended where it was asked. */
function isOpenQuestion({ category, state, outcome, human }: SpanRow, status: RunStatus): boolean {
  if (category !== 'human' || outcome === PARKED) return false
  return state === 'running' || (status === 'waiting' && state === 'ended' && !human?.action)
}

interface RunFacts {
  reason: string
  errors: number
  /** An agent failed, and nothing was done after that. */
  isOver: boolean
  isFresh: boolean
}

function statusOf(nodes: readonly TreeNode[], { reason, errors, isOver, isFresh }: RunFacts): RunStatus {
  const open = nodes.filter((node) => node.row.state !== 'ended')
  const asks = ({ row }: TreeNode) => row.category === 'human' || row.outcome === 'waiting'
  if (open.some((node) => node.row.state === 'running' && asks(node))) return 'waiting'
  if (open.some((node) => node.row.state === 'running')) return 'running'
  const top = nodes[0]
  // The span of a run that is parked is sent by who goes on with it.
  if (top && lacksItsAgent(top) && nodes.some(({ row }) => asksAndEnds(row))) return 'waiting'
  if (top && lacksItsAgent(top)) return isFresh ? 'running' : 'interrupted'
  if (top && open.length > 0 && (top.row.state === 'interrupted' || top.row.category === 'missing'))
    return 'interrupted'
  if (reason === 'denied' || reason === 'interrupted') return reason
  const agent = nodes.find((node) => node.row.category === 'agent')
  if (reason === 'error' || top?.row.error || agent?.row.error || isOver) return 'failed'
  return errors > 0 ? 'with_errors' : 'ok'
}

/** Steps are in a run: while its span has not come, the run is not over. */
function lacksItsAgent(top: TreeNode): boolean {
  if (top.row.spanId === TRACE_ROOT) return top.children.some((part) => !isReal(part) && lacksItsAgent(part))
  return !isReal(top) && top.children.some(({ row }) => row.category === 'step')
}

function isModelCall({ row }: TreeNode): boolean {
  return row.category === 'llm'
}

/** Not a stand-in for a span that has not come. */
function isReal({ row }: TreeNode): boolean {
  return row.category !== 'missing'
}

/** The first text that one of the spans says. */
function* firstText(
  candidates: readonly (TreeNode | undefined)[],
  open: (spanId: string) => SpanRecord | undefined,
  textOf: (span: SpanRecord) => string,
): InTurns<string> {
  for (const node of new Set(candidates)) {
    const span = node && node.row.category !== 'missing' ? open(node.row.spanId) : undefined
    yield
    const text = span ? textOf(span) : ''
    if (text) return text
  }
  return ''
}

/** Building a span from what came is most of the work, and the same one may tell both. */
function opensOnce(open: (spanId: string) => SpanRecord | undefined) {
  const opened = new Map<string, SpanRecord | undefined>()
  return (spanId: string) => {
    if (!opened.has(spanId)) opened.set(spanId, open(spanId))
    return opened.get(spanId)
  }
}

function answerText(span: SpanRecord): string {
  return oneLine(answeredMessages(span).map(messageText).findLast(Boolean) ?? '', 240)
}

function userText(span: SpanRecord): string {
  const user = sentMessages(span).filter(({ role }) => role === 'user' || role === 'human')
  return oneLine(user.map(messageText).find(Boolean) ?? '', 240)
}

function distinct(values: string[]): string[] {
  return [...new Set(values.filter(Boolean))].slice(0, 50)
}
