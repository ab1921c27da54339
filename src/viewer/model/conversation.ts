/**
 * A run as the chat it was. Model calls repeat the whole history; each message is shown once, where it first appeared,
 * and each tool call is one card that gathers what the model asked for, what the tool did and what came back.
 */
import { append } from '../../internal/append.ts'
import { isRewritten } from './asked.ts'
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
  Conversation,
  ConversationItem,
  HumanItem,
  MessageItem,
  StepItem,
  ToolItem,
} from './conversation-items.ts'
import { finish, type InTurns } from './in-turns.ts'
import {
  cutCount,
  dataPiece,
  fingerprint,
  firstWords,
  isCutMark,
  type Piece,
  piece,
  pieceOf,
  saysNothing,
} from './message-pieces.ts'
import { type Message, type MessagePart, parse } from './messages.ts'
import { isParked, PARKED } from './parked.ts'
import type { AttributeValue, SpanRecord, SpanRow } from './span.ts'
import { durationMs } from './timing.ts'
import { ToolCards } from './tool-cards.ts'
import { growingTree, type TreeNode } from './tree.ts'
import { firstCallsIn, isSameCall } from './tree-parts.ts'

type Open = (spanId: string) => SpanRecord | undefined

/** Conversations within one another that are kept apart; what agents call further down is told where the last one is. */
const MAX_AGENT_DEPTH = 24
/** Turns of how many agents may be in one another's way: of a thousand siblings, one carries on from a recent one. */
const REMEMBERED_AGENTS = 50
const MAX_IMAGE_CHARS = 8_000_000

export function buildConversation(rows: readonly SpanRow[], open: Open): Conversation {
  return finish(conversing(rows, open))
}

/** `buildConversation`, giving way to others now and then. With `atLeast`, it stops when so many items are there. */
export function* conversing(
  rows: readonly SpanRow[],
  open: Open,
  atLeast = Number.POSITIVE_INFINITY,
): InTurns<Conversation> {
  const root = yield* growingTree(rows)
  if (!root) return { items: [], hasContent: false }
  const firstCalls = firstCallsIn(root)
  const shared: Shared = { open, calls: new Map(), firstCalls, hasContent: false, items: 0, imageChars: 0 }
  const top = new Scope(shared, 0)
  top.hear(root.row)
  const heard = new Set([top])
  // Not recursive: what calls what can be twenty thousand deep.
  /** `isAgain`: it tells of the call that it lies in. */
  const stack: { node: TreeNode; scope: Scope; step: string; isAgain: boolean }[] = []
  const enter = (node: TreeNode, scope: Scope, step: string) => {
    for (let index = node.children.length - 1; index >= 0; index--) {
      const child = node.children[index]!
      stack.push({ node: child, scope, step, isAgain: isSameCall(child, node) })
    }
  }
  // The run's own agent is the run: the page shows it as such.
  stack.push({ node: root, scope: top, step: '', isAgain: false })
  for (let next = stack.pop(); next; next = stack.pop()) {
    yield
    if (shared.items >= atLeast) return { items: top.items, hasContent: shared.hasContent, isPart: true }
    const { node, scope } = next
    scope.tellUntil(node.row.startUs)
    const isTold = node === root ? root.row.category !== 'llm' : next.isAgain
    const inner = isTold ? scope : scope.visit(node, next.step)
    if (!inner) continue
    if (node !== root) inner.hear(node.row)
    heard.add(inner)
    enter(node, inner, inner === scope ? stepOf(node.row) || next.step : '')
  }
  for (const scope of heard) scope.tellUntil(Number.POSITIVE_INFINITY)
  return { items: top.items, hasContent: shared.hasContent }
}

/** The number of a step that has one. */
function stepOf(row: SpanRow): string {
  return row.category === 'step' ? (/^step (\d+)$/.exec(row.label || row.name)?.[1] ?? '') : ''
}

interface Shared {
  open: Open
  /** The calls that were read last: a call is often asked after when its agent begins, and again in its turn. */
  calls: Map<string, ModelCall | undefined>
  firstCalls: ReadonlyMap<TreeNode, TreeNode>
  hasContent: boolean
  /** How many there are so far, in all of it. */
  items: number
  imageChars: number
}

/** One agent's own conversation. */
class Scope {
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
  /** What the model asked for, of calls that came to run. */
  readonly #asked = new Map<ToolItem, Piece>()
  /** Calls that another span goes on with. */
  readonly #parked = new Map<string, ToolItem>()
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
    // Where the model called the sub-agent as a tool, that call is answered by this span.
    const card = this.#cards.calledAs(row.label)
    if (card) Object.assign(card, { spanId: row.spanId, state: row.state, durationMs: durationMs(row) })
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
      if (part.type === 'tool_call') this.#card(part.id, part.name, part.arguments)
      else if (part.type === 'tool_result') this.#result(part)
    }
  }

  /** So many pictures that they hold up the page are told in words. */
  #limitImage(shown: Piece): void {
    this.#shared.imageChars += shown.src?.length ?? 0
    if (this.#shared.imageChars > MAX_IMAGE_CHARS) delete shown.src
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
    this.#cards.add(card)
    this.#add(card)
    return card
  }

  #result(part: Extract<MessagePart, { type: 'tool_result' }>): void {
    const card = this.#cards.unanswered(part.id)
    if (card) {
      card.result = dataPiece(parse(part.result))
      if (card.state === 'requested') card.state = 'ended'
    }
  }

  #tool(row: SpanRow): void {
    const span = this.#shared.open(row.spanId)
    const facts = span ? toolCallFacts(span) : { args: null, result: null, error: '' }
    const call = `${row.callId}\n${row.label}`
    const card =
      this.#parked.get(call) ?? this.#cards.for(row) ?? this.#card(row.callId, row.label, facts.args)
    if (row.outcome === PARKED) this.#parked.set(call, card)
    else this.#parked.delete(call)
    card.spanId = row.spanId
    card.state = row.state
    card.outcome = row.outcome
    card.mocked = row.mocked
    card.gates = row.gates ?? []
    card.error = facts.error || row.errorText
    card.durationMs = durationMs(row)
    if (facts.result !== null) card.result = dataPiece(facts.result)
    if (facts.args !== null) {
      if (!this.#asked.has(card)) this.#asked.set(card, card.args)
      card.args = dataPiece(facts.args)
    }
    if (isRewritten(row)) this.#tellAsked(card)
    if (facts.args !== null || facts.result !== null) this.#shared.hasContent = true
  }

  /** After the call that it is about: what the model asked for at the same time is there already. */
  #human(row: SpanRow): void {
    const item: HumanItem = { kind: 'human', spanId: row.spanId, state: row.state, ...row.human }
    const call = this.items.findLastIndex((one) => one.kind === 'tool' && one.spanId === row.parentSpanId)
    let at = call === -1 ? this.items.length : call + 1
    const card = this.items[call]
    if (row.human?.action === 'edit' && card?.kind === 'tool') this.#tellAsked(card)
    while (this.items[at]?.kind === 'human') at++
    this.#shared.items++
    this.items.splice(at, 0, item)
  }

  #tellAsked(card: ToolItem): void {
    const asked = this.#asked.get(card)
    if (asked !== undefined && asked.text !== card.args.text) card.asked = asked
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
