/** Where in a span's bytes is what its row is made of: noted while it is checked, so that they are gone through once. */

/** What comes first of each span, by its place: each where in the bytes, or -1 for what is not there. */
export const SPAN_AT = 0
export const SPAN_END = 1
export const ID_AT = 2
/** Of one of eight bytes. */
export const PARENT_AT = 3
export const NAME_AT = 4
export const NAME_END = 5
export const START_AT = 6
export const END_AT = 7
/** Behind the last of its values, among the notes. */
export const VALUES_END = 8
export const VALUES = 9
/** A value is three numbers: which, from where, up to where. An attribute is told by its number among those that rows show. */
export const VALUE_SIZE = 3
export const EVENT_VALUE = -1
export const STATUS_VALUE = -2

const FEW = 64
const MANY = 16 * 1024
/** A span with content on takes about so many bytes for each number that is noted of it. */
const BYTES_PER_NUMBER = 16

export class SpanNotes {
  numbers: Int32Array
  /** Behind those of the last span that was kept. */
  #kept = 0
  #at = 0

  /** `bytes`: how many there are to be noted. */
  constructor(bytes: number) {
    this.numbers = new Int32Array(Math.max(FEW, Math.min(MANY, Math.trunc(bytes / BYTES_PER_NUMBER))))
  }

  /** Notes of another span; those of one that was not kept are forgotten. Gives where they begin. */
  begin(start: number, end: number): number {
    const at = this.#kept
    if (at + VALUES > this.numbers.length) this.#grow()
    const { numbers } = this
    numbers[at + SPAN_AT] = start
    numbers[at + SPAN_END] = end
    for (let index = ID_AT; index <= END_AT; index++) numbers[at + index] = -1
    this.#at = at + VALUES
    return at
  }

  add(which: number, start: number, end: number): void {
    const at = this.#at
    if (at + VALUE_SIZE > this.numbers.length) this.#grow()
    const { numbers } = this
    numbers[at] = which
    numbers[at + 1] = start
    numbers[at + 2] = end
    this.#at = at + VALUE_SIZE
  }

  keep(): void {
    this.numbers[this.#kept + VALUES_END] = this.#at
    this.#kept = this.#at
  }

  clear(): void {
    this.#kept = 0
  }

  #grow(): void {
    const more = new Int32Array(this.numbers.length * 2)
    more.set(this.numbers)
    this.numbers = more
  }
}
