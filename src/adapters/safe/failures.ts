import { isGuarded } from '../../dispatcher/run/guarded.ts'
import type { OperationCore } from '../../dispatcher/run/operation-core.ts'
import type { GatePoint } from '../../gates/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { warnOfFailure } from '../warn-once.ts'

/** Why a call is refused where hookspan failed and somebody was to decide on it. */
export const FAILED = {
  kind: 'deny',
  code: 'hookspan_failed',
  reason: 'hookspan itself failed, so nobody could decide on it',
  stop: false,
} as const

/** What to do where hookspan itself fails, in one operation. Without one nothing of the run is seen, or decided on. */
export class Failures {
  readonly core: OperationCore | undefined

  constructor(core: OperationCore | undefined) {
    this.core = core
  }

  /**
   * Takes what a call of ours threw.
   *
   * @throws the same where it is meant for the agent: a refusal, what cannot be done, the end of the run, an abort.
   */
  note(error: unknown): void {
    if (this.isMeant(error)) throw error
    try {
      if (this.core === undefined) warnOfFailure('a run could not be told', error)
      else this.core.reportFailure('adapter', error)
    } catch {
      // Nobody can be told.
    }
  }

  /** Whether the agent is to hear of it. What an adapter says wrongly of a call is our failure, too. */
  isMeant(error: unknown): boolean {
    if (this.core?.signal?.aborted === true) return true
    return error instanceof HookspanError && error.code !== 'INVALID_CALL'
  }

  guarded(...points: GatePoint[]): boolean {
    return this.core !== undefined && isGuarded(this.core, points)
  }

  /** @throws HookspanError `CALL_DENIED` where gates were to decide. */
  refuse(what: string, ...points: GatePoint[]): void {
    if (!this.guarded(...points)) return
    throw new HookspanError('CALL_DENIED', `${what} denied (${FAILED.code}): ${FAILED.reason}`, {
      cause: FAILED,
    })
  }

  /** For what decides nothing. */
  quietly<T>(fn: () => T): T | undefined {
    try {
      return fn()
    } catch (error) {
      this.note(error)
      return undefined
    }
  }

  /** Runs `fn` by way of `by`; where that fails, without it. Never twice. */
  around<T>(by: (fn: () => T) => T, fn: () => T): T {
    const ran = new Once(fn)
    try {
      by(() => ran.run())
    } catch (error) {
      if (ran.threw(error)) throw error
      this.note(error)
    }
    return ran.run()
  }
}

/** A function that is run once, and gives what it gave to whoever asks again. */
export class Once<A extends unknown[], R> {
  readonly #fn: (...args: A) => R
  #made: { readonly value: R } | { readonly error: unknown } | undefined

  constructor(fn: (...args: A) => R) {
    this.#fn = fn
  }

  get began(): boolean {
    return this.#made !== undefined
  }

  readonly run = (...args: A): R => {
    this.#made ??= this.#make(args)
    if ('error' in this.#made) throw this.#made.error
    return this.#made.value
  }

  #make(args: A): { readonly value: R } | { readonly error: unknown } {
    try {
      return { value: this.#fn(...args) }
    } catch (error) {
      return { error }
    }
  }

  /** Whether this is what the function itself threw, at once. */
  threw(error: unknown): boolean {
    return this.#made !== undefined && 'error' in this.#made && this.#made.error === error
  }

  /** The same, and what its promise rejected with. */
  async rejectedWith(error: unknown): Promise<boolean> {
    if (this.#made === undefined || 'error' in this.#made) return this.threw(error)
    try {
      await this.#made.value
      return false
    } catch (own) {
      return own === error
    }
  }
}
