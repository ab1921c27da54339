/**
 * A run as the chat it was. Model calls repeat the whole history; each message is shown once, where it first appeared,
 * and each tool call is one card that gathers what the model asked for, what the tool did and what came back.
 */
import { readNumber, readText } from './attributes.ts'
import {
  type Message,
  type MessagePart,
  messageText,
  modelCall,
  parse,
  textOf,
  toolCallFacts,
} from './messages.ts'
import type {
  AttributeValue,
  CompactionFacts,
  GateDecision,
  HumanFacts,
  SpanRecord,
  SpanRow,
} from './span.ts'
import { buildTree, flatten, type TreeNode } from './tree.ts'

/** A longer text is cut in the chat; the span shows it whole. In characters. */
export const TEXT_LIMIT = 20_000

export interface Piece {
  type: 'text' | 'reasoning' | 'media' | 'compaction' | 'data'
  text: string
  /** How much was left out. */
  cutChars: number
}

export interface MessageItem {
  kind: 'message'
  role: string
  pieces: Piece[]
  /** The model call it first appeared in. */
  spanId: string
  /** Set on what the model said. */
  model?: string
  inputTokens?: number
  outputTokens?: number
  cachedTokens?: number
  durationMs?: number
}

export interface ToolItem {
  kind: 'tool'
  callId: string
  name: string
  args: Piece
  result: Piece | undefined
  error: string
  outcome: string
  mocked: boolean
  state: SpanRow['state'] | 'requested'
  gates: GateDecision[]
  durationMs: number
  /** Empty when no span says what the tool did. */
  spanId: string
}

export interface HumanItem extends HumanFacts {
  kind: 'human'
  spanId: string
  state: SpanRow['state']
}

export interface CompactionItem extends CompactionFacts {
  kind: 'compaction'
  /** Why nothing was compacted; empty when it was. */
  error: string
  spanId: string
  summary: Piece
  /** First words of each message that the next call no longer had. */
  dropped: string[]
}

export interface AgentItem {
  kind: 'agent'
  label: string
  spanId: string
  state: SpanRow['state']
  error: string
  items: ConversationItem[]
}

/** A model call whose content was not captured. */
export interface BareItem {
  kind: 'bare'
  spanId: string
  model: string
  inputTokens: number
  outputTokens: number
}

export interface ErrorItem {
  kind: 'error'
  spanId: string
  text: string
}

export type ConversationItem =
  | MessageItem
  | ToolItem
  | HumanItem
  | CompactionItem
  | AgentItem
  | BareItem
  | ErrorItem

export interface Conversation {
  items: ConversationItem[]
  /** False when no call carried its messages, mostly because capturing content was not asked for. */
  hasContent: boolean
}

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

/** Equal for what is the same message, even when its ids or empty parts differ between output and later input. */
function fingerprint(message: Message): string {
  const role = message.role === 'model' ? 'assistant' : message.role
  const parts = message.parts.map((part) => {
    switch (part.type) {
      case 'tool_call':
        return `call ${part.name} ${part.id}`
      case 'tool_result':
        return `result ${part.id} ${textOf(part.result).slice(0, 200)}`
      case 'text':
      case 'compaction':
        return part.text
      case 'reasoning':
        return ''
      default:
        return JSON.stringify(part)
    }
  })
  return `${role}\n${parts.filter(Boolean).join('\n')}`
}

function pieceOf(part: MessagePart): Piece[] {
  switch (part.type) {
    case 'text':
      return [piece('text', part.text)]
    case 'reasoning':
      return [piece('reasoning', part.text)]
    case 'compaction':
      return [piece('compaction', part.text)]
    case 'media':
      return [piece('media', `${part.modality}${part.reference ? ` ${part.reference.slice(0, 200)}` : ''}`)]
    case 'unknown':
      return [dataPiece(part.value)]
    default:
      return []
  }
}

function dataPiece(value: AttributeValue): Piece {
  const parsed = parse(value)
  if (typeof parsed === 'string') return piece('text', parsed)
  return piece('data', parsed === null ? '' : JSON.stringify(parsed, null, 2))
}

function piece(type: Piece['type'], text: string): Piece {
  return { type, text: text.slice(0, TEXT_LIMIT), cutChars: Math.max(0, text.length - TEXT_LIMIT) }
}

function firstWords(message: Message): string {
  const calls = message.parts.map((part) =>
    part.type === 'tool_call' ? `${part.name}(…)` : part.type === 'tool_result' ? textOf(part.result) : '',
  )
  const text = messageText(message) || calls.filter(Boolean).join(' ')
  return `${message.role}: ${text.replace(/\s+/g, ' ').slice(0, 120)}`
}

export function durationMs(row: SpanRow): number {
  return row.endUs > 0 ? (row.endUs - row.startUs) / 1000 : 0
}
