import { AsyncLocalStorage } from 'node:async_hooks'
import { MAX_TIMER_MS } from '../internal/async.ts'
import type { ApprovalStore } from './store.ts'

/** Until when somebody waits, whatever happens. */
export interface Patience {
  /** By the clock that nobody sets. */
  readonly dueAt: number
  /** By the clock that may be set. */
  readonly expiresAt?: number | undefined
  readonly signal: AbortSignal
}

interface Waiting extends Patience {
  readonly id: string
  readonly wake: () => void
}

/** Those who wait in this process for requests to change. One look into the store is for all of them. */
export class Waiters {
  readonly #store: Pick<ApprovalStore, 'closed'>
  readonly #pollMs: number
  readonly #byRequest = new Map<string, Set<Waiting>>()
  /** Those whose time is not up before the next look. */
  readonly #patient = new Set<Waiting>()
  /** A look is of no run. */
  readonly #outside = AsyncLocalStorage.snapshot()
  #timer: NodeJS.Timeout | undefined
  #isLooking = false

  constructor(store: Pick<ApprovalStore, 'closed'>, pollMs: number) {
    this.#store = store
    this.#pollMs = pollMs
  }

  /** Until the request may have changed, the time is up or the signal is aborted. */
  change(id: string, patience: Patience): Promise<void> {
    const { signal } = patience
    if (signal.aborted) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    let timer: NodeJS.Timeout | undefined
    const wake = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', wake)
      this.#remove(one)
      resolve()
    }
    const one: Waiting = { ...patience, id, wake }
    signal.addEventListener('abort', wake, { once: true })
    const same = this.#byRequest.get(id) ?? new Set()
    this.#byRequest.set(id, same.add(one))
    const left = leftMs(one)
    if (left > this.#pollMs) {
      this.#patient.add(one)
      this.#timer ??= this.#later()
    } else {
      timer = setTimeout(wake, Math.min(left, MAX_TIMER_MS))
    }
    return promise
  }

  wake(id: string): void {
    for (const { wake } of this.#byRequest.get(id) ?? []) wake()
  }

  #remove(one: Waiting): void {
    const same = this.#byRequest.get(one.id)
    same?.delete(one)
    if (same?.size === 0) this.#byRequest.delete(one.id)
    this.#patient.delete(one)
    if (this.#patient.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #later(): NodeJS.Timeout {
    return this.#outside(() => setTimeout(() => this.#look(), Math.min(this.#pollMs, MAX_TIMER_MS)))
  }

  #look(): void {
    this.#timer = undefined
    for (const one of this.#patient) if (leftMs(one) <= this.#pollMs) one.wake()
    if (this.#patient.size === 0) return
    this.#timer = this.#later()
    // One that the store does not answer holds up nobody whose time is up.
    if (!this.#isLooking) void this.#ask()
  }

  async #ask(): Promise<void> {
    this.#isLooking = true
    const asked = [...new Set([...this.#patient].map(({ id }) => id))]
    let closed: readonly string[] | undefined
    try {
      closed = await this.#store.closed?.(asked)
    } catch {
      // A store that is away, say.
    }
    this.#isLooking = false
    // Where nobody says for all of them, each looks by itself, and tells what it finds.
    for (const id of closed ?? asked) this.wake(id)
  }
}

function leftMs({ dueAt, expiresAt = Number.POSITIVE_INFINITY }: Patience): number {
  return Math.max(0, Math.min(dueAt - performance.now(), expiresAt - Date.now() + 1))
}
