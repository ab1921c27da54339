import { errorMessage, HookspanError } from '../../internal/errors.ts'
import type { OpenedCall } from '../run/bracket.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import { ToolCallRun } from './tool-call.ts'
import type { ToolCallInit, ToolFunction, ToolRunContext } from './tool-call-init.ts'
import type { ToolOutcome } from './tool-outcome.ts'

/** What is to be done with a tool call, once it is decided: run it, or take the outcome that it has already. */
export type ToolCallDecision<A, R> =
  | { readonly state: 'run'; readonly args: A; readonly context: ToolRunContext }
  | ToolOutcome<R>

/**
 * A tool call that is decided at one moment and run at another, in a function of somebody else: gates, hooks and
 * mocks have had their say when `decided` is there. One that is never run, settled or failed ends with its step.
 *
 * @example
 * const call = step.openToolCall({ toolCallId, apiName, args })
 * const decided = await call.decided
 * if (decided.state !== 'run') return decided.toToolMessage().content
 * const outcome = await call.run((args) => tool.execute(args))
 */
export class OpenToolCall<A = unknown, R = unknown> implements OpenedCall {
  /** How it ends. Never rejects. */
  readonly outcome: Promise<ToolOutcome<R>>
  readonly #call: ToolCallRun<A, R>
  readonly #body = Promise.withResolvers<R>()
  /** Where the tool is to run: known at once where nobody is asked. */
  #decision: ToolCallDecision<A, R> | undefined
  #deciding: PromiseWithResolvers<ToolCallDecision<A, R>> | undefined
  #args: A
  #begun: string | undefined
  #running = false

  /** @throws HookspanError `INVALID_CALL` when it is malformed. */
  constructor(core: OperationCore, site: CallSite, init: ToolCallInit<A>) {
    this.#call = new ToolCallRun<A, R>(core, site, init)
    this.#args = init.args
    this.#body.promise.catch(() => {})
    // A body that is at work ends by itself.
    this.#call.onCut = () => {
      if (this.#begun === undefined) this.#body.reject(this.#call.refusedSince)
    }
    this.outcome = this.#call.run((args, context) => {
      this.#args = args
      this.#running = true
      this.#decision = { state: 'run', args, context }
      this.#deciding?.resolve(this.#decision)
      return this.#body.promise
    })
  }

  /** `run`, with the effective arguments; else how the call has ended: denied, rejected, waiting, mocked, skipped. */
  get decided(): Promise<ToolCallDecision<A, R>> {
    if (this.#deciding === undefined) {
      this.#deciding = Promise.withResolvers<ToolCallDecision<A, R>>()
      if (this.#decision === undefined) this.outcome.then(this.#deciding.resolve)
      else this.#deciding.resolve(this.#decision)
    }
    return this.#deciding.promise
  }

  /** The same where it is known already that the tool is to run: waiting for it costs more than opening a span. */
  get decision(): ToolCallDecision<A, R> | undefined {
    return this.#decision
  }

  /** The dispatcher's own key of the call: in its operation no other one has it. */
  get callKey(): string {
    return this.#call.key
  }

  /** The effective arguments, once the call is decided. */
  get args(): A {
    return this.#args
  }

  /**
   * Runs the tool in the call's span and place; whatever else the running code carries along (AsyncLocalStorage)
   * stays as it is.
   *
   * @returns how the call ended; where it was not to run, `body` is not called.
   * @throws HookspanError `CALL_SETTLED` when it was run, settled or failed before.
   */
  run(body: ToolFunction<A, R>): Promise<ToolOutcome<R>> {
    try {
      this.#begin('run')
    } catch (error) {
      return Promise.reject(error)
    }
    return this.#decision === undefined
      ? this.decided.then((decided) => this.#run(decided, body))
      : this.#run(this.#decision, body)
  }

  #run(decided: ToolCallDecision<A, R>, body: ToolFunction<A, R>): Promise<ToolOutcome<R>> {
    if (decided.state !== 'run') return this.outcome
    const { refused } = this
    if (refused !== undefined) return refused
    try {
      this.#body.resolve(this.#call.runBody(() => body(decided.args, decided.context)) as R | PromiseLike<R>)
    } catch (error) {
      this.#body.reject(error)
    }
    return this.outcome
  }

  /**
   * How it ends where its tool must not begin any more, because its run has ended or was stopped since it was decided.
   * Who begins the tool in {@link enter} asks this first.
   */
  get refused(): Promise<ToolOutcome<R>> | undefined {
    if (this.#call.cutBy?.aborted) return this.outcome
    const refused = this.#call.refusedSince
    if (refused === undefined) return undefined
    this.#begun ??= 'it was refused'
    this.#body.reject(refused)
    return this.outcome
  }

  /**
   * Runs code in the call's span and place, for a tool whose beginning and end are told apart: its end is told by
   * {@link settle} or {@link fail}. Whatever else the running code carries along stays as it is.
   */
  enter<T>(fn: () => T): T {
    return this.#call.within(fn)
  }

  /**
   * Tells the result of a tool that ran elsewhere.
   *
   * @returns how the call ended: `afterToolCall` gates may have changed the result.
   * @throws HookspanError `CALL_SETTLED` when it was run, settled or failed before.
   */
  async settle(result: R): Promise<ToolOutcome<R>> {
    this.#begin('settle')
    this.#body.resolve(result)
    return this.outcome
  }

  /** Tells what the tool threw. @throws HookspanError `CALL_SETTLED` when it was run, settled or failed before. */
  async fail(error: unknown): Promise<ToolOutcome<R>> {
    this.#begin('fail')
    if (!this.#running) this.#call.fail(error)
    this.#body.reject(error)
    return this.outcome
  }

  abandon(why: () => unknown): void {
    if (this.#begun !== undefined) return
    const error = why()
    this.#begun = `it was over: ${errorMessage(error).replace(/\.$/, '')}`
    this.#call.fail(error)
    this.#body.reject(error)
  }

  #begin(how: string): void {
    if (this.#begun !== undefined) {
      throw new HookspanError(
        'CALL_SETTLED',
        `${how}() was called on a tool call after ${this.#begun}. A call ends once.`,
      )
    }
    this.#begun = `${how}()`
  }
}
