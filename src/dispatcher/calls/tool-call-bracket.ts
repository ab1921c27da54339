import type { ChainResult, Refusal } from '../../gates/chain.ts'
import type { ApprovalRequest } from '../../gates/index.ts'
import type { ToolCallContext } from '../../hooks/index.ts'
import type { MockDecision } from '../events/mock-wait.ts'
import { endParked } from '../humans/ask-human.ts'
import type { Activity, ToolEnd } from '../plugins/instrument.ts'
import { Bracket } from '../run/bracket.ts'
import { type Capability, incapable } from '../run/capabilities.ts'
import type { ParkedQuestion } from '../run/decided-place.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import { invalidCall } from '../run/operation-init.ts'
import type { WaitingCall } from '../run/parked.ts'
import { decide } from './decide.ts'
import { refusalBy } from './suspended.ts'
import { assertToolCallKeys, type ToolCallInit } from './tool-call-init.ts'
import { erroredEnding, type MockOrigin, refusedEnding, type ToolEnding, toldToolEnd } from './tool-ending.ts'
import { type ToolOutcome, waitingOutcome } from './tool-outcome.ts'

/** Whoever says what a tool gave is not heard there. */
export const UNMOCKABLE: Refusal = {
  kind: 'deny',
  code: 'not_capable',
  reason: 'a mock or a gate answered for it, and it runs where nothing can stand in for it: it was not run',
  stop: false,
}

/** What a tool call is, what is told of it, and what of it is saved when another process goes on with the run. */
export class ToolCallBracket<A, R> extends Bracket<ToolEnd, CallSite> {
  protected readonly init: ToolCallInit<A>
  /** The call as the process that parked the run left it. */
  protected readonly waited: WaitingCall | undefined
  readonly #settled: string[]
  readonly #asked: ParkedQuestion
  /** What is to run, with the arguments as they are after the gates. */
  protected call: ToolCallContext
  /** Its `beforeToolCall` hooks have been told. */
  protected announced = false
  /** The tool has been started. */
  protected atWork = false
  protected origin: MockOrigin | undefined
  /** Whether somebody else is asked for what the tool would give: it does not run meanwhile. */
  protected standsIn = false
  /** The approval that the tool's run is claimed by. */
  protected approvedBy: string | undefined

  /** @throws HookspanError `INVALID_CALL` when the call is malformed. */
  constructor(core: OperationCore, site: CallSite, init: ToolCallInit<A>, resumed?: WaitingCall) {
    const apiName: unknown = init?.apiName
    if (typeof apiName !== 'string' || apiName === '') {
      throw invalidCall('apiName', 'a tool call', 'a non-empty string', apiName)
    }
    assertToolCallKeys(init)
    const waited = resumed ?? core.carried.take(init.toolCallId, apiName)
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
    if (waited === undefined && !core.ended) core.countToolCall(call)
    const spanKey = core.spanKey(callKey)
    super(core, site, spanKey === undefined ? activityOf(call) : { ...activityOf(call), spanKey })
    this.waited = waited
    this.#asked = { request: waited?.request }
    this.#settled = [...(waited?.settled ?? [])]
    // What was begun in the process that parked the run: the gates have decided and the first hooks have fired.
    this.announced = waited?.running !== undefined
    this.approvedBy = waited?.running?.approvedBy
    this.init = init
    this.call = call
  }

  protected get during(): string {
    if (!this.announced) return 'before the tool ran'
    return this.standsIn ? 'while its mock was at work' : 'while the tool was running'
  }

  get toolCall(): ToolCallContext {
    return this.call
  }

  get key(): string {
    return this.call.callKey as string
  }

  /** Between any two waits the run may be stopped, aborted or ended. Then the tool must not run any more. */
  protected cutShort(): ToolEnding<R> | undefined {
    if (!this.isCutShort()) return undefined
    const { ended, stop } = this.core
    const { toolCallId } = this.call
    if (stop !== undefined) return refusedEnding<R>(toolCallId, refusalBy(stop))
    if (ended || !this.isOpen) return this.endedBefore()
    return erroredEnding<R>(toolCallId, this.cutBy?.reason, false)
  }

  protected isCutShort(): boolean {
    const { ended, stop } = this.core
    return ended || !this.isOpen || stop !== undefined || this.cutBy?.aborted === true
  }

  /** What ends the call, before its tool and while that is at work. */
  get cutBy(): AbortSignal | undefined {
    return this.init.outlastsAbort === true ? undefined : this.core.signal
  }

  protected endedBefore(): ToolEnding<R> {
    return erroredEnding<R>(this.call.toolCallId, this.core.endedError(), false)
  }

  /** What the runtime's adapter cannot do is refused: the tool does not run instead. */
  protected unable(needed: Capability): ToolEnding<R> | undefined {
    const mocked = needed === 'mockToolCalls' && this.init.mockable === false
    const refusal = mocked ? UNMOCKABLE : incapable(this.core.init.adapter, needed)
    return refusal && refusedEnding<R>(this.call.toolCallId, refusal)
  }

  protected decide(
    point: 'beforeToolCall' | 'afterToolCall',
    payload: unknown,
  ): Promise<ChainResult | undefined> {
    const { identifier, source, apiName, toolCallId, callKey, args } = this.call
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
      parkable:
        point === 'beforeToolCall' &&
        this.init.parkable !== false &&
        incapable(this.core.init.adapter, 'park') === undefined,
      settled: this.#settled,
      asked: this.#asked,
    })
  }

  /** The call goes on in the process that resumes the run: its hooks fire there. */
  protected wait(request: ApprovalRequest | undefined): ToolOutcome<R> {
    const { toolCallId, args } = this.call
    const approvedBy = this.approvedBy
    if (!this.claim()) return this.endedBefore().outcome
    this.close({ kind: 'tool', outcome: 'waiting', args })
    const running = { args, ...(approvedBy !== undefined && { approvedBy }) }
    const asked = this.init.asksFirst === true ? { args } : { running }
    this.core.carried.wait({ ...this.#saved(), ...(request === undefined ? asked : { request }) })
    this.site.noteWaiting?.()
    return waitingOutcome<R>(request, toolCallId)
  }

  protected announce(closed?: string): Promise<MockDecision> | MockDecision {
    if (this.announced || this.core.ended) return null
    this.announced = true
    const { record, signal } = this.core
    if (record.hears('beforeToolCall')) {
      return record.decideMock({ ...this.call, ...this.where }, { closed, signal })
    }
    record.count('beforeToolCall')
    return null
  }

  protected told(ending: ToolEnding<R>): ToolEnd {
    return toldToolEnd(this.core, this.call, ending, this, this.origin)
  }

  protected failed(error: unknown): ToolEnd {
    this.endQuestion()
    if (!this.announced) this.announce('The run ended before.')
    return this.told(erroredEnding<R>(this.call.toolCallId, error, this.standsIn))
  }

  /** What a human was asked in the process that parked the run, and nobody asked again. */
  protected get unasked(): ApprovalRequest | undefined {
    return this.#asked.request
  }

  protected endQuestion(): void {
    const { request } = this.#asked
    this.#asked.request = undefined
    const { core, traced, site } = this
    if (request !== undefined) endParked(core, { traced, stepIndex: site.stepIndex }, request)
  }

  /**
   * Who resumes the run from a state that is saved now does not know what the tool will have done; a call that has not come
   * so far is decided again, under the key that it has: what a human is asked about it is the same question.
   */
  get savedCall(): WaitingCall {
    if (!this.atWork) return this.waited ?? this.#saved()
    const { args } = this.call
    const approvedBy = this.approvedBy === undefined ? {} : { approvedBy: this.approvedBy }
    const once = this.init.idempotent === true ? {} : { once: true as const }
    return { ...this.#saved(), running: { args, ...approvedBy }, unknown: true, ...once }
  }

  #saved() {
    const { toolCallId, apiName, callKey, callIndex, identifier, source } = this.call
    const settled = this.#settled.length > 0 ? { settled: this.#settled } : {}
    const within = this.site.callKey === undefined ? {} : { within: this.site.callKey }
    return {
      toolCallId,
      apiName,
      callKey: callKey as string,
      callIndex,
      identifier,
      source,
      ...settled,
      ...within,
    }
  }
}

/** Written out: spreading the call would cost as much as opening the span. */
function activityOf(call: ToolCallContext): Extract<Activity, { kind: 'tool' }> {
  const { identifier, source, apiName, args, toolCallId, callIndex, callKey = '', description } = call
  const kind = 'tool'
  if (description === undefined) {
    return { kind, callKey, identifier, source, apiName, args, toolCallId, callIndex }
  }
  return { kind, callKey, identifier, source, apiName, args, toolCallId, callIndex, description }
}
