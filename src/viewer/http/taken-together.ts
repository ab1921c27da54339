import type { InTurns } from '../model/in-turns.ts'
import type { IncomingSpans } from '../otlp/incoming.ts'
import { takeTurns } from '../turns.ts'

/** What comes with a larger request waits for no other one. */
const GROUP_BYTES = 1024 * 1024

interface Waiting {
  items: readonly IncomingSpans[]
  bytes: number
  resolve(): void
  reject(error: unknown): void
}

/** Stores the spans of requests that came in the same moment together: a transaction costs as much as what is in it. */
export class TakenTogether {
  readonly #store: (items: readonly IncomingSpans[]) => InTurns<void>
  readonly #waiting: Waiting[] = []

  constructor(store: (items: readonly IncomingSpans[]) => InTurns<void>) {
    this.#store = store
  }

  /** Settled when they are stored, or could not be. */
  add(items: readonly IncomingSpans[]): Promise<void> {
    if (items.length === 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const bytes = items.reduce((sum, { body }) => sum + body.length, 0)
      this.#waiting.push({ items, bytes, resolve, reject })
      if (this.#waiting.length === 1) setImmediate(() => this.#storeAll())
    })
  }

  #storeAll(): void {
    while (this.#waiting.length > 0) {
      const group = [this.#waiting.shift()!]
      let bytes = group[0]!.bytes
      while (this.#waiting.length > 0 && bytes + this.#waiting[0]!.bytes <= GROUP_BYTES) {
        bytes += this.#waiting[0]!.bytes
        group.push(this.#waiting.shift()!)
      }
      void this.#storeGroup(group)
    }
  }

  async #storeGroup(group: readonly Waiting[]): Promise<void> {
    try {
      await takeTurns(this.#store(group.flatMap(({ items }) => items)))
      for (const { resolve } of group) resolve()
    } catch (error) {
      if (group.length === 1) return group[0]!.reject(error)
      // Each by itself: one that cannot be stored costs the others nothing. What is stored already is replaced by the same.
      for (const one of group) await this.#storeGroup([one])
    }
  }
}
