import { type ChainResult, isRefusal } from '../../gates/chain.ts'
import type { ApprovalRequest, SettledExecution } from '../../gates/index.ts'
import type { ToolCallContext, ToolMock } from '../../hooks/index.ts'
import { delay, isThenable, untilAborted } from '../../internal/async.ts'
import { errorMessage } from '../../internal/errors.ts'
import { endParked } from '../humans/ask-human.ts'
import { claimExecution, settlerOf, unknownExecution } from '../humans/claim-execution.ts'
import type { Activity, ToolEnd } from '../plugins/instrument.ts'
import { Bracket } from '../run/bracket.ts'
import { type Capability, incapable } from '../run/capabilities.ts'
import type { ParkedQuestion } from '../run/decided-place.ts'
import { assertToolMayRun } from '../run/live-calls.ts'
import { type CallSite, endedError, type OperationCore } from '../run/operation-core.ts'
import { invalidCall } from '../run/operation-init.ts'
import type { WaitingCall } from '../run/parked.ts'
import { admission } from './admission.ts'
import { askPlugged } from './ask-plugged.ts'
import { decide } from './decide.ts'
import { readToolResult } from './read-generator.ts'
import { CallRefused, RunSuspended } from './suspended.ts'
import {
  assertToolCallKeys,
  type ToolCallInit,
  type ToolFunction,
  type ToolRunContext,
} from './tool-call-init.ts'
import {
  erroredEnding,
  type MockOrigin,
  refusedEnding,
  returnedEnding,
  type ToolEnding,
  toldToolEnd,
} from './tool-ending.ts'
import { contentOf, type ToolOutcome, ToolResult, waitingOutcome } from './tool-outcome.ts'

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
  try {
    if (typeof fn === 'function') return new ToolCallRun<A, R>(core, site, init).run(fn)
    throw invalidCall('fn', 'a tool call', 'the function that runs the tool', fn)
  } catch (error) {
    return Promise.reject(error)
  }
}

/** The call goes on in another process: for a human's answer to it, or to a call inside of it. */
interface Suspended {
  readonly waiting: ApprovalRequest | undefined
}

export class ToolCallRun<A, R> extends Bracket<ToolEnd, CallSite> {
  readonly #init: ToolCallInit<A>
  readonly #waited: WaitingCall | undefined
  readonly #settled: string[]
  readonly #asked: ParkedQuestion
  #call: ToolCallContext
  #announced = false
  #atWork = false
  #origin: MockOrigin | undefined
  /** The approval that the tool's run is claimed by. */
  #approvedBy: string | undefined

  /** @throws HookspanError `INVALID_CALL` when the call is malformed. */
  constructor(core: OperationCore, site: CallSite, init: ToolCallInit<A>, resumed?: WaitingCall) {
    const apiName: unknown = init?.apiName
    if (typeof apiName !== 'string' || apiName === '') {
      throw invalidCall('apiName', 'a tool call', 'a non-empty string', apiName)
    }
    assertToolCallKeys(init)
    const waited = resumed ?? core.takeWaiting(init.toolCallId, apiName)
    const callKey = waited?.callKey ?? core.nextCallKey()
    const call: ToolCallContext = {
      identifier: init.identifier ?? 'local',
      source: init.source ?? 'local',
      apiName,
      args: waited?.running === undefined ? init.args : waited.running.args,
      callIndex: waited?.callIndex ?? site.nextCallIndex(),
      toolCallId: init.toolCallId ?? callKey,
      callKey,
      ...(init.description !== undefined && { description: init.description }),
    }
    if (waited === undefined && !core.ended) core.countToolCall()
    super(core, site, activityOf(call))
    this.#waited = waited
    this.#asked = { request: waited?.request }
    this.#settled = [...(waited?.settled ?? [])]
    // What was begun in the process that parked the run: the gates have decided and the first hooks have fired.
    this.#announced = waited?.running !== undefined
    this.#approvedBy = waited?.running?.approvedBy
    this.#init = init
    this.#call = call
  }

  protected get during(): string {
    return 'while the tool was running'
  }

  async run(fn: ToolFunction<A, R>): Promise<ToolOutcome<R>> {
    let ending: ToolEnding<R> | Suspended
    try {
      if (this.#goesStraight()) {
        this.#announced = true
        this.core.record.count('beforeToolCall')
        // The most frequent case, in one asynchronous function: each more costs as much as half of a span.
        const running = this.#start(fn)
        const value = isThenable(running) ? await untilAborted(running, this.core.signal) : running
        ending = returnedEnding('completed', this.#call.toolCallId, value as R)
        if (this.core.decidesAt('afterToolCall')) ending = await this.#gateResult(ending)
      } else {
        ending = await this.#ending(fn)
      }
    } catch (error) {
      // What the tool threw, or a value so hostile that looking at it throws.
      ending = this.#threw(error)
    }
    if ('waiting' in ending) return this.#wait(ending.waiting)
    if (!this.claim()) return ending.outcome
    this.#endQuestion()
    // Not awaited: the run may end while the call is claimed, and nothing would tell of its end.
    if (!this.#announced) this.#announce('The call was aborted before.')
    this.close(this.#told(ending))
    return ending.outcome
  }

  /** Whether nothing that decides, observes or stands in comes between the call and its tool. */
  #goesStraight(): boolean {
    const { core } = this
    if (this.#waited !== undefined || admission(core) !== undefined) return false
    if (core.decidesAt('beforeToolCall') || core.host.plugins.standIns.length > 0) return false
    return !this.#isCutShort() && !core.record.hears('beforeToolCall')
  }

  #isCutShort(): boolean {
    const { ended, signal, stop } = this.core
    return ended || !this.isOpen || stop !== undefined || signal?.aborted === true
  }

  async #ending(fn: ToolFunction<A, R>): Promise<ToolEnding<R> | Suspended> {
    const { toolCallId } = this.#call
    const waits = admission(this.core)
    if (waits !== undefined) await waits
    const before = this.#cutShort()
    if (before !== undefined) return before
    if (this.#waited?.unknown && this.#init.idempotent !== true) return this.#unknown()
    if (this.#waited?.running !== undefined) return this.#real(fn, this.#settler())
    const decided = this.core.decidesAt('beforeToolCall')
      ? await this.#decide('beforeToolCall', this.#call.args)
      : undefined
    if (isRefusal(decided)) {
      // A question that was withdrawn with the end is no refusal.
      if (!this.isOpen) return this.#endedBefore()
      await this.#announce('The call was refused before.')
      return refusedEnding<R>(toolCallId, decided)
    }
    if (decided?.kind === 'wait') return { waiting: decided.request }
    if (decided?.kind === 'skip') {
      await this.#announce('The call was answered by a gate before.')
      return this.#gateResult(returnedEnding('skipped', toolCallId, decided.result as R))
    }
    if (decided?.changed) {
      const unable = this.#unable('changeArguments')
      if (unable !== undefined) return unable
      this.#call = { ...this.#call, args: decided.payload }
    }
    this.#approvedBy = decided?.approvedBy
    const mock = await this.#announce()
    const announced = this.#cutShort()
    if (announced !== undefined) return announced
    if (mock !== null) {
      const unable = this.#unable('mockToolCalls')
      if (unable !== undefined) return unable
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
    const { ended, signal, stop } = this.core
    const { toolCallId } = this.#call
    if (stop !== undefined) return refusedEnding<R>(toolCallId, { kind: 'deny', ...stop, stop: true })
    if (ended || !this.isOpen) return this.#endedBefore()
    return erroredEnding<R>(toolCallId, signal?.reason, false)
  }

  #endedBefore(): ToolEnding<R> {
    return erroredEnding<R>(this.#call.toolCallId, endedError(this.core.info.operationId), false)
  }

  /** What the runtime's adapter cannot do is refused: the tool does not run instead. */
  #unable(needed: Capability): ToolEnding<R> | undefined {
    const refusal = incapable(this.core.init.adapter, needed)
    return refusal && refusedEnding<R>(this.#call.toolCallId, refusal)
  }

  #decide(point: 'beforeToolCall' | 'afterToolCall', payload: unknown): Promise<ChainResult | undefined> {
    const { identifier, source, apiName, toolCallId, callKey, args } = this.#call
    return decide(this.core, point, payload, {
      call: this,
      traced: this.traced,
      gates: this.gates,
      stepIndex: this.site.stepIndex,
      identifier,
      source,
      apiName,
      toolCallId,
      callKey: callKey as string,
      ...(point === 'afterToolCall' && { args }),
      parkable: point === 'beforeToolCall' && incapable(this.core.init.adapter, 'park') === undefined,
      settled: this.#settled,
      asked: this.#asked,
    })
  }

  /** The call goes on in the process that resumes the run: its hooks fire there. */
  #wait(request: ApprovalRequest | undefined): ToolOutcome<R> {
    const { toolCallId, args } = this.#call
    const approvedBy = this.#approvedBy
    if (!this.claim()) return this.#endedBefore().outcome
    this.close({ kind: 'tool', outcome: 'waiting', args })
    const running = { args, ...(approvedBy !== undefined && { approvedBy }) }
    this.core.waiting.push({ ...this.#saved(), ...(request === undefined ? { running } : { request }) })
    this.site.noteWaiting?.()
    return waitingOutcome<R>(request, toolCallId)
  }

  #settler() {
    return this.#approvedBy === undefined ? undefined : settlerOf(this.core, this.#approvedBy)
  }

  /** An approved call runs at most once, over processes that end at any moment. */
  async #once(fn: ToolFunction<A, R>, requestId: string): Promise<ToolEnding<R> | Suspended> {
    const claim = await claimExecution(this.core, requestId)
    const { toolCallId } = this.#call
    if (claim.state === 'refused') return refusedEnding<R>(toolCallId, claim.refusal)
    if (claim.state === 'run') {
      const ended = this.#cutShort()
      if (ended === undefined) return this.#real(fn, claim.settle)
      await claim.settle?.({ ok: false, error: contentOf(ended.outcome) })
      return ended
    }
    const { ok, value, error } = claim.result
    if (ok) return this.#gateResult(returnedEnding('completed', toolCallId, value as R))
    return erroredEnding<R>(toolCallId, new Error(error ?? 'the tool failed'), false)
  }

  #announce(closed?: string): Promise<ToolMock | null> | ToolMock | null {
    if (this.#announced || this.core.ended) return null
    this.#announced = true
    const { record } = this.core
    if (record.hears('beforeToolCall')) return record.decideMock({ ...this.#call, ...this.where }, closed)
    record.count('beforeToolCall')
    return null
  }

  async #standIn(): Promise<ToolEnding<R> | undefined> {
    try {
      const answer = await askPlugged(this.core, this.site, this.#call, this.#init)
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
    this.traced.annotate({ kind: 'mock', ...origin })
  }

  async #mocked(mock: ToolMock): Promise<ToolEnding<R>> {
    try {
      if (mock.delayMs !== undefined && mock.delayMs > 0) await delay(mock.delayMs, this.core.signal)
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
    const result = new ToolResult('delayMs' in mock ? withoutDelay(mock) : mock)
    return this.#gateResult(returnedEnding('mocked', this.#call.toolCallId, result as R))
  }

  async #real(
    fn: ToolFunction<A, R>,
    settled?: (result: SettledExecution) => Promise<void>,
  ): Promise<ToolEnding<R> | Suspended> {
    let value: R
    try {
      const running = this.#start(fn)
      value = (isThenable(running) ? await untilAborted(running, this.core.signal) : running) as R
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
    const { signal } = this.core
    const context: ToolRunContext = {
      signal: signal ?? NEVER_ABORTED,
      toolCallId: this.#call.toolCallId,
      traceparent: this.traced.traceparent,
    }
    this.#atWork = true
    return this.runBody(() => fn(this.#call.args as A, context))
  }

  /** Inside of the call, so that what the tool traces becomes a child, generators and their finally blocks included. */
  runBody(body: () => unknown): unknown {
    const { signal } = this.core
    return this.within(() => readToolResult(body(), (value) => this.#progress(value), signal))
  }

  #threw(error: unknown): ToolEnding<R> | Suspended {
    if (error instanceof RunSuspended) return { waiting: undefined }
    if (error instanceof CallRefused) return refusedEnding<R>(this.#call.toolCallId, error.refusal)
    return erroredEnding<R>(this.#call.toolCallId, error, false)
  }

  /** Whoever listens to progress is an observer: what it throws is no failure of the tool. */
  #progress(value: unknown): void {
    try {
      this.#init.onProgress?.(value)
    } catch (error) {
      this.core.reportFailure('toolCall.onProgress', error)
    }
  }

  async #gateResult(ending: ToolEnding<R>): Promise<ToolEnding<R>> {
    if (!('result' in ending.outcome)) return ending
    if (!this.core.decidesAt('afterToolCall')) return ending
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

  #told(ending: ToolEnding<R>): ToolEnd {
    return toldToolEnd(this.core, this.#call, ending, this, this.#origin)
  }

  protected failed(error: unknown): ToolEnd {
    this.#endQuestion()
    if (!this.#announced) this.#announce('The run ended before.')
    return this.#told(erroredEnding<R>(this.#call.toolCallId, error, false))
  }

  /** What a human was asked in the process that parked the run, and nobody asked again. */
  #endQuestion(): void {
    const { request } = this.#asked
    this.#asked.request = undefined
    const { core, traced, site } = this
    if (request !== undefined) endParked(core, { traced, stepIndex: site.stepIndex }, request)
  }

  /** Who resumes the run from a state that is saved now does not know what the tool will have done. */
  get savedCall(): WaitingCall | undefined {
    if (!this.#atWork) return undefined
    const { args } = this.#call
    const approvedBy = this.#approvedBy === undefined ? {} : { approvedBy: this.#approvedBy }
    return { ...this.#saved(), running: { args, ...approvedBy }, unknown: true }
  }

  #saved() {
    const { toolCallId, apiName, callKey, callIndex, identifier, source } = this.#call
    const settled = this.#settled.length > 0 ? { settled: this.#settled } : {}
    return { toolCallId, apiName, callKey: callKey as string, callIndex, identifier, source, ...settled }
  }

  /** The tool was at work when the state was saved that this run goes on from. */
  #unknown(): ToolEnding<R> {
    return refusedEnding<R>(this.#call.toolCallId, unknownExecution('the tool was running'))
  }
}

/** Written out: spreading the call would cost as much as opening the span. */
function activityOf(call: ToolCallContext): Activity {
  const { identifier, source, apiName, args, toolCallId, callIndex, callKey = '', description } = call
  const kind = 'tool'
  if (description === undefined) {
    return { kind, callKey, identifier, source, apiName, args, toolCallId, callIndex }
  }
  return { kind, callKey, identifier, source, apiName, args, toolCallId, callIndex, description }
}

function withoutDelay<M extends ToolMock>({ delayMs: _waited, ...mock }: M): Omit<M, 'delayMs'> {
  return mock
}
