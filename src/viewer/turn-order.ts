/** Of work that waits for its next slice, whose turn it is. */

/** A second of slices: who has had so many gives way to those who had fewer. */
const MANY_SLICES = 50
/** Each so-manieth turn goes to whoever has waited for it the longest, so that nobody is left out for ever. */
const FAIR_TURN = 8

export interface Work {
  /** Nobody waits for it: answers go first. */
  readonly isBackground: boolean
  slices: number
  /** The how-manieth it is that came to wait. */
  begun?: number
}

/**
 * Who began first goes on first. Turn by turn, ten long answers would all be done at the end of the last one; and to let those
 * go first that had the fewest slices made the slowest answer slower still, as there is always somebody who asks anew.
 */
export class TurnOrder<T extends Work> {
  /** In the order in which they came to wait. */
  readonly #waiting: T[] = []
  #count = 0
  #turns = 0

  get size(): number {
    return this.#waiting.length
  }

  add(work: T): void {
    work.begun ??= this.#count++
    this.#waiting.push(work)
  }

  /** Has one slice more then. */
  next(): T | undefined {
    const isFair = ++this.#turns % FAIR_TURN === 0
    const work = isFair ? this.#waiting[0] : this.#first()
    if (!work) return undefined
    this.#waiting.splice(this.#waiting.indexOf(work), 1)
    work.slices++
    return work
  }

  #first(): T | undefined {
    let first = this.#waiting[0]
    for (const work of this.#waiting) if (first && this.#isBefore(work, first)) first = work
    return first
  }

  #isBefore(a: T, b: T): boolean {
    if (a.isBackground !== b.isBackground) return b.isBackground
    const many = Math.floor(a.slices / MANY_SLICES) - Math.floor(b.slices / MANY_SLICES)
    return many === 0 ? a.begun! < b.begun! : many < 0
  }
}
