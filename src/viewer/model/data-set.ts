/** A run as a line of a data set: what went in, what came out and what was done between, in the shape that models are tuned and judged with. */
import { modelCall, toolCallFacts } from './call-content.ts'
import type { InTurns } from './in-turns.ts'
import { type Message, messageText, textOf } from './messages.ts'
import { PARKED } from './parked.ts'
import type { RunSummary, SpanRecord, SpanRow } from './span.ts'
import { growingTree, type TreeNode } from './tree.ts'
import { isSameCall } from './tree-parts.ts'

export interface RunContent {
  summary: RunSummary
  rows: readonly SpanRow[]
  open: (spanId: string) => SpanRecord | undefined
}

/** The names are stable: docs/viewer.md. */
export interface DataSetLine {
  id: string
  agent: string
  status: RunSummary['status']
  started: string
  model: string
  /** What was asked: the first text of the user. */
  input: string
  /** What was answered last. */
  output: string
  /** Of the run's own agent, as its last model call saw and left them; as chat completions write them. */
  messages: object[]
  tools: unknown[]
  /** Every tool call, sub-agents' too, in order. */
  calls: { tool: string; args: unknown; result: unknown; outcome: string }[]
  mark: RunSummary['mark']
  note: string
  labels: string[]
}

/** Gives way to others now and then. */
export function* dataSetLine({ summary, rows, open }: RunContent): InTurns<DataSetLine> {
  const root = yield* growingTree(rows)
  const calls: DataSetLine['calls'] = []
  const ownCalls: SpanRow[] = []
  for (const { row, isOwn, isAgain } of root ? walk(root) : []) {
    if (row.category === 'llm' && isOwn) ownCalls.push(row)
    if (row.category !== 'tool' || row.outcome === PARKED || isAgain) continue
    const span = open(row.spanId)
    yield
    const { args, result, error } = span ? toolCallFacts(span) : { args: null, result: null, error: '' }
    calls.push({ tool: row.label, args, result: result ?? (error || null), outcome: row.outcome })
  }
  const { messages, tools } = yield* lastSaid(ownCalls, open)
  const texts = (role: string) =>
    messages.filter((message) => message.role === role).map((message) => messageText(message))
  return {
    id: summary.traceId,
    agent: summary.agent,
    status: summary.status,
    started: new Date(summary.startUs / 1000).toISOString(),
    model: summary.model,
    input: texts('user').find(Boolean) ?? summary.inputPreview,
    output: texts('assistant').findLast(Boolean) ?? summary.answerPreview,
    messages: messages.flatMap(chatMessages),
    tools,
    calls,
    mark: summary.mark,
    note: summary.note,
    labels: summary.labels,
  }
}

/** In order; what is not below a second agent is the run's own. */
interface Walked {
  row: SpanRow
  isOwn: boolean
  /** It tells of the call that it lies in. */
  isAgain: boolean
}

function walk(root: TreeNode): Walked[] {
  const found: Walked[] = []
  const stack = [{ node: root, agents: 0, isAgain: false }]
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const agents = top.agents + (top.node.row.category === 'agent' ? 1 : 0)
    found.push({ row: top.node.row, isOwn: agents <= 1, isAgain: top.isAgain })
    for (const node of [...top.node.children].reverse())
      stack.push({ node, agents, isAgain: isSameCall(node, top.node) })
  }
  return found
}

/** Of the last call whose content was captured. */
function* lastSaid(
  calls: readonly SpanRow[],
  open: RunContent['open'],
): InTurns<{ messages: Message[]; tools: unknown[] }> {
  for (const { spanId } of [...calls].reverse()) {
    const span = open(spanId)
    yield
    const { input, output, tools } = span ? modelCall(span) : { input: [], output: [], tools: [] }
    if (input.length > 0 || output.length > 0)
      return { messages: [...input, ...output], tools: tools.map(({ value }) => value) }
  }
  return { messages: [], tools: [] }
}

/** As chat completions take them. Results of several tools in one message are as many messages there. */
export function chatMessages(message: Message): object[] {
  const results = message.parts.flatMap((part) =>
    part.type === 'tool_result'
      ? [{ role: 'tool', tool_call_id: part.id, content: textOf(part.result) }]
      : [],
  )
  const calls = message.parts.flatMap((part) =>
    part.type === 'tool_call'
      ? [{ id: part.id, type: 'function', function: { name: part.name, arguments: textOf(part.arguments) } }]
      : [],
  )
  const text = messageText(message)
  if (!text && calls.length === 0) return results
  const role = message.role === 'human' ? 'user' : message.role === 'model' ? 'assistant' : message.role
  return [{ role, content: text || null, ...(calls.length > 0 && { tool_calls: calls }) }, ...results]
}
