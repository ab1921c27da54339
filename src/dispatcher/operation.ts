import { COMPLETION_REASONS, type CompletionReason, type EventInit, type RunTotals } from '../hooks/index.ts'
import { errorMessage, errorType, HookspanError } from '../internal/errors.ts'
import { a, assertFields, required } from '../internal/expect.ts'
import { joinSignals } from '../internal/join-signals.ts'
import { defined } from '../internal/objects.ts'
import { admission, admit } from './calls/admission.ts'
import { CallMaker } from './calls/call-maker.ts'
import { decide } from './calls/decide.ts'
import { openWaiting } from './calls/end-waiting.ts'
import { OpenStep, STEP, type Step, type StepInit } from './calls/step.ts'
import type { OperationRecord } from './events/operation-record.ts'
import type { ResumedSpan } from './plugins/instrument.ts'
import { TracedActivity } from './plugins/traced-activity.ts'
import { checkedClock } from './run/checked-clock.ts'
import {
  COMPLETE,
  type CompleteInit,
  type CompleteResult,
  completed,
  isDenial,
  unknownReason,
} from './run/completion.ts'
import { currentPlace, runAt } from './run/current.ts'
import type { Disabled } from './run/disabled.ts'
import { infoOf } from './run/info.ts'
import { type CallSite, OperationCore, type OperationHost } from './run/operation-core.ts'
import {
  invalidCall,
  type LiveParent,
  type OperationInit,
  type ParentOperation,
} from './run/operation-init.ts'
import { parentOf } from './run/parent.ts'
import { addParked, parkedOf } from './run/park.ts'
import type { ParkedOperation } from './run/parked.ts'
import { RunTree } from './run/run-tree.ts'
import { StateClaim } from './run/state-claim.ts'
import { reportUnmatched, toolsSeenIn } from './run/unmatched.ts'

/**
 * One run of one agent. Every start it makes is paired with an end, however the run ends.
 *
 * @example
 * const op = dispatcher.startOperation({ agentName: 'support' })
 * await op.step((step) => step.toolCall({ apiName: 'search', args }, search))
 * await op.complete({ reason: 'done' })
 */
export class Operation extends CallMaker {
  readonly #core: OperationCore
  readonly #site: CallSite
  #completing: Promise<CompleteResult> | undefined

  private constructor(core: OperationCore, site: CallSite) {
    super(core, site)
    this.#core = core
    this.#site = site
  }

  /** Use `dispatcher.startOperation()`. */
  static start(
    host: OperationHost,
    record: OperationRecord,
    given: OperationInit,
    claim: StateClaim | undefined,
    disabled: Disabled,
    created: (operation: Operation) => void,
  ): Operation {
    const clock = given.clock && checkedClock(given.clock, host.reporter, record.operationId)
    const init = clock === undefined ? given : { ...given, clock }
    const parent = init.parent && 'asParent' in init.parent ? init.parent.asParent() : init.parent
    const live = (parent as Partial<LiveParent> | undefined)?.live
    const info = infoOf(record.operationId, init, parent)
    record.info = info
    record.managed = true
    record.disable(disabled)
    if (clock !== undefined) record.clock = clock
    const report = (error: unknown) =>
      host.reporter.failure({ kind: 'instrument', hookId: 'tracing', operationId: info.operationId, error })
    // Another dispatcher's tracer has nothing that this one's could go on from.
    const isTraced = live !== undefined && host.plugins.instruments.some((one) => live.traced.of(one))
    const traceparent = init.traceparent ?? (isTraced ? undefined : parent?.traceparent)
    const off = disabled.ids.length === 0 ? undefined : disabled.ids
    const traced = TracedActivity.open(
      host.plugins.instruments,
      defined({
        kind: 'operation' as const,
        input: init.input,
        instructions: init.instructions,
        traceparent,
        resumed: init.resume && resumedSpan(init.resume),
        attributes: init.attributes,
        disabled: off,
      }),
      info,
      live?.traced,
      clock?.(),
      report,
    )
    const above = live === undefined ? parent === undefined && currentPlace()?.core.inside : live.inside
    const inside = above ? above.below(host) : undefined
    const joined = joinSignals(init.signal, live?.signal)
    const core = new OperationCore(host, record, info, init, traced, {
      signal: joined.signal,
      release: joined.release,
      agentPath: [...(parent?.agentPath ?? []), info.agentName ?? info.operationId],
      gates: live?.gates ?? (() => []),
      standIns: live?.standIns ?? (() => []),
      disabled,
      approver: live?.approver,
      tree: live?.tree ?? new RunTree(init.resume?.tree),
      seen: toolsSeenIn(init, host.plugins, disabled, live?.seen),
      questions: live?.questions,
      claim,
      inside,
    })
    record.traced = traced
    record.questions = core.questions
    for (const id of init.resume?.questions ?? []) addParked(core, id)
    let callIndex = 0
    const operation = new Operation(core, { traced, stepIndex: undefined, nextCallIndex: () => callIndex++ })
    created(operation)
    inside?.begins({
      saved: () => (core.ended || core.phase.ending ? undefined : parkedOf(core, 'checkpoint')),
      leave: () => operation.leave(),
    })
    claim?.pending?.catch(() => operation.leave())
    StateClaim.whenLost(claim, init.resume, () => operation.leave())
    live?.started(info.operationId)
    if (init.resume === undefined) core.tell('onStart', () => startOf(init, off))
    return operation
  }

  get operationId(): string {
    return this.#core.info.operationId
  }

  get rootOperationId(): string {
    return this.#core.info.rootOperationId
  }

  get agentName(): string | undefined {
    return this.#core.info.agentName
  }

  /** Aborted with the run. */
  get signal(): AbortSignal | undefined {
    return this.#core.signal
  }

  /** W3C trace context of the run, to hand to another process. */
  get traceparent(): string | undefined {
    return this.#core.traced.traceparent
  }

  get ended(): boolean {
    return this.#core.ended
  }

  /** Steps, calls, tokens and cost until now; sub-agents not included. */
  get totals(): RunTotals {
    return this.#core.totals()
  }

  /** Set once a gate or a human said that the run is to end: the runtime finishes with reason `denied`. */
  get stopRequested(): { readonly code: string; readonly reason: string } | undefined {
    return this.#core.stop
  }

  /** This operation as the parent of one that another process, or another runtime, starts. */
  asParent(): ParentOperation {
    return parentOf(this.#core, this.#core.traced, () => {})
  }

  /** Runs code as part of this operation, so that what it traces becomes a child of the run's span. */
  run<T>(fn: () => T): T {
    return runAt(this.#core, this.#site, fn)
  }

  /**
   * One turn of the loop. Gives what `fn` gives and throws what it throws; `afterStep` fires either way.
   *
   * @throws HookspanError `OPERATION_ENDED` after the end, `RUN_DENIED` when an `onStart` gate refused the run, or a
   * gate or a human said in an earlier step that it is to end.
   */
  async step<R>(fn: (step: Step) => R | PromiseLike<R>, init: StepInit = {}): Promise<R> {
    if (typeof fn !== 'function') throw invalidCall('fn', 'a step', 'the function that takes the step', fn)
    const waits = admission(this.#core)
    if (waits !== undefined) await waits
    const step = this.#begin(init)
    try {
      const result = await step.run(() => fn(step))
      await step.end()
      return result
    } catch (error) {
      step.fail(error)
      throw error
    }
  }

  /**
   * A step whose begin and end are told apart, for runtimes that tell them by callbacks. Ends with the run, at the
   * latest.
   *
   * @throws HookspanError `INVALID_CALL` for a malformed `stepIndex`; else as {@link step}.
   */
  async openStep(init: StepInit = {}): Promise<OpenStep> {
    const waits = admission(this.#core)
    if (waits !== undefined) await waits
    return this.#begin(init)
  }

  #begin(init: StepInit): OpenStep {
    assertFields<StepInit>(init, STEP, 'a step', 'INVALID_CALL')
    this.#core.assertRunning()
    return OpenStep.begin(this.#core, this.#site, init)
  }

  /**
   * Ends the run. Whatever is open of it ends first; `onComplete` fires once, further calls do nothing. A run that
   * a gate or a human stopped ends as `denied`, also when its runtime calls it done, or leaves it and nobody aborted it.
   *
   * @returns the outcome after the `beforeComplete` gates: what to tell the caller of the run.
   * @throws HookspanError `INVALID_OPTION` for an unknown reason.
   */
  async complete(init: CompleteInit = {}): Promise<CompleteResult> {
    assertFields<CompleteInit>(init, COMPLETE, 'the end of a run')
    const { reason = 'done', content } = init
    if (!COMPLETION_REASONS.includes(reason)) throw unknownReason(reason)
    const core = this.#core
    const isLeft = reason === 'interrupted' && core.signal?.aborted !== true
    const stopped = core.stop !== undefined && (reason === 'done' || isLeft)
    const asked: CompleteResult = {
      reason: stopped ? 'denied' : reason,
      ...(content !== undefined && { content }),
    }
    if (core.claim?.refusal !== undefined) throw core.claim.refusal
    if (core.ended) return this.#completing ?? asked
    this.#completing ??= this.#complete(asked)
    return this.#completing
  }

  async #complete(asked: CompleteResult): Promise<CompleteResult> {
    const core = this.#core
    if (core.claim?.pending !== undefined) await core.claim.pending
    core.closeAll(asked.reason)
    core.questions.withdrawAll()
    const place = { traced: core.traced, gates: core.gates, stepIndex: undefined }
    // One that was interrupted without a word has nothing to withhold from anybody, as by `interrupt()`.
    const says = asked.reason !== 'interrupted' || asked.content !== undefined
    // Without a gate it ends at once: an `exit` handler can end what is open.
    const decided =
      says && core.decidesAt('beforeComplete')
        ? await decide(core, 'beforeComplete', asked, place)
        : undefined
    const result = completed(asked, decided)
    this.#end(result.reason, result.content === undefined ? {} : { content: result.content })
    if (core.claim !== undefined) await core.claim.settled
    return result
  }

  /**
   * Ends the run as failed: `onError`, then `onComplete` with reason `error`. When the error, or what caused it, only says
   * that a gate or a human stopped this run (`RUN_DENIED`), it ends as `denied`.
   */
  async fail(error: unknown): Promise<void> {
    const { claim, stop } = this.#core
    // Where another process has the run, it goes on there, and nothing of it failed.
    if (claim?.pending !== undefined) await claim.pending.catch(() => {})
    if (stop !== undefined && isDenial(error)) this.#end('denied', {})
    else this.#end('error', { error })
    await claim?.settled
  }

  /** Ends the run at once as `interrupted`: for shutdown. */
  interrupt(): void {
    this.#end('interrupted', {})
  }

  /** Ends the run because nothing happened in it any more. */
  abandon(): void {
    this.#end('interrupted', { abandoned: true })
  }

  /**
   * Ends this part of the run without ending the run: no `onComplete`. Hand the result to
   * `startOperation({ resume })`, in this process or another, to go on in the same trace.
   */
  park(init: { waitingFor: string }): ParkedOperation {
    assertFields(init, { waitingFor: required(a.name) }, 'a parked run')
    const core = this.#core
    if (core.ended || core.phase.ending) {
      throw new HookspanError(
        'OPERATION_ENDED',
        `Operation "${this.operationId}" has ended and cannot be parked.`,
      )
    }
    core.closeAll('interrupted')
    core.questions.park()
    const parked = parkedOf(core, init.waitingFor)
    core.phase.park()
    reportUnmatched(core)
    core.traced.end({ kind: 'operation', waitingFor: init.waitingFor, totals: core.totals() }, core.timestamp)
    core.leave()
    void core.claim?.moveOn(parked, { reason: 'parked' })
    return parked
  }

  /**
   * What another process goes on from when this one dies: plain JSON, for `startOperation({ resume })`. Ends nothing
   * here. A step that is open goes on there; a tool that is at work now is answered with `execution_unknown` there,
   * unless its call is `idempotent`.
   *
   * @throws HookspanError `OPERATION_ENDED`.
   */
  checkpoint(): ParkedOperation {
    const core = this.#core
    if (core.ended || core.phase.ending) throw core.endedError()
    core.kept = true
    const saved = parkedOf(core, 'checkpoint')
    void core.claim?.alsoHold(saved)
    return saved
  }

  /**
   * Lets the `onStart` gates decide, once; `step` does it by itself. A runtime that builds its messages out of the
   * input calls it before, because a gate may have changed the input.
   *
   * @returns the effective input.
   * @throws HookspanError `RUN_DENIED` when a gate refused the run.
   */
  async admit(): Promise<unknown> {
    const input = await admit(this.#core)
    this.#core.assertRunning()
    return input
  }

  /**
   * Another process goes on with the run, or it is not known whether this one may: hooks are told nothing more of it here. What is
   * open of it ends as interrupted in its trace; the run's own span is left to who goes on. What is begun in it from now on
   * throws `OPERATION_ENDED`.
   */
  leave(): void {
    const core = this.#core
    if (core.ended || core.phase.ending) return
    core.phase.leave()
    core.questions.park(true)
    core.inside?.leave()
    core.closeAll('interrupted')
    const waitingFor = 'another process'
    core.traced.end({ kind: 'operation', waitingFor, left: true, totals: core.totals() }, core.timestamp)
    core.leave()
    void core.claim?.settle(undefined)
  }

  #end(reason: CompletionReason, end: { error?: unknown; abandoned?: boolean; content?: string }): void {
    const core = this.#core
    if (core.claim?.pending !== undefined) return this.leave()
    if (!core.phase.beginEnd()) return
    openWaiting(core, this.#site)
    core.closeAll(reason)
    core.questions.close()
    // A suspended step ends with the run that is not resumed after all.
    const suspended = core.phase.takeSuspended()
    if (suspended !== undefined) {
      const { stepIndex, stepType } = suspended
      core.emit('afterStep', { stepIndex, ...(stepType !== undefined && { stepType }) })
    }
    const failed = 'error' in end
    const failure = failed
      ? { errorMessage: errorMessage(end.error), errorType: errorType(end.error) }
      : undefined
    if (failure !== undefined) core.emit('onError', { ...failure, error: end.error })
    const totals = core.totals()
    const { content, abandoned } = end
    core.emit('onComplete', {
      reason,
      ...(abandoned && { abandoned }),
      ...(content !== undefined && { content }),
      totals,
      ...(core.gates.length > 0 && { gates: core.gates }),
      ...failure,
    })
    core.phase.end()
    reportUnmatched(core)
    core.traced.end({ kind: 'operation', ...end, reason, totals }, core.timestamp)
    core.leave()
    // What failed or was cut off may be tried again.
    void core.claim?.settle(reason === 'error' || reason === 'interrupted' ? undefined : { reason })
  }
}

function startOf(
  { input, instructions, attributes }: OperationInit,
  disabled: readonly string[] | undefined,
): EventInit<'onStart'> {
  return defined({ input, instructions, attributes, disabled })
}

/** The run's own span goes on, where the saved state says which one it is. */
function resumedSpan({ traceparent, parentTraceparent, startedAt, gates }: ParkedOperation): ResumedSpan {
  return defined({ traceparent, parentTraceparent, startedAt, gates }) as ResumedSpan
}
