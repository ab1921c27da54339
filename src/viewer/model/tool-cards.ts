/**
 * The tool calls of one conversation: what the model asked for, what ran, and what came back. Those that wait for their
 * span, or for what came back, are found without looking at all.
 */
import { isRewritten } from './asked.ts'
import type { toolCallFacts } from './call-content.ts'
import type { ToolItem } from './conversation-items.ts'
import { dataPiece, type Piece } from './message-pieces.ts'
import { parse } from './messages.ts'
import { PARKED } from './parked.ts'
import type { AttributeValue, SpanRow } from './span.ts'
import { durationMs } from './timing.ts'

export class ToolCards {
  readonly #withoutSpan = { byCall: new Lists(hasSpan), byName: new Lists(hasSpan) }
  readonly #unanswered = new Lists((card) => card.result !== undefined)
  /** What the model asked for, of calls that came to run. */
  readonly #asked = new Map<ToolItem, Piece>()
  /** Calls that another span goes on with. */
  readonly #parked = new Map<string, ToolItem>()

  asked(callId: string, name: string, args: AttributeValue): ToolItem {
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
    this.#withoutSpan.byCall.add(callId, card)
    this.#withoutSpan.byName.add(name, card)
    this.#unanswered.add(callId, card)
    return card
  }

  answered(callId: string, result: AttributeValue): void {
    const card = this.#unanswered.first(callId)
    if (!card) return
    card.result = dataPiece(parse(result))
    if (card.state === 'requested') card.state = 'ended'
  }

  /** `isNew`: no model was seen to ask for it. */
  ran(row: SpanRow, facts: ReturnType<typeof toolCallFacts> | undefined): { card: ToolItem; isNew: boolean } {
    const { args = null, result = null, error = '' } = facts ?? {}
    const call = `${row.callId}\n${row.label}`
    const known = this.#parked.get(call) ?? this.#for(row)
    const card = known ?? this.asked(row.callId, row.label, args)
    if (row.outcome === PARKED) this.#parked.set(call, card)
    else this.#parked.delete(call)
    card.spanId = row.spanId
    card.state = row.state
    card.outcome = row.outcome
    card.mocked = row.mocked
    card.gates = row.gates ?? []
    card.error = error || row.errorText
    card.durationMs = durationMs(row)
    if (result !== null) card.result = dataPiece(result)
    if (args !== null) {
      if (!this.#asked.has(card)) this.#asked.set(card, card.args)
      card.args = dataPiece(args)
    }
    if (isRewritten(row)) this.tellAsked(card)
    return { card, isNew: known === undefined }
  }

  /** Where the model called a sub-agent as a tool, that call is answered by the agent's span. */
  ranAsAgent(row: SpanRow): void {
    const card = this.#withoutSpan.byName.first(row.label)
    if (card) Object.assign(card, { spanId: row.spanId, state: row.state, durationMs: durationMs(row) })
  }

  tellAsked(card: ToolItem): void {
    const asked = this.#asked.get(card)
    if (asked !== undefined && asked.text !== card.args.text) card.asked = asked
  }

  /** The first one that has no span yet: with the span's call id; or, where one of both has none, with its name. */
  #for({ callId, label }: SpanRow): ToolItem | undefined {
    const { byCall, byName } = this.#withoutSpan
    const called = callId === '' ? undefined : byCall.first(callId)
    return called ?? byName.first(label, (card) => card.callId === '' || callId === '')
  }
}

const hasSpan = (card: ToolItem) => card.spanId !== ''

/** By key, in the order they were added, without those that are done with. */
class Lists {
  readonly #isDone: (card: ToolItem) => boolean
  readonly #lists = new Map<string, { cards: ToolItem[]; done: number }>()

  constructor(isDone: (card: ToolItem) => boolean) {
    this.#isDone = isDone
  }

  add(key: string, card: ToolItem): void {
    const list = this.#lists.get(key)
    if (list) list.cards.push(card)
    else this.#lists.set(key, { cards: [card], done: 0 })
  }

  first(key: string, fits: (card: ToolItem) => boolean = () => true): ToolItem | undefined {
    const list = this.#lists.get(key)
    if (!list) return undefined
    const { cards } = list
    while (list.done < cards.length && this.#isDone(cards[list.done]!)) list.done++
    for (let at = list.done; at < cards.length; at++) {
      const card = cards[at]!
      if (!this.#isDone(card) && fits(card)) return card
    }
    return undefined
  }
}
