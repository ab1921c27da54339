import { turn } from '../support.ts'
import type { Pace } from './specs.ts'

/** What waits to be let go of, and what goes on by itself: so that a test knows when nothing moves any more. */
export class Pacing {
  readonly #held: { label: string; release: () => void }[] = []
  #moving = 0

  /** Calls `give` at once, a turn of the event loop later, or when it is released. */
  at<T>(pace: Pace, label: string, give: () => T): T | Promise<T> {
    if (pace === 'at once') return give()
    return (pace === 'soon' ? this.#soon() : this.held(label)).then(give)
  }

  held(label: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#held.push({ label, release: resolve })
    return promise
  }

  #soon(): Promise<void> {
    return this.moving(turn())
  }

  /** Something that goes on by itself. */
  async moving(work: Promise<void>): Promise<void> {
    this.#moving++
    try {
      await work
    } finally {
      this.#moving--
    }
  }

  get waiting(): number {
    return this.#held.length
  }

  release(index: number): void {
    this.#held.splice(index % Math.max(1, this.#held.length), 1)[0]?.release()
  }

  /** Whether there was any. */
  releaseAll(labels: RegExp): boolean {
    const found = this.#held.filter(({ label }) => labels.test(label))
    for (const held of found) this.release(this.#held.indexOf(held))
    return found.length > 0
  }

  /** Until only what is held, and timers, could go on. */
  async settle(): Promise<void> {
    do await turn()
    while (this.#moving > 0)
    await turn()
  }
}
