import { type ChainResult, isRefusal } from '../../gates/chain.ts'
import type { ApprovalRequest, SettledExecution } from '../../gates/index.ts'
import type { CompletionReason, ToolCallContext, ToolMock } from '../../hooks/index.ts'
import { delay, isThenable, untilAborted } from '../../internal/async.ts'
import { errorMessage } from '../../internal/errors.ts'
import { claimExecution, settlerOf } from '../humans/claim-execution.ts'
import type { Activity } from '../plugins/instrument.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import { runWithin } from '../run/current.ts'
import { assertToolMayRun } from '../run/live-calls.ts'
import { type CallSite, endedError, type OpenCall, type OperationCore } from '../run/operation-core.ts'
import { invalidCall, type WaitingCall } from '../run/operation-init.ts'
import { settleTool } from './read-generator.ts'
import { askPlugged } from './stand-in.ts'
import { CallRefused, RunSuspended } from './suspended.ts'
import type { ToolCallInit, ToolFunction, ToolRunContext } from './tool-call-init.ts'
import {
  erroredEnding,
  type MockOrigin,
  refusedEnding,
  reportToolEnd,
  returnedEnding,
  type ToolEnding,
} from './tool-ending.ts'
import { type ToolOutcome, ToolResult, waitingOutcome } from './tool-outcome.ts'

const NEVER_ABORTED = new AbortController().signal

/**
 * One tool call, from its gates to its span's end. Never throws for what the tool, a gate or a hook did.
 *
 * @throws HookspanError `INVALID_CALL` when the call itself is malformed.
 */
export function runToolCall<A, R>(
  core: OperationCore,
  site: CallSite,
  init: ToolCallInit<A>,
  fn: ToolFunction<A, R>,
): Promise<ToolOutcome<R>> {
  const apiName: unknown = init?.apiName
  if (typeof apiName !== 'string' || apiName === '') {
    return Promise.reject(invalidCall('apiName', 'a tool call', 'a non-empty string', apiName))
  }
  if (typeof fn !== 'function') {
    return Promise.reject(invalidCall('fn', 'a tool call', 'the function that runs the tool', fn))
  }
  const waited = core.takeWaiting(init.toolCallId, init.apiName)
  const callKey = waited?.callKey ?? core.nextCallKey()
  const call: ToolCallContext = {
    identifier: init.identifier ?? 'local',
    source: init.source ?? 'local',
    apiName: init.apiName,
    args: init.args,
    callIndex: waited?.callIndex ?? site.nextCallIndex(),
    toolCallId: init.toolCallId ?? callKey,
    callKey,
  }
  return new ToolCallRun<A, R>(core, site, init, call, waited).run(fn)
}

/** The call goes on in another process: for a human's answer to it, or to a call inside of it. */
interface Waiting {
  readonly waiting: ApprovalRequest | undefined
}

class ToolCallRun<A, R> implements OpenCall {
  readonly #core: OperationCore
  readonly #site: CallSite
  readonly #init: ToolCallInit<A>
  readonly #traced: TracedActivity
  readonly #startedAt = performance.now()
  readonly #waited: WaitingCall | undefined
  readonly #settled: string[]
  #call: ToolCallContext
  #announced = false
  #origin: MockOrigin | undefined
  /** The approval that the tool's run is claimed by. */
  #approvedBy: string | undefined

  constructor(
    core: OperationCore,
    site: CallSite,
    init: ToolCallInit<A>,
    call: ToolCallContext,
    waited: WaitingCall | undefined,
  ) {
    this.#waited = waited
    this.#settled = [...(waited?.settled ?? [])]
    this.#core = core
    this.#site = site
    this.#init = init
    this.#call = call
    if (waited === undefined) core.countToolCall()
    this.#traced = core.open(site, activityOf(call, init.description))
    core.track(this)
  }

  async run(fn: ToolFunction<A, R>): Promise<ToolOutcome<R>> {
    let ending: ToolEnding<R> | Waiting
    try {
      if (this.#goesStraight()) {
        // The most frequent case, in one asynchronous function: each more costs as much as half of a span.
        const running = this.#start(fn)
        const value = isThenable(running) ? await untilAborted(running, this.#core.signal) : running
        ending = returnedEnding('completed', this.#call.toolCallId, value as R)
        if (this.#core.decidesAt('afterToolCall')) ending = await this.#gateResult(ending)
      } else {
        ending = await this.#ending(fn)
      }
    } catch (error) {
      // What the tool threw, or a value so hostile that looking at it throws.
      ending = this.#threw(error)
    }
    if ('waiting' in ending) return this.#wait(ending.waiting)
    if (!this.#core.untrack(this)) return ending.outcome
    if (!this.#announced) await this.#announce('The call was aborted before.')
    this.#report(ending)
    return ending.outcome
  }

  /** Whether nothing that decides, observes or stands in comes between the call and its tool. */
  #goesStraight(): boolean {
    const core = this.#core
    const waits =
      this.#waited !== undefined || core.admission !== undefined || core.decidesAt('beforeToolCall')
    if (waits || core.host.plugins.standIns.length > 0 || this.#isCutShort()) return false
    this.#announced = core.skipUnheard('beforeToolCall')
    return this.#announced
  }

  #isCutShort(): boolean {
    const { ended, signal, stop } = this.#core
    return ended || stop !== undefined || signal?.aborted === true
  }

  async #ending(fn: ToolFunction<A, R>): Promise<ToolEnding<R> | Waiting> {
    const { toolCallId } = this.#call
    if (this.#core.admission !== undefined) await this.#core.admission
    const before = this.#cutShort()
    if (before !== undefined) return before
    const running = this.#waited?.running
    if (running !== undefined) return this.#goOn(fn, running)
    const decided = this.#core.decidesAt('beforeToolCall')
      ? await this.#decide('beforeToolCall', this.#call.args)
      : undefined
    if (isRefusal(decided)) {
      // A question that was withdrawn with the end is no refusal.
      if (this.#core.ended)
        return erroredEnding<R>(toolCallId, endedError(this.#core.info.operationId), false)
      await this.#announce('The call was refused before.')
      return refusedEnding<R>(toolCallId, decided)
    }
    if (decided?.kind === 'wait') return { waiting: decided.request }
    if (decided?.kind === 'skip') {
      await this.#announce('The call was answered by a gate before.')
      return this.#gateResult(returnedEnding('skipped', toolCallId, decided.result as R))
    }
    if (decided?.changed) this.#call = { ...this.#call, args: decided.payload }
    this.#approvedBy = decided?.approvedBy
    const mock = await this.#announce()
    const announced = this.#cutShort()
    if (announced !== undefined) return announced
    if (mock !== null) {
      this.#noteOrigin({ source: 'event.mock' })
      return this.#mocked(mock)
    }
    const instead = (await this.#standIn()) ?? this.#cutShort()
    if (instead !== undefined) return instead
    return this.#approvedBy === undefined ? this.#real(fn) : this.#once(fn, this.#approvedBy)
  }

  /** Between any two waits the run may be stopped, aborted or ended. Then the tool must not run any more. */
  #cutShort(): ToolEnding<R> | undefined {
    if (!this.#isCutShort()) return undefined
    const { ended, info, signal, stop } = this.#core
    const { toolCallId } = this.#call
    if (stop !== undefined) return refusedEnding<R>(toolCallId, { kind: 'deny', ...stop, stop: true })
    if (ended) return erroredEnding<R>(toolCallId, endedError(info.operationId), false)
    return erroredEnding<R>(toolCallId, signal?.reason, false)
  }

  #decide(point: 'beforeToolCall' | 'afterToolCall', payload: unknown): Promise<ChainResult | undefined> {
    const { identifier, apiName, toolCallId, callKey, args } = this.#call
    return this.#core.decide(point, payload, {
      traced: this.#traced,
      stepIndex: this.#site.stepIndex,
      identifier,
      apiName,
      toolCallId,
      callKey: callKey as string,
      ...(point === 'afterToolCall' && { args }),
      parkable: point === 'beforeToolCall',
      settled: this.#settled,
      ...(this.#waited && { waited: this.#waited }),
    })
  }

  /** The call goes on in the process that resumes the run: its hooks fire there. */
  #wait(request: ApprovalRequest | undefined): ToolOutcome<R> {
    const { toolCallId, apiName, callKey, callIndex, args } = this.#call
    const approvedBy = this.#approvedBy
    if (this.#core.untrack(this))
      this.#traced.end({ kind: 'tool', outcome: 'waiting', args }, this.#core.timestamp)
    this.#core.waiting.push({
      toolCallId,
      apiName,
      callKey: callKey as string,
      callIndex,
      ...(request === undefined
        ? { running: { args, ...(approvedBy !== undefined && { approvedBy }) } }
        : { request }),
      ...(this.#settled.length > 0 && { settled: this.#settled }),
    })
    this.#site.noteWaiting?.()
    return waitingOutcome<R>(request, toolCallId)
  }

  /** What was begun in the process that parked the run: the gates have decided and the first hooks have fired. */
  #goOn(
    fn: ToolFunction<A, R>,
    { args, approvedBy }: NonNullable<WaitingCall['running']>,
  ): Promise<ToolEnding<R> | Waiting> {
    this.#announced = true
    this.#call = { ...this.#call, args }
    this.#approvedBy = approvedBy
    return this.#real(fn, approvedBy === undefined ? undefined : settlerOf(this.#core, approvedBy))
  }

  /** An approved call runs at most once, over processes that end at any moment. */
  async #once(fn: ToolFunction<A, R>, requestId: string): Promise<ToolEnding<R> | Waiting> {
    const claim = await claimExecution(this.#core, requestId)
    const { toolCallId } = this.#call
    if (claim.state === 'refused') return refusedEnding<R>(toolCallId, claim.refusal)
    if (claim.state === 'run') return this.#real(fn, claim.settle)
    const { ok, value, error } = claim.result
    if (ok) return this.#gateResult(returnedEnding('completed', toolCallId, value as R))
    return erroredEnding<R>(toolCallId, new Error(error ?? 'the tool failed'), false)
  }

  #announce(closed?: string): Promise<ToolMock | null> | ToolMock | null {
    this.#announced = true
    if (this.#core.ended) return null
    if (this.#core.skipUnheard('beforeToolCall')) return null
    const { stepIndex } = this.#site
    const where = stepIndex === undefined ? {} : { stepIndex }
    return this.#core.record.decideMock({ ...this.#call, ...where }, closed)
  }

  async #standIn(): Promise<ToolEnding<R> | undefined> {
    try {
      const answer = await askPlugged(this.#core, this.#site, this.#call, this.#init)
      if (answer === undefined) return undefined
      const { source, rule } = answer
      this.#noteOrigin(rule === undefined ? { source } : { source, rule })
      return await this.#mocked(answer.mock)
    } catch (error) {
      return erroredEnding<R>(this.#call.toolCallId, error, true)
    }
  }

  #noteOrigin(origin: MockOrigin): void {
    this.#origin = origin
    this.#traced.annotate({ kind: 'mock', ...origin })
  }

  async #mocked(mock: ToolMock): Promise<ToolEnding<R>> {
    try {
      if (mock.delayMs !== undefined && mock.delayMs > 0) await delay(mock.delayMs, this.#core.signal)
    } catch (error) {
      return erroredEnding<R>(this.#call.toolCallId, error, true)
    }
    if ('error' in mock) {
      return erroredEnding<R>(
        this.#call.toolCallId,
        typeof mock.error === 'string' ? new Error(mock.error) : mock.error,
        true,
      )
    }
    return this.#gateResult(returnedEnding('mocked', this.#call.toolCallId, new ToolResult(mock) as R))
  }

  async #real(
    fn: ToolFunction<A, R>,
    settled?: (result: SettledExecution) => Promise<void>,
  ): Promise<ToolEnding<R> | Waiting> {
    let value: R
    try {
      const running = this.#start(fn)
      value = (isThenable(running) ? await untilAborted(running, this.#core.signal) : running) as R
    } catch (error) {
      const ending = this.#threw(error)
      if (!('waiting' in ending)) await settled?.({ ok: false, error: errorMessage(error) })
      return ending
    }
    await settled?.({ ok: true, value })
    return this.#gateResult(returnedEnding('completed', this.#call.toolCallId, value))
  }

  /** @throws what the tool throws before it returns, and what refuses to let it run. */
  #start(fn: ToolFunction<A, R>): unknown {
    assertToolMayRun(this.#call)
    const { signal } = this.#core
    const context: ToolRunContext = {
      signal: signal ?? NEVER_ABORTED,
      toolCallId: this.#call.toolCallId,
      traceparent: this.#traced.traceparent,
    }
    // Inside run(), so that what the tool traces becomes a child, generators and their finally blocks included.
    return runWithin(this.#core, this.#site, this.#traced, () =>
      settleTool(fn(this.#call.args as A, context), (value) => this.#progress(value), signal),
    )
  }

  #threw(error: unknown): ToolEnding<R> | Waiting {
    if (error instanceof RunSuspended) return { waiting: undefined }
    if (error instanceof CallRefused) return refusedEnding<R>(this.#call.toolCallId, error.refusal)
    return erroredEnding<R>(this.#call.toolCallId, error, false)
  }

  /** Whoever listens to progress is an observer: what it throws is no failure of the tool. */
  #progress(value: unknown): void {
    try {
      this.#init.onProgress?.(value)
    } catch (error) {
      const { operationId } = this.#core.info
      const { reporter } = this.#core.host
      reporter.failure({ kind: 'failed', hookId: 'toolCall.onProgress', operationId, error })
    }
  }

  async #gateResult(ending: ToolEnding<R>): Promise<ToolEnding<R>> {
    if (!('result' in ending.outcome)) return ending
    if (!this.#core.decidesAt('afterToolCall')) return ending
    const decided = await this.#decide('afterToolCall', ending.outcome.result)
    if (decided === undefined) return ending
    if (isRefusal(decided)) return refusedEnding<R>(this.#call.toolCallId, decided)
    if (decided.kind === 'wait') return ending
    if (decided.kind === 'skip')
      return returnedEnding(ending.outcome.state as 'completed', this.#call.toolCallId, decided.result as R)
    return decided.changed
      ? returnedEnding(ending.outcome.state as 'completed', this.#call.toolCallId, decided.payload as R)
      : ending
  }

  #report(ending: ToolEnding<R>): void {
    const { stepIndex } = this.#site
    const info = { stepIndex, startedAt: this.#startedAt, origin: this.#origin }
    reportToolEnd(this.#core, this.#traced, this.#call, ending, info)
  }

  /** The operation ends while the call is in flight. */
  cut(reason: CompletionReason): void {
    if (!this.#announced) this.#announce('The run ended before.')
    this.#report(
      erroredEnding<R>(
        this.#call.toolCallId,
        new DOMException(`The run ended (${reason}) while the tool was running.`, 'AbortError'),
        false,
      ),
    )
  }
}

/** Written out: spreading the call would cost as much as opening the span. */
function activityOf(
  { identifier, source, apiName, args, toolCallId, callIndex, callKey = '' }: ToolCallContext,
  description: string | undefined,
): Activity {
  const kind = 'tool'
  if (description === undefined) {
    return { kind, callKey, identifier, source, apiName, args, toolCallId, callIndex }
  }
  return { kind, callKey, identifier, source, apiName, args, toolCallId, callIndex, description }
}
