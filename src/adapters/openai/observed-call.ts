import { type LlmCallRun, openLlmCall } from '../../dispatcher/calls/llm-call.ts'
import type { CallMaker, LlmCallInit } from '../../dispatcher/index.ts'
import type { CurrentPlace } from '../../dispatcher/run/current.ts'
import { currentModelCall, type ModelCallMark, noteScripted } from '../../dispatcher/run/live-calls.ts'
import type { LlmRequest } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import type { ModelServer } from '../../wire/model-server.ts'
import { asObject } from '../../wire/reading.ts'
import { isStream } from '../../wire/watch-stream.ts'
import { type RequestOptions, type ResponseProps, warnOnce } from './client.ts'
import { type ModelApiName, StandIn } from './stand-in.ts'

/** Where in which operation a call belongs. */
export interface ObservedMaker {
  /** Where the code runs that makes the call, if that is in an operation. */
  readonly place?: CurrentPlace
  /** Asked once the request is about to be made. */
  readonly calls: (request: LlmRequest) => CallMaker
}

type Send = (options: RequestOptions) => Promise<ResponseProps>

/**
 * One call of the client, which comes in two halves: `send` asks for the response, `settle` is given what the
 * client reads from it. Between the two halves it is one model call of an operation.
 */
export class ObservedCall {
  readonly #api: ModelApiName
  readonly #server: ModelServer
  #maker: ObservedMaker | undefined
  /** The call, where nothing comes between it and its reply. */
  #open: LlmCallRun<unknown> | undefined
  /** Else what the operation waits for, and what it makes of it: the same, unless a gate replaced it. */
  #reply: PromiseWithResolvers<unknown> | undefined
  #outcome: Promise<unknown> | undefined
  #mark: ModelCallMark | undefined
  #options: RequestOptions = {}
  #gated = false
  #standIn: StandIn | undefined
  #stream = false
  #parsing = false
  #read = false
  #stoodIn = false

  constructor(api: ModelApiName, server: ModelServer, maker: ObservedMaker) {
    this.#api = api
    this.#server = server
    this.#maker = maker
  }

  /** Makes the request as a model call: gates first, then the client, in the context of the call's span. */
  send(options: RequestOptions, request: Send): Promise<ResponseProps> {
    const maker = this.#maker
    // A client that asks once more for the same call goes on in it.
    if (maker === undefined) return request(options)
    // The client holds its options, and so this, for longer than the call: what the call holds is let go of.
    this.#maker = undefined
    const body = asObject(options.body) ?? {}
    this.#stream = body.stream === true
    this.#options = options
    const model = typeof body.model === 'string' && body.model !== '' ? body.model : 'unknown'
    const init = { ...this.#server, model, request: body }
    const { place } = maker
    this.#open = place && openLlmCall<unknown>(place.core, place.site, init)
    return this.#open === undefined
      ? this.#sendDecided(maker.calls(body), init, options, request)
      : this.#open.ask(() => request(options))
  }

  /** The same where gates, a signal or the end of the run may come between the call and its reply. */
  #sendDecided(
    calls: CallMaker,
    init: LlmCallInit,
    options: RequestOptions,
    request: Send,
  ): Promise<ResponseProps> {
    const body = init.request
    const response = Promise.withResolvers<ResponseProps>()
    const whole = Promise.withResolvers<unknown>()
    // Nobody waits for it where a gate answers before the request is made.
    whole.promise.catch(() => {})
    this.#reply = whole
    const outcome = calls.llmCall<unknown>(
      {
        ...init,
        standIn: (message) => {
          this.#standIn = new StandIn(this.#api, body, message)
          return this.#stream ? { response: message } : this.#standIn.body
        },
      },
      (effective, { signal, gated }) => {
        this.#gated = gated
        const changed = effective === body ? options : { ...options, body: effective }
        const mark = currentModelCall()
        this.#mark = mark
        request(withSignal(changed, signal)).then(
          (props) => {
            noteScripted(mark, props.response)
            response.resolve(props)
          },
          (error: unknown) => {
            whole.reject(error)
            response.reject(error)
          },
        )
        return whole.promise
      },
    )
    this.#outcome = outcome
    outcome.then(() => {
      if (this.#standIn === undefined || this.#read) return
      this.#stoodIn = true
      response.resolve(this.#standIn.props(options))
    }, response.reject)
    return response.promise
  }

  /** The caller wants the reply read, not just the response. */
  parsing(): void {
    this.#parsing = true
  }

  /** The client has read the reply, or begun to: a stream is watched from here on. */
  settle(value: unknown): unknown {
    if (this.#stoodIn || this.#read) return value
    const open = this.#open
    const outcome = this.#outcome
    if (open === undefined && outcome === undefined) {
      warnOnce(
        'hookspan: a call of an observed openai client did not pass the place where it is watched, so it makes no ' +
          'hooks and no spans. Use openai 6 or 7, or update hookspan.',
      )
      return value
    }
    this.#read = true
    this.#open = undefined
    this.#options = {}
    if (open !== undefined) return open.settle(value)
    this.#reply?.resolve(value)
    return outcome?.then((reply) => {
      // A gate replaced a stream after it was read: the client's own stream object gives the replacement.
      return this.#standIn !== undefined && isStream(value) ? this.#standIn.replaceStream(value) : reply
    })
  }

  /** The client could not make the request, or not read the body. */
  fail(error: unknown): void {
    this.#open?.fail(error)
    this.#open = undefined
    this.#reply?.reject(error)
  }

  /**
   * The caller takes the response as it is. JSON is read from a copy; a stream is the caller's own affair.
   *
   * @throws HookspanError `CALL_DENIED` for a stream that a gate is to decide on, which cannot be read before it is shown.
   */
  async raw(response: Response): Promise<Response> {
    if (this.#parsing || this.#read || this.#stoodIn) return response
    this.#read = true
    if (this.#gated && this.#stream) throw this.#unreadable(response)
    if (!this.#stream) this.#noteAnswered()
    const read: Promise<unknown> = this.#stream ? Promise.resolve({}) : response.clone().json()
    read.then(
      (reply) => this.#told(reply),
      (error: unknown) => (this.#gated ? this.fail(error) : this.#told({})),
    )
    if (!this.#gated) return response
    await this.#outcome
    return this.#standIn === undefined ? response : this.#standIn.props(this.#options).response
  }

  /** A run that ends before the copy is read does not cut the call off. */
  #noteAnswered(): void {
    const mark = this.#open?.mark ?? this.#mark
    if (mark !== undefined) mark.answered = true
  }

  #told(reply: unknown): void {
    this.#reply?.resolve(reply)
    // What a gate would make of it reaches nobody: the caller has the response.
    Promise.resolve(this.#open?.settle(reply)).catch(() => {})
    this.#open = undefined
  }

  #unreadable(response: Response): HookspanError {
    const error = new HookspanError(
      'CALL_DENIED',
      'A gate decides on the reply, and a stream that is taken with asResponse() cannot be held back. Await the call instead.',
    )
    this.fail(error)
    response.body?.cancel().catch(() => {})
    return error
  }
}

function withSignal(options: RequestOptions, signal: AbortSignal | undefined): RequestOptions {
  if (signal === undefined) return options
  return { ...options, signal: options.signal ? AbortSignal.any([options.signal, signal]) : signal }
}
