/** How many ended operations are remembered. */
const REMEMBERED_ENDS = 1_024

interface End {
  /** Where late events go on; undefined when they are not to be told. */
  readonly sequence: number | undefined
  /** Its place in the ring. */
  readonly slot: number
}

/** The operations that ended last, so that a late event does not bring one back to life. */
export class EndedOperations {
  readonly #ends = new Map<string, End>()
  /** Their ids, the oldest overwritten first: a Map finds its oldest key only past all those deleted before it. */
  readonly #ring: string[] = []
  #count = 0

  get(operationId: string): { readonly sequence: number | undefined } | undefined {
    return this.#ends.get(operationId)
  }

  forget(operationId: string): void {
    this.#ends.delete(operationId)
  }

  remember(operationId: string, sequence: number | undefined): void {
    const slot = this.#count++ % REMEMBERED_ENDS
    const oldest = this.#ring[slot]
    // It may have ended again since, in a slot further on.
    if (oldest !== undefined && this.#ends.get(oldest)?.slot === slot) this.#ends.delete(oldest)
    this.#ring[slot] = operationId
    this.#ends.set(operationId, { sequence, slot })
  }
}
