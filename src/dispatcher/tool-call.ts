import { type ChainResult, isRefusal, type Refusal } from '../gates/chain.ts'
import type { ApprovalRequest, ExecutionClaim, ExecutionLedger, SettledExecution } from '../gates/index.ts'
import type { ToolCallContext, ToolCallOutcome, ToolMock, ToolSource } from '../hooks/index.ts'
import { delay, isThenable } from '../internal/async.ts'
import { describeValue, errorMessage, errorType, HookspanError } from '../internal/errors.ts'
import { toContent } from '../internal/json.ts'
import { assertToolMayRun } from '../internal/live-calls.ts'
import { snapshot } from '../internal/snapshot.ts'
import { runWithin } from './current.ts'
import { assertToolMock } from './mock-slot.ts'
import type { CallSite, OperationCore } from './operation-core.ts'
import type { WaitingCall } from './operation-init.ts'
import type { Scopes } from './scopes.ts'
import {
  errorContent,
  erroredOutcome,
  refusalContent,
  refusedOutcome,
  resultOutcome,
  type ToolOutcome,
  ToolResult,
  waitingOutcome,
} from './tool-outcome.ts'

/** A tool call that a runtime is about to make. */
export interface ToolCallInit<A = unknown> {
  /** The model's id of the call; made up when absent. May repeat: calls are told apart by the dispatcher. */
  toolCallId?: string
  /** The tool's home: `local`, the name of an MCP server, a plugin's id. @default 'local' */
  identifier?: string
  /** The function's name. */
  apiName: string
  args: A
  /** @default 'local' */
  source?: ToolSource
  /** Shown in traces. */
  description?: string
  /** JSON Schema, or a Standard Schema (zod, valibot, ...), of the arguments. Mocked calls are held to it. */
  inputSchema?: unknown
  /** The same for the result. */
  outputSchema?: unknown
  /** Told each value that a tool written as an async generator yields. */
  onProgress?: (value: unknown) => void
}

/** What the tool's function gets beside its arguments. */
export interface ToolRunContext {
  /** Aborted when the run is aborted. */
  readonly signal: AbortSignal
  readonly toolCallId: string
  /** W3C trace context of the call, to pass on to another process. */
  readonly traceparent: string | undefined
}

export type ToolFunction<A, R> = (
  args: A,
  context: ToolRunContext,
) => R | PromiseLike<R> | AsyncGenerator<unknown, R>

const NEVER_ABORTED = new AbortController().signal

/**
 * One tool call, from its gates to its span's end. Never throws for what the tool, a gate or a hook did.
 *
 * @throws HookspanError `INVALID_CALL` when the call itself is malformed.
 */
export async function runToolCall<A, R>(
  core: OperationCore,
  site: CallSite,
  init: ToolCallInit<A>,
  fn: ToolFunction<A, R>,
): Promise<ToolOutcome<R>> {
  if (typeof init.apiName !== 'string' || init.apiName === '') {
    throw invalid('apiName', 'a non-empty string', init.apiName)
  }
  if (typeof fn !== 'function') throw invalid('fn', 'the function that runs the tool', fn)
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

function invalid(name: string, expected: string, value: unknown): HookspanError {
  return new HookspanError(
    'INVALID_CALL',
    `Expected \`${name}\` of a tool call to be ${expected}, got ${describeValue(value)}.`,
  )
}

interface Ending<R> {
  readonly outcome: ToolOutcome<R>
  readonly content: string
  readonly success: boolean
  readonly mocked: boolean
}

/** What stood in for the tool, and by which of its rules. */
interface MockOrigin {
  readonly source: string
  readonly rule?: string
}

class ToolCallRun<A, R> {
  readonly #core: OperationCore
  readonly #site: CallSite
  readonly #init: ToolCallInit<A>
  readonly #scopes: Scopes
  readonly #startedAt = performance.now()
  readonly #untrack: () => boolean
  readonly #waited: WaitingCall | undefined
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
    this.#core = core
    this.#site = site
    this.#init = init
    this.#call = call
    if (waited === undefined) core.countToolCall()
    const { description } = init
    this.#scopes = core.open(site, {
      kind: 'tool',
      ...call,
      callKey: call.callKey as string,
      ...(description !== undefined && { description }),
    })
    this.#untrack = core.track((reason) => this.#cut(reason))
  }

  async run(fn: ToolFunction<A, R>): Promise<ToolOutcome<R>> {
    const ending = await this.#ending(fn)
    if ('waiting' in ending) return this.#wait(ending.waiting)
    return this.#finish(ending)
  }

  async #ending(fn: ToolFunction<A, R>): Promise<Ending<R> | { readonly waiting: ApprovalRequest }> {
    if (this.#core.signal?.aborted) return this.#errored(this.#core.signal.reason, false)
    const decided = await this.#decide('beforeToolCall', this.#call.args)
    if (isRefusal(decided)) {
      await this.#announce('The call was refused before.')
      return this.#refused(decided)
    }
    if (decided?.kind === 'wait') return { waiting: decided.request }
    if (decided?.kind === 'skip') {
      await this.#announce('The call was answered by a gate before.')
      return this.#gateResult(this.#returned('skipped', decided.result as R))
    }
    if (decided?.changed) this.#call = { ...this.#call, args: decided.payload }
    this.#approvedBy = decided?.approvedBy
    const mock = await this.#announce()
    if (mock !== null) {
      this.#noteOrigin({ source: 'event.mock' })
      return this.#mocked(mock)
    }
    const stoodIn = await this.#standIn()
    if (stoodIn !== undefined) return stoodIn
    return this.#approvedBy === undefined ? this.#real(fn) : this.#once(fn, this.#approvedBy)
  }

  #decide(point: 'beforeToolCall' | 'afterToolCall', payload: unknown): Promise<ChainResult | undefined> {
    const { identifier, apiName, toolCallId, callKey, args } = this.#call
    return this.#core.decide(point, payload, {
      scopes: this.#scopes,
      stepIndex: this.#site.stepIndex,
      identifier,
      apiName,
      toolCallId,
      callKey: callKey as string,
      ...(point === 'afterToolCall' && { args }),
      parkable: point === 'beforeToolCall',
      ...(this.#waited && { waited: this.#waited }),
    })
  }

  /** The call goes on in the process that resumes the run: its hooks fire there. */
  #wait(request: ApprovalRequest): ToolOutcome<R> {
    const { toolCallId, apiName, callKey, callIndex, args } = this.#call
    if (this.#untrack()) this.#scopes.end({ outcome: 'waiting', args }, this.#core.timestamp)
    this.#core.waiting.push({ toolCallId, apiName, callKey: callKey as string, callIndex, request })
    this.#site.noteWaiting?.()
    return waitingOutcome<R>(request, toolCallId)
  }

  /** An approved call runs at most once, over processes that end at any moment. */
  async #once(fn: ToolFunction<A, R>, requestId: string): Promise<Ending<R>> {
    const ledger = this.#core.approver?.ledger ?? this.#core.host.approver()?.ledger
    if (ledger === undefined) return this.#real(fn)
    let claim: ExecutionClaim
    try {
      claim = await ledger.claim(requestId)
    } catch (error) {
      const reason = `the approved call could not be claimed: ${errorMessage(error)}`
      return this.#refused({ kind: 'deny', code: 'approval_error', reason, stop: false })
    }
    if (claim.state === 'unknown') {
      const reason = 'the process ended while the approved tool was running; it is not run a second time'
      return this.#refused({ kind: 'deny', code: 'execution_unknown', reason, stop: false })
    }
    if (claim.state === 'done') {
      const { ok, value, error } = claim.result
      return ok
        ? this.#gateResult(this.#returned('completed', value as R))
        : this.#errored(new Error(error ?? 'the tool failed'), false)
    }
    return this.#real(fn, (result) => this.#settle(ledger, requestId, result))
  }

  async #settle(ledger: ExecutionLedger, requestId: string, result: SettledExecution): Promise<void> {
    try {
      await ledger.settle(requestId, result)
    } catch (error) {
      const { operationId } = this.#core.info
      this.#core.host.reporter.failure({ kind: 'failed', hookId: 'approval.settle', operationId, error })
    }
  }

  #announce(closed?: string): Promise<ToolMock | null> | ToolMock | null {
    this.#announced = true
    if (this.#core.ended) return null
    return this.#core.record.decideMock({ ...this.#call, ...this.#where() }, closed)
  }

  async #standIn(): Promise<Ending<R> | undefined> {
    const { inputSchema, outputSchema, onProgress } = this.#init
    for (const standIn of this.#core.host.standIns()) {
      try {
        const answer = await standIn({
          ...this.#call,
          args: snapshot(this.#call.args),
          operation: this.#core.info,
          agentPath: this.#core.agentPath,
          stepIndex: this.#site.stepIndex ?? 0,
          signal: this.#core.signal,
          inputSchema,
          outputSchema,
          ...(onProgress !== undefined && { onProgress }),
        })
        if (answer === undefined) continue
        assertToolMock(answer.mock)
        const { source, rule } = answer
        this.#noteOrigin(rule === undefined ? { source } : { source, rule })
        return await this.#mocked(answer.mock)
      } catch (error) {
        return this.#errored(error, true)
      }
    }
    return undefined
  }

  #noteOrigin(origin: MockOrigin): void {
    this.#origin = origin
    this.#scopes.annotate({ kind: 'mock', ...origin })
  }

  async #mocked(mock: ToolMock): Promise<Ending<R>> {
    try {
      if (mock.delayMs !== undefined && mock.delayMs > 0) await delay(mock.delayMs, this.#core.signal)
    } catch (error) {
      return this.#errored(error, true)
    }
    if ('error' in mock) {
      return this.#errored(typeof mock.error === 'string' ? new Error(mock.error) : mock.error, true)
    }
    return this.#gateResult(this.#returned('mocked', new ToolResult(mock) as R))
  }

  async #real(
    fn: ToolFunction<A, R>,
    settled?: (result: SettledExecution) => Promise<void>,
  ): Promise<Ending<R>> {
    const context: ToolRunContext = {
      signal: this.#core.signal ?? NEVER_ABORTED,
      toolCallId: this.#call.toolCallId,
      traceparent: this.#scopes.traceparent,
    }
    let value: R
    try {
      assertToolMayRun(this.#call)
      // Inside run(), so that what the tool traces becomes a child, generators and their finally blocks included.
      const running = runWithin(this.#core, this.#site, this.#scopes, () =>
        settleTool(fn(this.#call.args as A, context), this.#init.onProgress, context.signal),
      )
      value = (isThenable(running) ? await untilAborted(running, this.#core.signal) : running) as R
    } catch (error) {
      await settled?.({ ok: false, error: errorMessage(error) })
      return this.#errored(error, false)
    }
    await settled?.({ ok: true, value })
    return this.#gateResult(this.#returned('completed', value))
  }

  #returned(state: 'completed' | 'mocked' | 'skipped', value: R): Ending<R> {
    const mocked = state === 'mocked'
    const { toolCallId } = this.#call
    if (value instanceof ToolResult) {
      const { content, success, data } = value
      return { outcome: resultOutcome(state, data as R, toolCallId, content), content, success, mocked }
    }
    const outcome = resultOutcome(state, value, toolCallId)
    return { outcome, content: toContent(value), success: !saysFailure(value), mocked }
  }

  async #gateResult(ending: Ending<R>): Promise<Ending<R>> {
    if (!('result' in ending.outcome)) return ending
    const decided = await this.#decide('afterToolCall', ending.outcome.result)
    if (decided === undefined) return ending
    if (isRefusal(decided)) return this.#refused(decided)
    if (decided.kind === 'wait') return ending
    if (decided.kind === 'skip') return this.#returned(ending.outcome.state, decided.result as R)
    return decided.changed ? this.#returned(ending.outcome.state, decided.payload as R) : ending
  }

  #refused(refusal: Refusal): Ending<R> {
    const outcome = refusedOutcome<R>(refusal, this.#call.toolCallId)
    return { outcome, content: refusalContent(refusal), success: false, mocked: false }
  }

  #errored(error: unknown, mocked: boolean): Ending<R> {
    const outcome = erroredOutcome<R>(error, this.#call.toolCallId)
    return { outcome, content: errorContent(error), success: false, mocked }
  }

  async #finish(ending: Ending<R>): Promise<ToolOutcome<R>> {
    if (!this.#untrack()) return ending.outcome
    if (!this.#announced) await this.#announce('The call was aborted before.')
    this.#report(ending)
    return ending.outcome
  }

  #report({ outcome, content, success, mocked }: Ending<R>): void {
    const executionTimeMs = performance.now() - this.#startedAt
    const origin = this.#origin && {
      mockSource: this.#origin.source,
      ...(this.#origin.rule !== undefined && { mockRule: this.#origin.rule }),
    }
    const refused = 'code' in outcome ? { code: outcome.code, reason: outcome.reason } : undefined
    if (outcome.state === 'errored') {
      const { error } = outcome
      this.#core.emit('onToolCallError', {
        ...this.#call,
        ...this.#where(),
        error,
        errorType: errorType(error),
        errorMessage: errorMessage(error),
        mocked,
        ...origin,
        executionTimeMs,
      })
    } else {
      this.#core.emit('afterToolCall', {
        ...this.#call,
        ...this.#where(),
        content,
        ...('result' in outcome && { result: outcome.result }),
        success,
        mocked,
        ...origin,
        outcome: outcome.state as ToolCallOutcome,
        ...refused,
        executionTimeMs,
      })
    }
    const { timestamp } = this.#core
    this.#scopes.end(
      {
        outcome: outcome.state as ToolCallOutcome,
        args: this.#call.args,
        content,
        success,
        mocked,
        ...('result' in outcome && { result: outcome.result }),
        ...(outcome.state === 'errored' && { error: outcome.error }),
        ...(refused && { code: refused.code, refusal: refused.reason }),
      },
      timestamp,
    )
  }

  /** The operation ends while the call is in flight. */
  #cut(reason: string): void {
    if (!this.#announced) this.#announce('The run ended before.')
    this.#report(
      this.#errored(
        new DOMException(`The run ended (${reason}) while the tool was running.`, 'AbortError'),
        false,
      ),
    )
  }

  #where(): { stepIndex?: number } {
    const { stepIndex } = this.#site
    return stepIndex === undefined ? {} : { stepIndex }
  }
}

/** The MCP and the plain convention of a result that reports a failure. */
function saysFailure(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { isError?: unknown }).isError === true
}

/** A tool written as an async generator yields progress; its return value, else the last one yielded, is its result. */
function settleTool(
  value: unknown,
  onProgress: ((value: unknown) => void) | undefined,
  signal: AbortSignal,
): unknown {
  return isAsyncGenerator(value) ? readGenerator(value, onProgress, signal) : value
}

async function readGenerator(
  generator: AsyncGenerator<unknown, unknown>,
  onProgress: ((value: unknown) => void) | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  let last: unknown
  try {
    for (;;) {
      const { done, value } = await untilAborted(generator.next(), signal)
      if (done) return value === undefined ? last : value
      last = value
      onProgress?.(value)
    }
  } catch (error) {
    // Not awaited: a generator that hangs in `await` cannot be closed.
    generator.return(undefined).catch(() => {})
    throw error
  }
}

function isAsyncGenerator(value: unknown): value is AsyncGenerator<unknown, unknown> {
  return Object.prototype.toString.call(value) === '[object AsyncGenerator]'
}

/** The promise, or the signal's reason as soon as it is aborted: a tool that ignores the signal cannot hold the run. */
export function untilAborted<T>(promise: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined || signal === NEVER_ABORTED) return Promise.resolve(promise)
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    Promise.resolve(promise)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
  })
}
