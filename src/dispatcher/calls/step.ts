import { isRefusal } from '../../gates/chain.ts'
import { errorMessage, errorType } from '../../internal/errors.ts'
import { a, assertFields, type Fields } from '../../internal/expect.ts'
import type { StepEnd } from '../plugins/instrument.ts'
import { Bracket, type OpenedCall } from '../run/bracket.ts'
import { runAt } from '../run/current.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import type { SavedStep } from '../run/parked.ts'
import { CallMaker } from './call-maker.ts'
import { decide } from './decide.ts'
import { REPORT, type StepReport, StepState } from './step-state.ts'

export interface StepInit {
  stepType?: string
  /** The runtime's own count, where it has one. @default one more than the step before */
  stepIndex?: number
}

export const STEP: Fields<StepInit> = { stepType: a.string, stepIndex: a.integer(0) }

/** A turn of the loop between its two hooks. */
export class StepRun extends Bracket<StepEnd> {
  readonly state: StepState
  readonly #typed: { stepType?: string }
  /** Epoch milliseconds. */
  readonly #startedAt: number

  constructor(core: OperationCore, site: CallSite, init: StepInit, suspended: SavedStep | undefined) {
    const stepIndex = suspended?.stepIndex ?? init.stepIndex ?? core.nextStepIndex
    const stepType = suspended?.stepType ?? init.stepType
    const typed = stepType === undefined ? {} : { stepType }
    const spanKey = core.spanKey(`step ${stepIndex}`)
    const activity = { kind: 'step' as const, stepIndex, ...typed }
    const startedAt = suspended?.startedAt ?? core.timestamp
    super(core, site, spanKey === undefined ? activity : { ...activity, spanKey }, startedAt)
    this.#startedAt = startedAt ?? core.record.clock()
    core.nextStepIndex = Math.max(core.nextStepIndex, stepIndex + 1)
    this.#typed = typed
    this.state = new StepState(this.traced, stepIndex, stepType, suspended)
    if (suspended !== undefined) return
    core.countStep()
    core.tell('beforeStep', () => ({ stepIndex, ...typed }))
  }

  protected get during(): string {
    return 'during the step'
  }

  get savedStep(): SavedStep {
    return { ...this.state.save(), startedAt: this.#startedAt }
  }

  /** It ends, unless a call in it waits for a human in another process. */
  finish(): Promise<void> | undefined {
    const { core, state } = this
    if (state.suspended) {
      if (this.claim()) this.close({ kind: 'step', waitingFor: 'human' })
      core.phase.suspend(state.save())
      return undefined
    }
    if (this.isOpen && core.decidesAt('afterStep')) return this.#decided()
    if (this.claim()) this.close(this.#told())
    return undefined
  }

  async #decided(): Promise<void> {
    const { core, state, traced } = this
    const place = { call: this, traced, gates: this.gates, stepIndex: state.stepIndex }
    const decided = await decide(core, 'afterStep', state.summary(), place)
    if (isRefusal(decided)) core.requestStop(decided)
    if (this.claim()) this.close(this.#told())
  }

  protected failed(error: unknown): StepEnd {
    return this.#told({ error })
  }

  #told(failure?: { error: unknown }): StepEnd {
    this.core.tell('afterStep', () => ({
      stepIndex: this.state.stepIndex,
      ...this.#typed,
      ...this.state.summary(),
      ...this.decidedBy,
      executionTimeMs: this.elapsedMs,
      totals: this.core.totals(),
      ...(failure && { errorMessage: errorMessage(failure.error), errorType: errorType(failure.error) }),
    }))
    return { kind: 'step', ...failure }
  }
}

/** One turn of the loop. */
export class Step extends CallMaker {
  readonly stepIndex: number
  readonly #run: StepRun
  readonly #opened: OpenedCall[] = []

  constructor(run: StepRun) {
    super(run.core, run.state)
    this.#run = run
    this.stepIndex = run.state.stepIndex
  }

  /** Adds to what `afterStep` tells. @throws HookspanError `INVALID_CALL` for a field that it does not tell. */
  report(report: StepReport): void {
    assertFields<StepReport>(report, REPORT, 'the report of a step', 'INVALID_CALL')
    Object.assign(this.#run.state.report, report)
  }

  protected override opened<C extends OpenedCall>(call: C): C {
    this.#opened.push(call)
    return call
  }

  /** What was opened here and never ended ends as failed. */
  protected abandonCalls(why: () => unknown): void {
    if (this.#opened.length === 0) return
    for (const call of this.#opened.splice(0)) call.abandon(why)
  }
}

/** A step whose begin and end are told apart. What is left open in it ends with it. */
export class OpenStep extends Step {
  readonly #run: StepRun

  private constructor(run: StepRun) {
    super(run)
    this.#run = run
  }

  /** The step that was suspended when the run was parked goes on; else a new one begins. */
  static begin(core: OperationCore, site: CallSite, init: StepInit): OpenStep {
    return new OpenStep(new StepRun(core, site, init, core.phase.takeSuspended()))
  }

  /** Runs code as part of the step, so that what it traces becomes a child of the step's span. */
  run<T>(fn: () => T): T {
    return runAt(this.#run.core, this.#run.state, fn)
  }

  /**
   * Ends the step: the `afterStep` gates decide, then `afterStep` fires. Calls that were opened in it and neither run,
   * settled nor failed end first. A step in which a call waits for a human is suspended, and goes on when the run
   * does. Never rejects; a second call does nothing.
   */
  async end(): Promise<void> {
    this.abandonCalls(
      () => new DOMException('The step ended before this call was run or settled.', 'AbortError'),
    )
    const deciding = this.#run.finish()
    if (deciding !== undefined) await deciding
  }

  /** Ends the step as failed: `afterStep` tells the error. A second call does nothing. */
  fail(error: unknown): void {
    this.abandonCalls(() => error)
    this.#run.fail(error)
  }
}
