const FIRST_MS = 1_000
const LONGEST_MS = 30_000

/** While a disk takes nothing: when it is asked again, later each time. */
export class DiskPause {
  /** 0 while the disk takes what is written. */
  #until = 0
  #lastMs = 0

  get isOn(): boolean {
    return this.#until > 0
  }

  /** Whether a write may be tried now. */
  get mayTry(): boolean {
    return this.#until === 0 || performance.now() >= this.#until
  }

  /** Begins, or goes on for longer. True when it has begun. */
  prolong(): boolean {
    const begins = !this.isOn
    this.#lastMs = Math.min(Math.max(this.#lastMs * 2, FIRST_MS), LONGEST_MS)
    this.#until = performance.now() + this.#lastMs
    return begins
  }

  end(): void {
    this.#until = 0
    this.#lastMs = 0
  }
}
