/** What led to a question: who asks, and what the user wanted. */
import { append } from '../../internal/append.ts'
import { NAMES, read } from './attributes.ts'
import { conversing } from './conversation.ts'
import type { AgentItem, ConversationItem } from './conversation-items.ts'
import type { InTurns } from './in-turns.ts'
import { messagesOf, messageText } from './messages.ts'
import type { SpanRecord, SpanRow } from './span.ts'
import { flatten, growingTree, type TreeNode } from './tree.ts'

export interface ApprovalContext {
  /** The agents from the run's own to the one that asks. */
  readonly path: readonly string[]
  /** What the user said last; absent when no span tells. */
  readonly userMessage?: string
  /** What the sub-agent that asks was told. */
  readonly instruction?: string
}

type Open = (spanId: string) => SpanRecord | undefined

export function* approvalContext(
  rows: readonly SpanRow[],
  open: Open,
  toolCallId: string,
): InTurns<ApprovalContext> {
  const root = yield* growingTree(rows)
  if (root === undefined) return { path: [] }
  const agents = agentsAbove(root, toolCallId)
  const { items } = yield* conversing(rows, open)
  const [main] = agents.length > 0 ? agents : [root]
  const asking = agents.length > 1 ? agents.at(-1) : undefined
  const inside = asking && agentItem(items, asking.row.spanId)?.items
  const userMessage = lastOfUser(items) || (main && inputOf(main, open))
  const instruction = asking && (lastOfUser(inside ?? []) || inputOf(asking, open))
  return {
    path: agents.map(({ row }) => row.label || row.name),
    ...(userMessage && { userMessage }),
    ...(instruction && { instruction }),
  }
}

/** Of the call with this id, the last if there are several: two calls may share an id. */
function agentsAbove(root: TreeNode, toolCallId: string): TreeNode[] {
  const parents = new Map<TreeNode, TreeNode>()
  let call: TreeNode | undefined
  for (const node of flatten(root)) {
    for (const child of node.children) parents.set(child, node)
    if (node.row.category === 'tool' && node.row.callId === toolCallId && node.row.state !== 'ended')
      call = node
  }
  const agents: TreeNode[] = []
  for (let at = call; at !== undefined; at = parents.get(at))
    if (at.row.category === 'agent') agents.unshift(at)
  return agents
}

function lastOfUser(items: readonly ConversationItem[]): string {
  const said = items.findLast(
    (item) => item.kind === 'message' && (item.role === 'user' || item.role === 'human'),
  )
  return said?.kind === 'message' ? textOf(said.pieces) : ''
}

function textOf(pieces: readonly { text: string; cutChars: number }[]): string {
  return pieces
    .map(({ text, cutChars }) => (cutChars > 0 ? `${text}\n… ${cutChars} more characters` : text))
    .join('\n')
}

function agentItem(items: readonly ConversationItem[], spanId: string): AgentItem | undefined {
  const waiting = [...items]
  for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
    if (item.kind !== 'agent') continue
    if (item.spanId === spanId) return item
    append(waiting, item.items)
  }
  return undefined
}

/** Some runtimes tell what an agent was given, and not the calls of its model. */
function inputOf({ row }: TreeNode, open: Open): string {
  const given = row.category === 'missing' ? undefined : open(row.spanId)
  const input = given && read(given.attributes, NAMES.inputMessages)
  if (input === undefined) return ''
  const said = messagesOf(input, 'user').findLast(({ role }) => role === 'user' || role === 'human')
  return said === undefined ? '' : messageText(said)
}
