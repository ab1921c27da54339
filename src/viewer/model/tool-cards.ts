/** The tool calls of one conversation that wait for their span, or for what came back, found without looking at all. */
import type { ToolItem } from './conversation-items.ts'
import type { SpanRow } from './span.ts'

export class ToolCards {
  readonly #withoutSpan = { byCall: new Lists(hasSpan), byName: new Lists(hasSpan) }
  readonly #unanswered = new Lists((card) => card.result !== undefined)

  add(card: ToolItem): void {
    this.#withoutSpan.byCall.add(card.callId, card)
    this.#withoutSpan.byName.add(card.name, card)
    this.#unanswered.add(card.callId, card)
  }

  /** The first one that has no span yet: with the span's call id; or, where one of both has none, with its name. */
  for({ callId, label }: Pick<SpanRow, 'callId' | 'label'>): ToolItem | undefined {
    const { byCall, byName } = this.#withoutSpan
    const called = callId === '' ? undefined : byCall.first(callId)
    return called ?? byName.first(label, (card) => card.callId === '' || callId === '')
  }

  calledAs(name: string): ToolItem | undefined {
    return this.#withoutSpan.byName.first(name)
  }

  unanswered(callId: string): ToolItem | undefined {
    return this.#unanswered.first(callId)
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
