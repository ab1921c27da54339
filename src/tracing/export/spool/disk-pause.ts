const FIRST_MS = 1_000
const LONGEST_MS = 30_000
/** A disk that is full still takes a short record now and then. */
const RECOVERED_BYTES = 16 * 1024

/** While a disk takes nothing: when it is asked again, later each time. */
export class DiskPause {
  /** 0 while writes are tried. */
  #until = 0
  #lastMs = 0
  /** What it took since the last pause; undefined while nothing was wrong. */
  #taken: number | undefined

  /** Whether the last write failed. */
  get isOn(): boolean {
    return this.#until > 0
  }

  /** Whether a write may be tried now. */
  get mayTry(): boolean {
    return this.#until === 0 || performance.now() >= this.#until
  }

  /** Whatever it took so far, the next write is tried. */
  end(): void {
    this.#until = Math.min(this.#until, performance.now())
  }

  /** A write failed. True when that is news. */
  prolong(): boolean {
    const isNews = this.#taken === undefined
    this.#taken = 0
    this.#lastMs = Math.min(Math.max(this.#lastMs * 2, FIRST_MS), LONGEST_MS)
    this.#until = performance.now() + this.#lastMs
    return isNews
  }

  /** So many bytes were written. True when that is news: it was not only a gap that they fitted into. */
  took(bytes: number): boolean {
    this.#until = 0
    if (this.#taken === undefined) return false
    this.#taken += bytes
    if (this.#taken < RECOVERED_BYTES) return false
    this.#taken = undefined
    this.#lastMs = 0
    return true
  }
}
