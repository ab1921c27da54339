import { type ChainResult, isRefusal } from '../../gates/chain.ts'
import type { GatePoint } from '../../gates/index.ts'
import type { CompletionReason } from '../../hooks/index.ts'
import { untilAborted } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { assertBody } from '../../internal/expect.ts'
import type { ActivityEnd } from '../plugins/instrument.ts'
import { Bracket } from '../run/bracket.ts'
import type { DecidedPlace } from '../run/decided-place.ts'
import { admission } from './admission.ts'
import { decide } from './decide.ts'

/** What is to be done with a call, once it is decided. */
export type HeldCallDecision<Effective> =
  | ({ readonly state: 'run' } & Effective)
  /** A gate answered in its place. */
  | { readonly state: 'skipped'; readonly result: unknown }
  | { readonly state: 'denied' | 'rejected'; readonly code: string; readonly reason: string }

/**
 * A call of an agent or a compaction, decided at one moment and run at another: by a function that is handed over
 * (`run`), or by somebody who tells what came of it (`settle`, `fail`). One that is never ended ends with its step.
 */
export abstract class HeldCall<R, Effective extends object, E extends ActivityEnd> extends Bracket<E> {
  protected abstract readonly point: GatePoint
  #decided: Promise<HeldCallDecision<Effective>> | undefined
  #refusal: ChainResult | undefined
  #announced = false
  #runs = false

  /** What the gates are shown. */
  protected abstract payload(): unknown

  /** Takes what the gates made of it, and gives what is effective. */
  protected abstract effective(changed: ChainResult | undefined): Effective

  /** Tells the hooks that it begins. */
  protected abstract announce(): void

  /** Tells the hooks of the result. */
  protected abstract finished(result: R): E

  protected place(): DecidedPlace {
    return { call: this, traced: this.traced, gates: this.gates, stepIndex: this.site.stepIndex }
  }

  #announce(): void {
    if (this.asked && !this.#announced) this.announce()
    this.#announced = true
  }

  override fail(error: unknown): void {
    if (this.isOpen) this.#announce()
    super.fail(error)
  }

  /** What runs ends by itself, also after its step. */
  override abandon(why: () => unknown): void {
    if (!this.#runs) super.abandon(why)
  }

  override cut(reason: CompletionReason): void {
    this.#announce()
    super.cut(reason)
  }

  /** What the gates say, asked once. */
  get decided(): Promise<HeldCallDecision<Effective>> {
    this.#decided ??= this.guard(() => this.#decide())
    return this.#decided
  }

  async #decide(): Promise<HeldCallDecision<Effective>> {
    const { core } = this
    const waits = admission(core)
    if (waits !== undefined) await waits
    // What runs already is to end by itself, where its own run is told.
    if (this.asked) core.assertRunning()
    const decided = this.asked ? await decide(core, this.point, this.payload(), this.place()) : undefined
    core.assertOpen(this)
    const effective = this.effective(decided)
    this.#announce()
    if (isRefusal(decided)) {
      this.#refusal = decided
      const { kind, code, reason } = decided
      this.fail(this.refused())
      return { state: kind === 'deny' ? 'denied' : 'rejected', code, reason }
    }
    if (this.asked) {
      core.assertRunning()
      core.signal?.throwIfAborted()
    }
    if (decided?.kind === 'skip') return { state: 'skipped', result: decided.result }
    return { state: 'run', ...effective }
  }

  /** False where the gates decided and the first hook fired in the process that parked the run. */
  protected get asked(): boolean {
    return true
  }

  protected abstract readonly what: string

  protected refused(): HookspanError {
    const { code, reason } = this.#refusal as { code: string; reason: string }
    return new HookspanError('CALL_DENIED', `${this.what} denied (${code}): ${reason}`, {
      cause: this.#refusal,
    })
  }

  /**
   * Runs code as the call, in its span and place.
   *
   * @returns what `body` gives, or what a gate gave in its place.
   * @throws what `body` throws; HookspanError `CALL_DENIED` when a gate refused, `CALL_SETTLED` when it has ended, as with its step.
   */
  run(body: (effective: Effective) => R | PromiseLike<R>): Promise<R> {
    this.#runs = true
    return this.guard(async () => {
      assertBody(body, `what ${this.what} runs`)
      const decided = await this.decided
      if (decided.state === 'skipped') return this.settle(decided.result as R)
      if (decided.state !== 'run') throw this.refused()
      // Since the decision was made, what was decided of another call may have stopped the run.
      if (this.asked) this.core.assertRunning()
      if (!this.isOpen) throw new HookspanError('CALL_SETTLED', `${this.what} was run after it had ended.`)
      if (this.asked) this.core.signal?.throwIfAborted()
      const running = this.within(() => body(decided as Effective))
      return this.settle(await untilAborted(Promise.resolve(running), this.core.signal))
    })
  }

  /** Tells the result of what ran elsewhere. Gives the same. */
  settle(result: R): R {
    if (this.claim()) this.close(this.finished(result))
    return result
  }
}
