import { unref, within } from '../internal/async.ts'

/** Milliseconds in which Redis says whose a run is whose time is over. */
const LAST_WORD_MS = 1_000

/** Runs that this process has in Redis, which says so three times in the milliseconds after which others may take them. */
export class RedisLeases {
  readonly #leaseMs: number
  readonly #timers = new Map<string, NodeJS.Timeout>()

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs
  }

  /**
   * `renew` gives whether Redis has it as ours still, once it says so. What is given is aborted when another has the run, or may have
   * it by now; not for the latter where it is `fenced`: who has lost it can write nothing of it.
   */
  hold(
    key: string,
    renew: () => Promise<boolean>,
    { since, fenced = false }: { since: number; fenced?: boolean },
  ): AbortSignal {
    const lost = new AbortController()
    let heldAt = since
    // One that fails is made up for by the next. Who only stood still may have the run yet.
    const look = async () => {
      const askedAt = performance.now()
      const isLast = !fenced && askedAt - heldAt > this.#leaseMs - LAST_WORD_MS
      const asking = renew().catch(() => undefined)
      const isOurs = await (isLast ? within(LAST_WORD_MS, asking) : asking)
      if (isOurs) heldAt = askedAt
      else if (this.#timers.get(key) === timer && (isLast || isOurs === false)) {
        this.letGo(key)
        lost.abort()
      }
    }
    const timer = unref(setInterval(look, this.#leaseMs / 3))
    this.#timers.set(key, timer)
    return lost.signal
  }

  letGo(key: string): void {
    clearInterval(this.#timers.get(key))
    this.#timers.delete(key)
  }

  dispose(): void {
    for (const key of [...this.#timers.keys()]) this.letGo(key)
  }
}
