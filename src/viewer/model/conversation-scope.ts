import { append } from '../../internal/append.ts'
import { NAMES, readNumber, readText } from './attributes.ts'
import {
  type ModelCall,
  modelCall,
  type ToolDefinition,
  toolCallFacts,
  userMessages,
} from './call-content.ts'
import { Bag, charsByRole } from './context-size.ts'
import type {
  AgentItem,
  CompactionItem,
  ConversationItem,
  HumanItem,
  MessageItem,
  StepItem,
} from './conversation-items.ts'
import {
  cutCount,
  fingerprint,
  firstWords,
  isCutMark,
  type Piece,
  piece,
  pieceOf,
  saysNothing,
} from './message-pieces.ts'
import type { Message } from './messages.ts'
import { isParked } from './parked.ts'
import type { SpanRecord, SpanRow } from './span.ts'
import { durationMs } from './timing.ts'
import { ToolCards } from './tool-cards.ts'
import type { TreeNode } from './tree.ts'

/** Conversations within one another that are kept apart; what agents call further down is told where the last one is. */
const MAX_AGENT_DEPTH = 24
/** Turns of how many agents may be in one another's way: of a thousand siblings, one carries on from a recent one. */
const REMEMBERED_AGENTS = 50
const MAX_IMAGE_CHARS = 8_000_000

/** What the conversations of one run have in common. */
export interface Shared {
  open: (spanId: string) => SpanRecord | undefined
  /** The calls that were read last: a call is often asked after when its agent begins, and again in its turn. */
  calls: Map<string, ModelCall | undefined>
  firstCalls: ReadonlyMap<TreeNode, TreeNode>
  hasContent: boolean
  /** How many there are so far, in all of it. */
  items: number
  imageChars: number
}

/** One agent's own conversation. */
export class Scope {
  readonly items: ConversationItem[] = []
  readonly #shared: Shared
  readonly #depth: number
  /** Where it was called: `3.` in step 3. */
  readonly #path: string
  /** Model calls so far that are in no step with a number, and the step of the last one. */
  #calls = 0
  #step = ''
  readonly #shown = new Map<string, number>()
  readonly #cards = new ToolCards()
  /** Fingerprints of what the last model call was sent, and the messages themselves. */
  #lastPrints: string[] = []
  #lastInput: Message[] = []
  #agents: Scope[] = []
  #compactions: CompactionItem[] = []
  /** What the user said and no model was sent, until its turn; the earliest first. */
  #unseen: { timeUs: number; message: Message; row: SpanRow }[] = []

  constructor(shared: Shared, depth: number, path = '') {
    this.#shared = shared
    this.#depth = depth
    this.#path = path
  }

  #add(item: ConversationItem): void {
    this.#shared.items++
    this.items.push(item)
  }

  /** Notes what the user said to the agent of this span beside the calls of its model. */
  hear(row: SpanRow): void {
    if (row.category !== 'agent') return
    const span = this.#shared.open(row.spanId)
    for (const { timeUs, messages } of span ? userMessages(span) : [])
      append(
        this.#unseen,
        messages.map((message) => ({ timeUs, message, row })),
      )
    this.#unseen.sort((a, b) => a.timeUs - b.timeUs)
  }

  /** Tells what the user had said by then. */
  tellUntil(timeUs: number): void {
    while (this.#unseen[0] !== undefined && this.#unseen[0].timeUs <= timeUs) {
      const { message, row } = this.#unseen.shift()!
      this.#shared.hasContent = true
      this.#show(message, fingerprint(message), row, false)
    }
  }

  /** Tells what the node is; gives the conversation that what is in it belongs to, if it is to be told at all. */
  visit(node: TreeNode, step: string): Scope | undefined {
    switch (node.row.category) {
      case 'agent':
        return this.#agent(node, step)
      case 'llm':
        this.#modelCall(node, step)
        return undefined
      case 'tool':
        this.#tool(node.row)
        return this
      case 'human':
        if (isParked(node)) return undefined
        this.#human(node.row)
        return undefined
      case 'compact':
        this.#compaction(node.row)
        return undefined
      default:
        return this
    }
  }

  /**
   * A sub-agent has its own conversation. Graph frameworks wrap every turn of one agent in a span of its own:
   * a turn whose first call carries on from what was said before is read on, not begun anew.
   */
  #agent(node: TreeNode, step: string): Scope {
    const call = this.#shared.firstCalls.get(node)
    const begins = call ? (this.#read(call.row.spanId)?.input ?? []) : []
    const carried = new Set(begins.map(fingerprint))
    const carriedOn = [this, ...this.#agents].find((scope) => scope.#isContinuedBy(begins.length, carried))
    if (carriedOn) return carriedOn
    const { row } = node
    const isDeep = this.#depth === MAX_AGENT_DEPTH
    const calledIn = step === '' ? this.#step : `${this.#path}${step}`
    const path = calledIn === '' ? '' : `${calledIn}.`
    const scope = isDeep ? this : new Scope(this.#shared, this.#depth + 1, path)
    const item: AgentItem = {
      kind: 'agent',
      label: row.label || row.name,
      spanId: row.spanId,
      state: row.state,
      outcome: row.outcome,
      error: row.errorText,
      items: isDeep ? [] : scope.items,
    }
    this.#cards.ranAsAgent(row)
    this.#add(item)
    if (!isDeep) this.#agents = [...this.#agents.slice(1 - REMEMBERED_AGENTS), scope]
    return scope
  }

  #read(spanId: string): ModelCall | undefined {
    const { calls, open } = this.#shared
    if (!calls.has(spanId)) {
      const span = open(spanId)
      calls.clear()
      calls.set(spanId, span && modelCall(span))
    }
    return calls.get(spanId)
  }

  #isContinuedBy(length: number, prints: ReadonlySet<string>): boolean {
    if (this.#lastPrints.length === 0 || length < this.#lastPrints.length) return false
    return this.#lastPrints.every((print) => prints.has(print))
  }

  #modelCall({ row }: TreeNode, step: string): void {
    const { input, output, tools, ended } = this.#read(row.spanId) ?? { input: [], output: [], tools: [] }
    const prints = input.map(fingerprint)
    this.#step = `${this.#path}${step || ++this.#calls}`
    const item = this.#stepItem(row, input, prints, tools)
    // A call that failed says so by its error.
    if (ended !== undefined && !row.error) item.ended = ended
    this.#add(item)
    if (input.length + output.length === 0) {
      this.#add({
        kind: 'bare',
        spanId: row.spanId,
        model: row.label,
        inputTokens: row.inputTokens,
        outputTokens: row.outputTokens,
      })
    } else {
      this.#shared.hasContent = true
      this.#noteDropped(prints)
      this.#showNew(input, prints, row)
      this.#lastInput = input
      this.#lastPrints = prints
      for (const message of output) this.#said(message, row)
    }
    if (row.error)
      this.#add({ kind: 'error', spanId: row.spanId, text: row.errorText || 'The model call failed.' })
  }

  #stepItem(row: SpanRow, input: Message[], prints: readonly string[], tools: ToolDefinition[]): StepItem {
    const before = new Bag(this.#lastPrints)
    const told = prints.filter((_, at) => !isCutMark(input[at]!))
    const known = told.filter((print) => before.take(print)).length
    // What is not recorded was sent, and is not gone.
    const cut = cutCount(input)
    const last = this.#lastInput.filter((message) => !isCutMark(message)).length + cutCount(this.#lastInput)
    return {
      kind: 'step',
      step: this.#step,
      spanId: row.spanId,
      model: row.label,
      messages: told.length + cut,
      added: told.length - known,
      gone: Math.max(0, last - known - cut),
      chars: charsByRole(input, tools),
      inputTokens: row.inputTokens,
      outputTokens: row.outputTokens,
      cachedTokens: row.cachedTokens,
      durationMs: durationMs(row),
    }
  }

  #showNew(input: Message[], prints: readonly string[], row: SpanRow): void {
    const counts = new Map<string, number>()
    for (const [index, message] of input.entries()) {
      const print = prints[index]!
      const count = (counts.get(print) ?? 0) + 1
      counts.set(print, count)
      if (count > (this.#shown.get(print) ?? 0)) this.#show(message, print, row, false)
    }
  }

  #said(message: Message, row: SpanRow): void {
    const whole = fingerprint(message)
    this.#show(message, whole, row, true)
    // Of the Responses API each part comes back as an item of its own.
    for (const part of message.parts) {
      const print = fingerprint({ ...message, parts: [part] })
      if (print !== whole) this.#note(print)
    }
  }

  #note(print: string): void {
    this.#shown.set(print, (this.#shown.get(print) ?? 0) + 1)
  }

  #show(message: Message, print: string, row: SpanRow, said: boolean): void {
    this.#note(print)
    // Beside its calls a model often says nothing.
    const telling = message.parts.filter((part) => !saysNothing(part))
    const pieces = (telling.length > 0 ? telling : message.parts).flatMap(pieceOf)
    for (const shown of pieces) this.#limitImage(shown)
    if (pieces.length > 0 && message.role !== 'tool') {
      const role = isCutMark(message) ? 'not recorded' : message.role
      const item: MessageItem = { kind: 'message', role, pieces, spanId: row.spanId }
      if (said) {
        item.model = row.label
        item.inputTokens = row.inputTokens
        item.outputTokens = row.outputTokens
        item.cachedTokens = row.cachedTokens
        item.durationMs = durationMs(row)
      }
      this.#add(item)
    }
    for (const part of message.parts) {
      if (part.type === 'tool_call') this.#add(this.#cards.asked(part.id, part.name, part.arguments))
      else if (part.type === 'tool_result') this.#cards.answered(part.id, part.result)
    }
  }

  /** So many pictures that they hold up the page are told in words. */
  #limitImage(shown: Piece): void {
    this.#shared.imageChars += shown.src?.length ?? 0
    if (this.#shared.imageChars > MAX_IMAGE_CHARS) delete shown.src
  }

  #tool(row: SpanRow): void {
    const span = this.#shared.open(row.spanId)
    const facts = span ? toolCallFacts(span) : undefined
    const { card, isNew } = this.#cards.ran(row, facts)
    if (isNew) this.#add(card)
    if (facts && (facts.args !== null || facts.result !== null)) this.#shared.hasContent = true
  }

  /** After the call that it is about: what the model asked for at the same time is there already. */
  #human(row: SpanRow): void {
    const item: HumanItem = { kind: 'human', spanId: row.spanId, state: row.state, ...row.human }
    const call = this.items.findLastIndex((one) => one.kind === 'tool' && one.spanId === row.parentSpanId)
    let at = call === -1 ? this.items.length : call + 1
    const card = this.items[call]
    if (row.human?.action === 'edit' && card?.kind === 'tool') this.#cards.tellAsked(card)
    while (this.items[at]?.kind === 'human') at++
    this.#shared.items++
    this.items.splice(at, 0, item)
  }

  #compaction(row: SpanRow): void {
    const span = this.#shared.open(row.spanId)
    const item: CompactionItem = {
      kind: 'compaction',
      error: row.error ? row.errorText || 'failed' : '',
      spanId: row.spanId,
      ...row.compaction,
      tokensBefore: row.compaction?.tokensBefore ?? (span && readNumber(span.attributes, NAMES.tokensBefore)),
      summary: piece('text', span ? readText(span.attributes, NAMES.compactionSummary) : ''),
      dropped: [],
    }
    if (!item.error) this.#compactions.push(item)
    this.#add(item)
  }

  /** What a compaction took away is what the call after it no longer carries. */
  #noteDropped(prints: readonly string[]): void {
    if (this.#compactions.length === 0) return
    const kept = new Set(prints)
    const dropped = this.#lastInput.filter((_, index) => !kept.has(this.#lastPrints[index]!))
    for (const item of this.#compactions) item.dropped = dropped.slice(0, 200).map(firstWords)
    this.#compactions = []
  }
}
