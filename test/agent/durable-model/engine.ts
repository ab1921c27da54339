import { expect } from 'vitest'
import type { DurableEngine } from '../../../src/durable/engine.ts'

/** What an engine has of a run, over all attempts at it. */
export class Journal {
  readonly entries: Entry[] = []
  /** Somebody has cancelled the run. */
  cancelled = false
  /** Told to the attempt that is under way. */
  onCancel: () => void = () => {}

  cancel(): void {
    this.cancelled = true
    this.onCancel()
  }
}

type Entry = { readonly name: string } & (
  | { readonly kind: 'kept'; readonly output: string }
  | { readonly kind: 'waited' }
  | { readonly kind: 'cancelled' }
)

class Cancelled extends Error {}
class Lost extends Error {}

/** The attempt that this is the engine of. */
export interface Attempt {
  readonly suspends: boolean
  readonly forgets: boolean
  /** Something outside of the process happens: it may be the last. */
  moment(what: string): Promise<void>
  /** Until one of the requests is answered, or the time is over. */
  wait(requestIds: readonly string[], timeoutMs: number): Promise<void>
  suspend(): void
  /** Another attempt has the run. */
  hasLost(): boolean
}

const never = () => new Promise<never>(() => {})

/** One attempt at a run: it is replayed as far as the journal goes. */
export class MemoryEngine implements DurableEngine {
  readonly #journal: Journal
  readonly #attempt: Attempt
  readonly #lost = new AbortController()
  readonly lost = this.#lost.signal
  #next = 0
  #told = false

  constructor(journal: Journal, attempt: Attempt) {
    this.#journal = journal
    this.#attempt = attempt
  }

  lose(): void {
    this.#lost.abort()
  }

  async journal<T>(name: string, closure: () => Promise<T>): Promise<T> {
    const known = this.#replayed(name)
    if (known?.kind === 'kept') return JSON.parse(known.output) as T
    if (this.#told && this.#attempt.forgets) return closure()
    await this.#attempt.moment('before a part')
    const given = await this.#unlessCancelled(name, closure)
    await this.#attempt.moment('after a part')
    // As it was kept: undefined fields are gone.
    const output = JSON.stringify(given)
    this.#keep({ name, kind: 'kept', output })
    await this.#attempt.moment('after a record')
    return JSON.parse(output) as T
  }

  async wait(requestIds: readonly string[], timeoutMs: number): Promise<void> {
    expect(timeoutMs).toBeGreaterThan(0)
    const name = requestIds.join()
    if (this.#replayed(name) !== undefined) return
    await this.#attempt.moment('before a wait')
    await this.#unlessCancelled(name, () => this.#attempt.wait(requestIds, timeoutMs))
    this.#keep({ name, kind: 'waited' })
    if (!this.#attempt.suspends) return
    this.#attempt.suspend()
    await never()
  }

  isCancelled(error: unknown): boolean {
    return error instanceof Cancelled
  }

  #replayed(name: string): Entry | undefined {
    const known = this.#journal.entries[this.#next]
    if (known === undefined) return undefined
    this.#next++
    expect([this.#next, known.name], 'what is replayed').toEqual([this.#next, name])
    if (known.kind !== 'cancelled') return known
    this.#told = true
    throw new Cancelled()
  }

  #keep(entry: Entry): void {
    if (this.#attempt.hasLost()) throw new Lost('Another attempt has the run.')
    this.#journal.entries.push(entry)
    this.#next = this.#journal.entries.length
  }

  async #unlessCancelled<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.#told) return work()
    const journal = this.#journal
    const cancelled = new Promise<void>((resolve) => {
      journal.onCancel = resolve
    })
    const working = journal.cancelled ? never() : work()
    if (journal.cancelled) journal.onCancel()
    const ended = await Promise.race([
      cancelled.then(() => 'cancelled' as const),
      working.then((value) => [value]),
    ])
    if (ended !== 'cancelled') return ended[0] as T
    working.catch(() => {})
    // Once: then both work again.
    if (!this.#attempt.forgets) this.#keep({ name, kind: 'cancelled' })
    this.#told = true
    throw new Cancelled()
  }
}
