/** What a model saw in a call: what is new since the call before, and how large the rest is. */
import { askedInstead } from './asked.ts'
import { modelCall } from './call-content.ts'
import { Bag, charsByRole, charsOf } from './context-size.ts'
import { cutCount, fingerprint, firstWords, isCutMark, TEXT_LIMIT } from './message-pieces.ts'
import { type Message, type MessagePart, textOf } from './messages.ts'
import type { SpanRecord, SpanRow } from './span.ts'
import { buildTree, flatten, type TreeNode } from './tree.ts'
import { eachCallOnce } from './tree-parts.ts'

export interface SeenPart {
  part: MessagePart
  /** How much of it was left out. */
  cutChars: number
}

export interface SeenMessage {
  /** `not recorded` for the mark of what was too long. */
  role: string
  chars: number
  /** The call before did not have it. */
  isNew: boolean
  /** Its first words. */
  first: string
  /** Of what is new; of the rest where it was asked for. */
  parts?: SeenPart[]
}

export interface Seen {
  /** The span of the call before; none for an agent's first. */
  before?: string
  messages: SeenMessage[]
  /** What the call before had and this one has not, by first words. */
  gone: string[]
  /** Whether other tools were offered than in the call before. */
  hasOtherTools: boolean
  tools: { name: string; chars: number; json: string }[]
  output: SeenMessage[]
  chars: Record<string, number>
  /** Of a tool that was called with something else: what the model asked for, as JSON. */
  asked?: string
}

interface Asked {
  rows: readonly SpanRow[]
  open: (spanId: string) => SpanRecord | undefined
  spanId: string
  /** With the content of what is not new, too. */
  all?: boolean
}

/** More of what went is counted with the rest. */
const MAX_GONE = 200

export function seenBy({ rows, open, spanId, all = false }: Asked): Seen | undefined {
  const span = open(spanId)
  if (!span) return undefined
  const asked = askedInstead(rows, open, span)
  const call = modelCall(span)
  const prints = call.input.map(fingerprint)
  const before = previousCall(rows, open, spanId, prints)
  const old = new Bag(before?.prints ?? [])
  const messages = call.input.map((message, at) => {
    const isNew = !old.take(prints[at]!)
    return seen(message, isNew, isNew || all)
  })
  const kept = new Bag(prints)
  const missing = (before?.input ?? []).filter(
    (message, at) => !isCutMark(message) && !kept.take(before!.prints[at]!),
  )
  // The oldest were sent, and are not recorded.
  const gone = missing.slice(Math.max(0, cutCount(call.input) - cutCount(before?.input ?? [])))
  const toolNames = (tools: readonly { value: unknown }[]) => JSON.stringify(tools.map((tool) => tool.value))
  return {
    ...(before && { before: before.spanId }),
    messages,
    gone: gone.slice(0, MAX_GONE).map(firstWords),
    hasOtherTools: before !== undefined && toolNames(before.tools) !== toolNames(call.tools),
    tools: call.tools.map(({ name, chars, value }) => ({
      name,
      chars,
      json: textOf(value).slice(0, TEXT_LIMIT),
    })),
    output: call.output.map((message) => seen(message, true, true)),
    chars: charsByRole(call.input, call.tools),
    ...(asked !== undefined && { asked: textOf(asked) }),
  }
}

function seen(message: Message, isNew: boolean, isWhole: boolean): SeenMessage {
  return {
    role: isCutMark(message) ? 'not recorded' : message.role,
    chars: message.parts.reduce((sum, part) => sum + charsOf(part), 0),
    isNew,
    first: firstWords(message),
    ...(isWhole && { parts: message.parts.map(cutPart) }),
  }
}

function cutPart(part: MessagePart): SeenPart {
  const cutChars = Math.max(0, charsOf(part) - TEXT_LIMIT)
  if (cutChars === 0 || part.type === 'media') return { part, cutChars: 0 }
  switch (part.type) {
    case 'tool_call':
      return { part: { ...part, arguments: textOf(part.arguments).slice(0, TEXT_LIMIT) }, cutChars }
    case 'tool_result':
      return { part: { ...part, result: textOf(part.result).slice(0, TEXT_LIMIT) }, cutChars }
    case 'unknown':
      return { part: { ...part, value: textOf(part.value).slice(0, TEXT_LIMIT) }, cutChars }
    default:
      return { part: { ...part, text: part.text.slice(0, TEXT_LIMIT) }, cutChars }
  }
}

interface Previous {
  spanId: string
  input: Message[]
  prints: string[]
  tools: { value: unknown }[]
}

/**
 * The call of the same agent before this one. Where an agent's turns have a span each, that is in another span: the last call
 * of any agent whose messages this one goes on from.
 */
function previousCall(
  rows: readonly SpanRow[],
  open: Asked['open'],
  spanId: string,
  prints: readonly string[],
): Previous | undefined {
  const root = buildTree(rows)
  if (!root) return undefined
  const agents = agentsOf(root)
  const calls = eachCallOnce(flatten(root)).filter(({ row }) => row.category === 'llm')
  const at = calls.findIndex(({ row }) => row.spanId === spanId)
  if (at < 0) return undefined
  const own = calls.slice(0, at).findLast((node) => agents.get(node) === agents.get(calls[at]!))
  if (own) return readCall(own, open)
  const last = calls[at - 1] && readCall(calls[at - 1]!, open)
  const has = new Bag(prints)
  return last && last.prints.length > 0 && last.prints.every((print) => has.take(print)) ? last : undefined
}

function readCall({ row }: TreeNode, open: Asked['open']): Previous | undefined {
  const span = open(row.spanId)
  if (!span) return undefined
  const { input, tools } = modelCall(span)
  return { spanId: row.spanId, input, tools, prints: input.map(fingerprint) }
}

/** Below which agent each node is. */
function agentsOf(root: TreeNode): Map<TreeNode, TreeNode> {
  const agents = new Map<TreeNode, TreeNode>([[root, root]])
  for (const node of flatten(root)) {
    const inside = node.row.category === 'agent' ? node : agents.get(node)!
    for (const child of node.children) agents.set(child, inside)
  }
  return agents
}
