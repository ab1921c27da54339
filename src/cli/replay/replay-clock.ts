/** One microsecond: keeps the order of moments that were recorded as the same. */
const TICK_MS = 0.001

/** Tells a run the time of its recording. Never goes back. */
export class ReplayClock {
  #now: number

  /** @param startMs When the recording begins, in milliseconds since 1970. */
  constructor(startMs: number) {
    this.#now = startMs
  }

  /** Moves to the moment of an item; one without a time happens right after the one before. */
  moveTo(timestampMs: number | undefined): void {
    if (timestampMs !== undefined && timestampMs > this.#now) this.#now = timestampMs
  }

  readonly now = (): number => {
    this.#now += TICK_MS
    return this.#now
  }
}

/** The time of now in milliseconds since 1970, with fractions. Never goes back. */
export function wallClock(): () => number {
  const epochMs = Date.now() - performance.now()
  return () => epochMs + performance.now()
}
