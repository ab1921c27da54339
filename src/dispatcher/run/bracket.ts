import type { CompletionReason, GateRecord } from '../../hooks/index.ts'
import type { Activity, ActivityEnd } from '../plugins/instrument.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import { runWithin } from './current.ts'
import type { CallSite, OpenActivity, OperationCore } from './operation-core.ts'

/** Where in a run something happens. */
export type Place = Pick<CallSite, 'traced' | 'stepIndex' | 'callKey'>

/** A call that is decided, run and ended at different moments, by different functions. */
export interface OpenedCall {
  /** Ends it at once as failed, unless it has ended. `why`: asked only then, because an error costs more than a span. */
  abandon(why: () => unknown): void
}

/**
 * What every step, call, question and compaction has around it: it is opened as an activity, it is open until it
 * ends once, and when the operation ends before it does, it ends with it, as failed.
 */
export abstract class Bracket<E extends ActivityEnd, S extends Place = Place>
  implements OpenActivity, OpenedCall
{
  readonly core: OperationCore
  readonly site: S
  readonly traced: TracedActivity
  readonly #startedAt = performance.now()
  readonly #key: string | undefined
  #gates: GateRecord[] | undefined
  deciding: OpenActivity['deciding']

  constructor(core: OperationCore, site: S, activity: Activity, timestamp = core.timestamp) {
    this.core = core
    this.site = site
    this.#key = 'callKey' in activity ? activity.callKey : undefined
    this.traced = site.traced.open(activity, core.info, timestamp)
    core.track(this)
    core.inside?.opens(activity.kind, site.callKey)
  }

  /** «The run ended (done) during the compaction.» */
  protected abstract get during(): string

  /** Tells the hooks that it failed. Gives how its activity ends. */
  protected abstract failed(error: unknown): E

  get isOpen(): boolean {
    return this.core.isOpen(this)
  }

  /** False when it has ended already, with its operation or before. Who gets true has to {@link close} it. */
  protected claim(): boolean {
    if (!this.core.untrack(this)) return false
    this.deciding?.abandon(() => new DOMException('The call was ended before.', 'AbortError'))
    return true
  }

  protected close(end: E): void {
    this.traced.end(end, this.core.timestamp)
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt
  }

  /** The step and the call that an event happens in, where it happens in them. */
  get where(): { stepIndex?: number; withinCallKey?: string } {
    const { stepIndex, callKey } = this.site
    const step = stepIndex === undefined ? {} : { stepIndex }
    return callKey === undefined ? step : { ...step, withinCallKey: callKey }
  }

  /** Takes what gates decide about it. */
  protected get gates(): GateRecord[] {
    this.#gates ??= []
    return this.#gates
  }

  /** What they decided, for its last event. */
  get decidedBy(): { gates?: readonly GateRecord[] } {
    return this.#gates === undefined || this.#gates.length === 0 ? {} : { gates: this.#gates }
  }

  /** Unless it has ended already. */
  fail(error: unknown): void {
    if (this.claim()) this.close(this.failed(error))
  }

  /** Whoever opened it has left it open. */
  abandon(why: () => unknown): void {
    if (this.isOpen) this.fail(why())
  }

  /** The operation ends first. */
  cut(reason: CompletionReason): void {
    this.close(this.failed(new DOMException(`The run ended (${reason}) ${this.during}.`, 'AbortError')))
  }

  /** Runs code in it: what the code traces and calls becomes its child. */
  within<T>(fn: () => T): T {
    return runWithin(this.core, this.site.stepIndex, this.#key, this.traced, fn)
  }

  /** Gives what `body` gives. What it throws is how this fails. */
  protected async guard<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body()
    } catch (error) {
      this.fail(error)
      throw error
    }
  }
}
