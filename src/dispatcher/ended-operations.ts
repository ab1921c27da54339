/** How many ended operations are remembered. */
const REMEMBERED_ENDS = 1_024

/** The operations that ended last, so that a late event does not bring one back to life. */
export class EndedOperations {
  /** `sequence`: where late events go on; undefined when they are not to be told. */
  readonly #ends = new Map<string, { readonly sequence: number | undefined }>()

  get(operationId: string): { readonly sequence: number | undefined } | undefined {
    return this.#ends.get(operationId)
  }

  forget(operationId: string): void {
    this.#ends.delete(operationId)
  }

  remember(operationId: string, sequence: number | undefined): void {
    this.#ends.set(operationId, { sequence })
    if (this.#ends.size <= REMEMBERED_ENDS) return
    for (const oldest of this.#ends.keys()) {
      this.#ends.delete(oldest)
      return
    }
  }
}
