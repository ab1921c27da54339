import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import type { OpenedCall } from '../run/bracket.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import { assertCall, goesStraight, LlmCallRun, openedLlmCall } from './llm-call.ts'
import type { LlmCallInit, LlmFunction, LlmRunContext } from './llm-call-init.ts'

/** What is to be done with a model call, once it is decided. */
export type LlmCallDecision<R> =
  | ({ readonly state: 'run'; readonly request: LlmRequest } & LlmRunContext)
  /** A gate answered in the model's place: the call has ended, with the reply that `standIn` made of the message. */
  | { readonly state: 'answered'; readonly reply: R; readonly response: LlmResponse }

/**
 * A model call whose request is made by somebody else, and whose reply is handed in when it is there.
 *
 * @example
 * const call = step.openLlmCall({ model, request, standIn })
 * const decided = await call.decided
 * if (decided.state === 'answered') return decided.reply
 * return call.settle(await call.run(() => client.create(decided.request)))
 */
export class OpenLlmCall<R = unknown> implements OpenedCall {
  readonly #init: LlmCallInit<R>
  /** Known at once where nobody is asked. */
  readonly #decision: LlmCallDecision<R> | undefined
  readonly #decided: Promise<LlmCallDecision<R>> | undefined
  /** Waited for where gates, a signal or the end of the run may come between the call and its reply. */
  readonly #reply: PromiseWithResolvers<R> | undefined
  #call: LlmCallRun<R> | undefined
  /** What comes of it, where gates, a signal or the end of the run may come between the call and its reply. */
  #outcome: Promise<R> | undefined
  /** Apart, because the call has it until its stream is read, and this holds the stream: nobody else must. */
  readonly #instead: { response?: LlmResponse } = {}
  #settled = false

  /** @throws HookspanError `INVALID_CALL` when it is malformed. */
  constructor(core: OperationCore, site: CallSite, init: LlmCallInit<R>) {
    assertCall(init, () => {})
    this.#init = init
    if (goesStraight(core)) {
      this.#call = new LlmCallRun<R>(core, site, init)
      this.#call.announce()
      const { traceparent } = this.#call.traced
      const { request } = init
      this.#decision = { state: 'run', request, signal: undefined, traceparent, gated: false }
    } else {
      this.#reply = Promise.withResolvers<R>()
      this.#decided = this.#hold(core, site, this.#reply.promise)
    }
  }

  #hold(core: OperationCore, site: CallSite, made: Promise<R>): Promise<LlmCallDecision<R>> {
    const { promise, resolve, reject } = Promise.withResolvers<LlmCallDecision<R>>()
    // Nobody waits for them where they are not asked for, or a gate answers before the request is made.
    promise.catch(() => {})
    made.catch(() => {})
    const init = noting(this.#instead, this.#init)
    this.#outcome = this.#started(core, site, init, (request, context) => {
      resolve({ state: 'run', request, ...context })
      return made
    })
    this.#outcome.then(
      (reply) => resolve({ state: 'answered', reply, response: this.#instead.response ?? {} }),
      reject,
    )
    return promise
  }

  async #started(core: OperationCore, site: CallSite, init: LlmCallInit<R>, ask: LlmFunction<R>): Promise<R> {
    return openedLlmCall(core, site, init, (call) => {
      this.#call = call
      return call.run(ask)
    })
  }

  /**
   * What the gates say. Rejects with HookspanError `CALL_DENIED` when one refused and there is no `standIn`,
   * `RUN_DENIED` or `OPERATION_ENDED` when the run is over.
   */
  get decided(): Promise<LlmCallDecision<R>> {
    return this.#decided ?? Promise.resolve(this.#decision as LlmCallDecision<R>)
  }

  /** The same where it is known at once, as nobody decides: waiting for it costs more than opening a span. */
  get decision(): LlmCallDecision<R> | undefined {
    return this.#decision
  }

  /** What a gate put in the model's place, before the request or after the reply; of a stream, once it is read. */
  get replaced(): LlmResponse | undefined {
    return this.#instead.response
  }

  /** Runs what makes the request, so that what it traces becomes a child of the call's span. */
  run<T>(fn: () => T): T {
    return this.#call === undefined ? fn() : this.#call.enter(fn)
  }

  /** Takes the HTTP response, for what its headers say of who answered. */
  noteResponse(response: unknown): void {
    this.#call?.noteResponse(response)
  }

  /**
   * The caller has the model's answer and reads it for itself: a run that ends now does not cut the call off.
   *
   * @param reply what is known of it already.
   */
  noteAnswered(reply?: R): void {
    this.#call?.noteAnswered(reply)
  }

  /** False once it has ended: with its reply, or with its run. */
  get isOpen(): boolean {
    return this.#call?.isOpen ?? !this.#settled
  }

  /**
   * The model has answered. A stream ends the call when it is read, fails or is abandoned.
   *
   * @returns what the caller gets: the same reply, unless a gate put another in its place.
   */
  settle(reply: R): R | Promise<R> {
    this.#settled = true
    if (this.#outcome === undefined) return (this.#call as LlmCallRun<R>).settle(reply)
    this.#reply?.resolve(reply)
    return this.#outcome
  }

  /** The request could not be made, or its reply not be read. */
  fail(error: unknown): void {
    if (this.#outcome === undefined) this.#call?.fail(error)
    else this.#reply?.reject(error)
  }

  /** A stream that was handed in ends when it is read, also after its step. */
  abandon(why: () => unknown): void {
    if (this.#settled) return
    const error = why()
    this.#call?.fail(error)
    this.#reply?.reject(error)
  }
}

/** Notes what a gate puts in the model's place. */
function noting<R>(instead: { response?: LlmResponse }, init: LlmCallInit<R>): LlmCallInit<R> {
  const { standIn, standInChunks } = init
  const note = (message: LlmResponse) => {
    instead.response = message
    return message
  }
  return {
    ...init,
    ...(standIn && { standIn: (message: LlmResponse, given?: unknown) => standIn(note(message), given) }),
    ...(standInChunks && {
      standInChunks: (message: LlmResponse, given?: unknown) => standInChunks(note(message), given),
    }),
  }
}
