/** A token bucket per key. Bounded: the keys that were idle longest are forgotten, which only refills them. */
export class RateLimiter {
  readonly #perMinute: number
  readonly #buckets = new Map<string, { tokens: number; at: number }>()

  constructor(perMinute: number) {
    this.#perMinute = perMinute
  }

  /** Takes one; gives 0, or the milliseconds until there is one again. */
  take(key: string): number {
    // Not the time of day: once that is set back, nobody would get in until it is as late again.
    const now = performance.now()
    const bucket = this.#buckets.get(key) ?? { tokens: this.#perMinute, at: now }
    const perMs = this.#perMinute / 60_000
    const tokens = Math.min(this.#perMinute, bucket.tokens + (now - bucket.at) * perMs)
    this.#buckets.delete(key)
    this.#buckets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now })
    const oldest = this.#buckets.keys().next()
    if (this.#buckets.size > 10_000 && !oldest.done) this.#buckets.delete(oldest.value)
    return tokens >= 1 ? 0 : Math.ceil((1 - tokens) / perMs)
  }
}
