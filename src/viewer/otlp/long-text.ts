import type { RowValues } from '../model/attributes.ts'

/** Where a long text is that only some rows show: of several, that of the first name. */
export class LongText {
  #number = 0
  #start = 0
  #end = 0

  clear(): void {
    this.#number = Number.POSITIVE_INFINITY
    this.#end = 0
  }

  note(number: number, start: number, end: number): void {
    if (number > this.#number || end === start) return
    this.#number = number
    this.#start = start
    this.#end = end
  }

  readInto(attributes: RowValues, bytes: Buffer): void {
    if (this.#end > 0) attributes.set(this.#number, bytes.toString('utf8', this.#start, this.#end))
  }
}
