import { type ChainResult, isRefusal, type Refusal } from '../../gates/chain.ts'
import type { ApprovalRequest, SettledExecution } from '../../gates/index.ts'
import { isLeftRun } from '../../gates/left-run.ts'
import type { CompletionReason, ToolMock } from '../../hooks/index.ts'
import { callBeside, delay, isThenable, untilAborted } from '../../internal/async.ts'
import { errorMessage } from '../../internal/errors.ts'
import { isRecord } from '../../internal/objects.ts'
import { claimExecution, settlerOf, unknownExecution } from '../humans/claim-execution.ts'
import { refusedBefore } from '../humans/said-before.ts'
import { assertToolMayRun } from '../run/live-calls.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import { invalidCall } from '../run/operation-init.ts'
import { admission } from './admission.ts'
import { askPlugged, tellPlugged } from './ask-plugged.ts'
import { readToolResult } from './read-generator.ts'
import { CallRefused, RunSuspended, refusalBy } from './suspended.ts'
import { ToolCallBracket, UNMOCKABLE } from './tool-call-bracket.ts'
import {
  assertRefused,
  idempotencyKeyOf,
  type ToolCallInit,
  type ToolCallRefused,
  type ToolFunction,
  type ToolRunContext,
} from './tool-call-init.ts'
import {
  erroredEnding,
  type MockOrigin,
  refusedEnding,
  returnedEnding,
  type ToolEnding,
} from './tool-ending.ts'
import { contentOf, hasWords, type ToolOutcome, ToolResult } from './tool-outcome.ts'

/**
 * One tool call, from its gates to its span's end. Never throws for what the tool, a gate or a hook did.
 *
 * @throws HookspanError `INVALID_CALL` when the call itself is malformed, `STATE_CLAIMED`.
 */
export function runToolCall<A, R>(
  core: OperationCore,
  site: CallSite,
  init: ToolCallInit<A>,
  fn: ToolFunction<A, R>,
): Promise<ToolOutcome<R>> {
  try {
    const pending = core.claim?.pending
    // Nothing is begun of a run that another process goes on with.
    if (pending !== undefined) return pending.then(() => runToolCall(core, site, init, fn))
    if (core.claim?.refusal !== undefined) throw core.claim.refusal
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

/** What comes between a tool call and its end: who decides, who stands in, and the tool. */
export class ToolCallRun<A, R> extends ToolCallBracket<A, R> {
  /** Told when the run ends first. */
  onCut: (() => void) | undefined

  override cut(reason: CompletionReason): void {
    super.cut(reason)
    this.onCut?.()
  }

  async run(fn: ToolFunction<A, R>): Promise<ToolOutcome<R>> {
    let ending: ToolEnding<R> | Suspended
    try {
      if (this.#goesStraight()) {
        this.announced = true
        this.core.record.count('beforeToolCall')
        // The most frequent case, in one asynchronous function: each more costs as much as half of a span.
        const running = this.#start(fn)
        const value = isThenable(running) ? await untilAborted(running, this.cutBy) : running
        ending = returnedEnding('completed', this.call.toolCallId, value as R)
        if (this.core.decidesAt('afterToolCall')) ending = await this.#gateResult(ending)
      } else {
        ending = await this.#ending(fn)
      }
    } catch (error) {
      // What the tool threw, or a value so hostile that looking at it throws.
      ending = this.#threw(error)
    }
    if ('waiting' in ending) return this.wait(ending.waiting)
    if (!this.claim()) return ending.outcome
    this.endQuestion()
    // Not awaited: the run may end while the call is claimed, and nothing would tell of its end.
    if (!this.announced) this.announce('The call was aborted before.')
    this.close(this.told(ending))
    return ending.outcome
  }

  /** Whether nothing that decides, observes or stands in comes between the call and its tool. */
  #goesStraight(): boolean {
    const { core } = this
    const { asksFirst, refused, failed, permit } = this.init
    if (this.waited !== undefined || asksFirst === true) return false
    if (refused !== undefined || failed !== undefined || permit !== undefined) return false
    if (admission(core) !== undefined) return false
    if (core.decidesAt('beforeToolCall') || core.standIns().length > 0) return false
    return !this.isCutShort() && !core.record.hears('beforeToolCall')
  }

  async #ending(fn: ToolFunction<A, R>): Promise<ToolEnding<R> | Suspended> {
    const { toolCallId } = this.call
    const waits = admission(this.core)
    if (waits !== undefined) await waits
    const before = this.cutShort()
    if (before !== undefined) return before
    if (this.waited?.unknown && (this.waited.once || this.init.idempotent !== true)) return this.#unknown()
    if (this.waited?.running !== undefined) {
      // The process may have died before it claimed it.
      if (this.waited.unknown && this.approvedBy !== undefined)
        await claimExecution(this.core, this.approvedBy)
      return this.#real(fn, this.#settler())
    }
    if (this.init.failed !== undefined) {
      const { error } = this.init.failed
      await this.announce('The call failed before.')
      tellPlugged(this.core, this.site, this.call, this.init, error)
      return erroredEnding<R>(toolCallId, error, false)
    }
    const asked = await this.#decided()
    const decided = asked?.kind === 'skip' && this.init.mockable === false ? UNMOCKABLE : asked
    if (isRefusal(decided)) {
      // A question that was withdrawn with the end is no refusal.
      if (!this.isOpen) return this.endedBefore()
      await this.announce('The call was refused before.')
      return refusedEnding<R>(toolCallId, decided)
    }
    if (decided?.kind === 'wait') return { waiting: decided.request }
    if (decided?.kind === 'skip') {
      await this.announce('The call was answered by a gate before.')
      return this.#gateResult(returnedEnding('skipped', toolCallId, decided.result as R))
    }
    if (decided?.changed) {
      const unable = this.unable('changeArguments')
      if (unable !== undefined) return unable
    }
    // Also where nothing was changed: what runs is what was decided on.
    if (decided !== undefined) this.call = { ...this.call, args: decided.payload }
    this.approvedBy = decided?.approvedBy
    if (this.init.asksFirst === true) return { waiting: undefined }
    if (this.init.permit !== undefined) {
      const unpermitted = (await this.#unpermitted(this.init.permit)) ?? this.cutShort()
      if (unpermitted !== undefined) return unpermitted
    }
    const mock = await this.announce()
    const announced = this.cutShort()
    if (announced !== undefined) return announced
    if (mock !== null) {
      if ('refused' in mock) return refusedEnding<R>(toolCallId, mock.refused)
      const unable = this.unable('mockToolCalls')
      if (unable !== undefined) return unable
      this.#noteOrigin({ source: 'event.mock' })
      return this.#mocked(mock)
    }
    const instead = (await this.#standIn()) ?? this.cutShort()
    if (instead !== undefined) return instead
    return this.approvedBy === undefined ? this.#real(fn) : this.#once(fn, this.approvedBy)
  }

  async #decided(): Promise<ChainResult | undefined> {
    if (this.init.refused !== undefined) return refusalOf(this.init.refused)
    const decided = this.core.decidesAt('beforeToolCall')
      ? await this.decide('beforeToolCall', this.call.args)
      : undefined
    const runs = decided === undefined || (decided.kind === 'proceed' && decided.approvedBy === undefined)
    const refused = runs ? await refusedBefore(this.core.approver, this.unasked) : undefined
    if (refused?.stop) this.core.requestStop(refused)
    return refused ?? decided
  }

  async #unpermitted(permit: NonNullable<ToolCallInit<A>['permit']>): Promise<ToolEnding<R> | undefined> {
    const said = await permit(this.call.args as A)
    if (said === undefined) return undefined
    if (isRecord(said) && 'args' in said) {
      this.call = { ...this.call, args: said.args }
      return undefined
    }
    assertRefused(said)
    await this.announce('The call was refused before.')
    return refusedEnding<R>(this.call.toolCallId, refusalOf(said))
  }

  #settler() {
    return this.approvedBy === undefined ? undefined : settlerOf(this.core, this.approvedBy)
  }

  /** An approved call runs at most once, over processes that end at any moment. */
  async #once(fn: ToolFunction<A, R>, requestId: string): Promise<ToolEnding<R> | Suspended> {
    const { toolCallId } = this.call
    try {
      // Before the claim: where the run cannot be saved the answer is not spent, and who goes on with the run has it.
      this.atWork = true
      await this.core.keepAtWork?.()
    } catch (error) {
      return erroredEnding<R>(toolCallId, error, false)
    }
    const claim = await claimExecution(this.core, requestId)
    if (claim.state === 'refused') return refusedEnding<R>(toolCallId, claim.refusal)
    if (claim.state === 'run') {
      const ended = this.cutShort()
      if (ended === undefined) return this.#real(fn, claim.settle)
      // Who goes on with the run would take it for what came of the tool.
      if (!this.core.phase.left) await claim.settle?.({ ok: false, error: contentOf(ended.outcome) })
      return ended
    }
    const { ok, error } = claim.result
    if (ok) return this.#gateResult(returnedEnding('completed', toolCallId, keptResult(claim.result) as R))
    return erroredEnding<R>(toolCallId, new Error(error ?? 'the tool failed'), false)
  }

  async #standIn(): Promise<ToolEnding<R> | undefined> {
    try {
      this.standsIn = this.core.standIns().length > 0
      const answer = await askPlugged(this.core, this.site, this.call, this.init)
      this.standsIn = answer !== undefined
      if (answer === undefined) return undefined
      const unable = this.unable('mockToolCalls')
      if (unable !== undefined) return unable
      const { source, rule } = answer
      this.#noteOrigin(rule === undefined ? { source } : { source, rule })
      return await this.#mocked(answer.mock)
    } catch (error) {
      return erroredEnding<R>(this.call.toolCallId, error, true)
    }
  }

  #noteOrigin(origin: MockOrigin): void {
    this.origin = origin
    this.standsIn = true
    this.traced.annotate({ kind: 'mock', ...origin })
  }

  async #mocked(mock: ToolMock): Promise<ToolEnding<R>> {
    try {
      if (mock.delayMs !== undefined && mock.delayMs > 0) await delay(mock.delayMs, this.core.signal)
    } catch (error) {
      // Aborted: the mock said nothing.
      return { ...erroredEnding<R>(this.call.toolCallId, error, false), mocked: true }
    }
    if (!('content' in mock)) {
      return erroredEnding<R>(
        this.call.toolCallId,
        typeof mock.error === 'string' ? new Error(mock.error) : mock.error,
        true,
      )
    }
    const result = resultOf(mock)
    return this.#gateResult(returnedEnding('mocked', this.call.toolCallId, result as R))
  }

  async #real(
    fn: ToolFunction<A, R>,
    settled?: (result: SettledExecution) => Promise<void>,
  ): Promise<ToolEnding<R> | Suspended> {
    let value: R
    try {
      const running = this.#start(fn)
      value = (isThenable(running) ? await untilAborted(running, this.cutBy) : running) as R
    } catch (error) {
      const ending = this.#threw(error)
      // Where it was left to another process, nobody knows what it does.
      if (!('waiting' in ending) && !isLeftRun(this.cutBy?.reason))
        await settled?.({ ok: false, error: errorMessage(error) })
      return ending
    }
    await settled?.(kept(value))
    return this.#gateResult(returnedEnding('completed', this.call.toolCallId, value))
  }

  /** @throws what the tool throws before it returns, and what refuses to let it run. */
  #start(fn: ToolFunction<A, R>): unknown {
    assertToolMayRun(this.call)
    const { signal } = this.core
    const context: ToolRunContext = {
      // Of a run without one each call has its own: what tools hang on one for all would be kept for ever.
      signal: signal ?? new AbortController().signal,
      toolCallId: this.call.toolCallId,
      idempotencyKey: idempotencyKeyOf(this.core.info.operationId, this.call.callKey as string),
      traceparent: this.traced.traceparent,
    }
    this.atWork = true
    return this.runBody(() => fn(this.call.args as A, context))
  }

  /** Since it was decided, the call has ended with its run, or what was decided of another one has stopped the run: its tool must not run. */
  get refusedSince(): Error | undefined {
    const { stop } = this.core
    if (!this.isOpen) return this.core.endedError()
    return stop && new CallRefused(refusalBy(stop))
  }

  /** Inside of the call, so that what the tool traces becomes a child, generators and their finally blocks included. */
  runBody(body: () => unknown): unknown {
    return this.within(() => readToolResult(body(), (value) => this.#progress(value), this.cutBy))
  }

  #threw(error: unknown): ToolEnding<R> | Suspended {
    try {
      if (error instanceof RunSuspended) return { waiting: undefined }
      if (error instanceof CallRefused) return refusedEnding<R>(this.call.toolCallId, error.refusal)
    } catch {
      // A value so hostile that asking what it is throws: neither of ours.
    }
    return erroredEnding<R>(this.call.toolCallId, error, false)
  }

  /** Whoever listens to progress is an observer: what it throws is no failure of the tool. */
  #progress(value: unknown): void {
    callBeside(
      () => this.init.onProgress?.(value),
      (error) => this.core.reportFailure('toolCall.onProgress', error),
    )
  }

  async #gateResult(ending: ToolEnding<R>): Promise<ToolEnding<R>> {
    if (!('result' in ending.outcome)) return ending
    if (!this.core.decidesAt('afterToolCall')) return ending
    const decided = await this.decide('afterToolCall', ending.told ?? ending.outcome.result)
    if (decided === undefined) return ending
    if (isRefusal(decided)) return refusedEnding<R>(this.call.toolCallId, decided)
    if (decided.kind === 'wait') return ending
    if (decided.kind === 'skip')
      return returnedEnding(ending.outcome.state as 'completed', this.call.toolCallId, decided.result as R)
    return decided.changed
      ? returnedEnding(ending.outcome.state as 'completed', this.call.toolCallId, decided.payload as R)
      : ending
  }

  /** The tool was at work when the state was saved that this run goes on from. */
  #unknown(): ToolEnding<R> {
    return refusedEnding<R>(this.call.toolCallId, unknownExecution('the tool was running'))
  }
}

const refusalOf = (refused: ToolCallRefused): Refusal => ({ code: 'rejected', ...refused, stop: false })

/** What is written down of a result: JSON, that it is the same again for who goes on. */
function kept(value: unknown): SettledExecution {
  if (!hasWords(value)) return { ok: true, value }
  const { content, success, data } = value
  return { ok: true, value: data, told: { content, success } }
}

function keptResult({ value, told }: SettledExecution): unknown {
  return told === undefined ? value : new ToolResult({ ...told, data: value })
}

function resultOf(mock: Extract<ToolMock, { content: string }>): ToolResult {
  const { content, success = true } = mock
  if (Object.hasOwn(mock, 'data')) return new ToolResult({ content, success, data: mock.data })
  if (!('error' in mock)) return new ToolResult({ content, success })
  return new ToolResult({ content, success, data: { content, success, error: mock.error } })
}
