/**
 * A run as the chat it was. Model calls repeat the whole history; each message is shown once, where it first appeared,
 * and each tool call is one card that gathers what the model asked for, what the tool did and what came back.
 */
import { readNumber, readText } from './attributes.ts'
import { modelCall, toolCallFacts } from './call-content.ts'
import type {
  AgentItem,
  CompactionItem,
  Conversation,
  ConversationItem,
  MessageItem,
  ToolItem,
} from './conversation-items.ts'
import { dataPiece, fingerprint, firstWords, piece, pieceOf } from './message-pieces.ts'
import { type Message, type MessagePart, parse } from './messages.ts'
import type { AttributeValue, SpanRecord, SpanRow } from './span.ts'
import { durationMs } from './timing.ts'
import { buildTree, flatten, type TreeNode } from './tree.ts'

type Open = (spanId: string) => SpanRecord | undefined

export function buildConversation(rows: readonly SpanRow[], open: Open): Conversation {
  const root = buildTree(rows)
  if (!root) return { items: [], hasContent: false }
  const state = { hasContent: false }
  const items = new Scope(open, state).read(root)
  return { items, hasContent: state.hasContent }
}

/** One agent's own conversation. */
class Scope {
  readonly #open: Open
  readonly #state: { hasContent: boolean }
  readonly #items: ConversationItem[] = []
  readonly #shown = new Map<string, number>()
  readonly #cards: ToolItem[] = []
  #lastInput: Message[] = []
  readonly #agents: Scope[] = []
  #compactions: CompactionItem[] = []

  constructor(open: Open, state: { hasContent: boolean }) {
    this.#open = open
    this.#state = state
  }

  read(node: TreeNode): ConversationItem[] {
    if (node.row.category === 'llm') this.#modelCall(node)
    else for (const child of node.children) this.#visit(child)
    return this.#items
  }

  #visit(node: TreeNode): void {
    switch (node.row.category) {
      case 'agent':
        this.#agent(node)
        return
      case 'llm':
        this.#modelCall(node)
        return
      case 'tool':
        this.#tool(node.row)
        break
      case 'human':
        this.#items.push({ kind: 'human', spanId: node.row.spanId, state: node.row.state, ...node.row.human })
        return
      case 'compact':
        this.#compaction(node.row)
        return
    }
    for (const child of node.children) this.#visit(child)
  }

  /**
   * A sub-agent has its own conversation. Graph frameworks wrap every turn of one agent in a span of its own:
   * a turn whose first call carries on from what was said before is read on, not begun anew.
   */
  #agent(node: TreeNode): void {
    const begins = this.#firstInput(node)
    const carriedOn = [this, ...this.#agents].find((scope) => scope.#isContinuedBy(begins))
    if (carriedOn) {
      carriedOn.read(node)
      return
    }
    const scope = new Scope(this.#open, this.#state)
    this.#agents.push(scope)
    const { row } = node
    const item: AgentItem = {
      kind: 'agent',
      label: row.label || row.name,
      spanId: row.spanId,
      state: row.state,
      error: row.errorText,
      items: [],
    }
    // Where the model called the sub-agent as a tool, that call is answered by this span.
    const card = this.#cards.find((other) => other.spanId === '' && other.name === row.label)
    if (card) Object.assign(card, { spanId: row.spanId, state: row.state, durationMs: durationMs(row) })
    this.#items.push(item)
    item.items = scope.read(node)
  }

  #firstInput(node: TreeNode): Message[] {
    const call = flatten(node).find((inner) => inner.row.category === 'llm')
    const span = call && this.#open(call.row.spanId)
    return span ? modelCall(span).input : []
  }

  #isContinuedBy(input: Message[]): boolean {
    if (this.#lastInput.length === 0 || input.length < this.#lastInput.length) return false
    const carried = new Set(input.map(fingerprint))
    return this.#lastInput.every((message) => carried.has(fingerprint(message)))
  }

  #modelCall({ row }: TreeNode): void {
    const span = this.#open(row.spanId)
    const call = span ? modelCall(span) : { input: [], output: [], tools: [] }
    if (call.input.length + call.output.length === 0) {
      this.#items.push({
        kind: 'bare',
        spanId: row.spanId,
        model: row.label,
        inputTokens: row.inputTokens,
        outputTokens: row.outputTokens,
      })
    } else {
      this.#state.hasContent = true
      this.#noteDropped(call.input)
      this.#showNew(call.input, row)
      this.#lastInput = call.input
      for (const message of call.output) this.#show(message, row, true)
    }
    if (row.error)
      this.#items.push({ kind: 'error', spanId: row.spanId, text: row.errorText || 'The model call failed.' })
  }

  #showNew(input: Message[], row: SpanRow): void {
    const counts = new Map<string, number>()
    for (const message of input) {
      const print = fingerprint(message)
      const count = (counts.get(print) ?? 0) + 1
      counts.set(print, count)
      if (count > (this.#shown.get(print) ?? 0)) this.#show(message, row, false)
    }
  }

  #show(message: Message, row: SpanRow, said: boolean): void {
    const print = fingerprint(message)
    this.#shown.set(print, (this.#shown.get(print) ?? 0) + 1)
    const pieces = message.parts.flatMap(pieceOf)
    if (pieces.length > 0 && message.role !== 'tool') {
      const item: MessageItem = { kind: 'message', role: message.role, pieces, spanId: row.spanId }
      if (said) {
        item.model = row.label
        item.inputTokens = row.inputTokens
        item.outputTokens = row.outputTokens
        item.cachedTokens = row.cachedTokens
        item.durationMs = durationMs(row)
      }
      this.#items.push(item)
    }
    for (const part of message.parts) {
      if (part.type === 'tool_call') this.#card(part.id, part.name, part.arguments)
      else if (part.type === 'tool_result') this.#result(part)
    }
  }

  #card(callId: string, name: string, args: AttributeValue): ToolItem {
    const card: ToolItem = {
      kind: 'tool',
      callId,
      name,
      args: dataPiece(args),
      result: undefined,
      error: '',
      outcome: '',
      mocked: false,
      state: 'requested',
      gates: [],
      durationMs: 0,
      spanId: '',
    }
    this.#cards.push(card)
    this.#items.push(card)
    return card
  }

  #result(part: Extract<MessagePart, { type: 'tool_result' }>): void {
    const card = this.#cards.find((item) => item.callId === part.id && !item.result)
    if (card) {
      card.result = dataPiece(parse(part.result))
      if (card.state === 'requested') card.state = 'ended'
    }
  }

  #tool(row: SpanRow): void {
    const span = this.#open(row.spanId)
    const facts = span ? toolCallFacts(span) : { args: null, result: null, error: '' }
    const free = this.#cards.filter((item) => item.spanId === '')
    const card =
      free.find((item) => item.callId !== '' && item.callId === row.callId) ??
      free.find((item) => item.name === row.label && (item.callId === '' || row.callId === '')) ??
      this.#card(row.callId, row.label, facts.args)
    card.spanId = row.spanId
    card.state = row.state
    card.outcome = row.outcome
    card.mocked = row.mocked
    card.gates = row.gates ?? []
    card.error = facts.error || row.errorText
    card.durationMs = durationMs(row)
    if (facts.result !== null) card.result = dataPiece(facts.result)
    if (facts.args !== null) card.args = dataPiece(facts.args)
    if (facts.args !== null || facts.result !== null) this.#state.hasContent = true
  }

  #compaction(row: SpanRow): void {
    const span = this.#open(row.spanId)
    const item: CompactionItem = {
      kind: 'compaction',
      error: row.error ? row.errorText || 'failed' : '',
      spanId: row.spanId,
      ...row.compaction,
      tokensBefore: row.compaction?.tokensBefore ?? (span && readNumber(span.attributes, 'tokensBefore')),
      summary: piece('text', span ? readText(span.attributes, 'compactionSummary') : ''),
      dropped: [],
    }
    if (!item.error) this.#compactions.push(item)
    this.#items.push(item)
  }

  /** What a compaction took away is what the call after it no longer carries. */
  #noteDropped(input: Message[]): void {
    if (this.#compactions.length === 0) return
    const kept = new Set(input.map(fingerprint))
    const dropped = this.#lastInput.filter((message) => !kept.has(fingerprint(message))).map(firstWords)
    for (const item of this.#compactions) item.dropped = dropped.slice(0, 200)
    this.#compactions = []
  }
}
