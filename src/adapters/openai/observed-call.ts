import type { CallMaker } from '../../dispatcher/index.ts'
import type { LlmRequest } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { currentModelCall, type ModelCallMark, noteScripted } from '../../internal/live-calls.ts'
import type { ModelServer } from '../../internal/llm/provider.ts'
import { asObject } from '../../internal/llm/reading.ts'
import { isStream } from '../../internal/llm/watch-stream.ts'
import { type RequestOptions, type ResponseProps, warnOnce } from './client.ts'
import { type ModelApiName, StandIn } from './stand-in.ts'

interface ObservedCallInit {
  readonly api: ModelApiName
  readonly server: ModelServer
  /** Told once the request is about to be made: where in which operation the call belongs. */
  readonly calls: (request: LlmRequest) => CallMaker
}

/**
 * One call of the client, which comes in two halves: `send` asks for the response, `settle` is given what the
 * client reads from it. Between the two halves it is one model call of an operation.
 */
export class ObservedCall {
  readonly #init: ObservedCallInit
  readonly #reply = Promise.withResolvers<unknown>()
  /** What the operation makes of the reply: the same, unless a gate replaced it. */
  #outcome: Promise<unknown> | undefined
  #standIn: StandIn | undefined
  #mark: ModelCallMark | undefined
  #stream = false
  #parsing = false
  #read = false
  #stoodIn = false
  #gated = false
  #options: RequestOptions = {} as RequestOptions

  constructor(init: ObservedCallInit) {
    this.#init = init
    // Nobody waits for it where a gate answers before the request is made.
    this.#reply.promise.catch(() => {})
  }

  /** Makes the request as a model call: gates first, then the client, in the context of the call's span. */
  send(
    options: RequestOptions,
    request: (options: RequestOptions) => Promise<ResponseProps>,
  ): Promise<ResponseProps> {
    const body = asObject(options.body) ?? {}
    this.#stream = body.stream === true
    const response = Promise.withResolvers<ResponseProps>()
    const { api, server } = this.#init
    const model = typeof body.model === 'string' && body.model !== '' ? body.model : 'unknown'
    const outcome = this.#init.calls(body).llmCall<unknown>(
      {
        ...server,
        model,
        request: body,
        standIn: (message) => {
          this.#standIn = new StandIn(api, body, message)
          return this.#stream ? { response: message } : this.#standIn.body
        },
      },
      (effective, { signal, gated }) => {
        this.#gated = gated
        this.#options = options
        const changed = effective === body ? options : { ...options, body: effective }
        const mark = currentModelCall()
        this.#mark = mark
        request(withSignal(changed, signal)).then(
          (props) => {
            noteScripted(mark, props.response)
            response.resolve(props)
          },
          (error: unknown) => {
            this.#reply.reject(error)
            response.reject(error)
          },
        )
        return this.#reply.promise
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
    const outcome = this.#outcome
    if (outcome === undefined) {
      warnOnce(
        'hookspan: a call of an observed openai client did not pass the place where it is watched, so it makes no ' +
          'hooks and no spans. Use openai 6 or 7, or update hookspan.',
      )
      return value
    }
    if (this.#stoodIn || this.#read) return value
    this.#read = true
    this.#reply.resolve(value)
    return outcome.then((reply) => {
      // A gate replaced a stream after it was read: the client's own stream object gives the replacement.
      return this.#standIn !== undefined && isStream(value) ? this.#standIn.replaceStream(value) : reply
    })
  }

  /** The client could not read the body. */
  fail(error: unknown): void {
    this.#reply.reject(error)
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
    if (!this.#stream && this.#mark !== undefined) this.#mark.answered = true
    const read: Promise<unknown> = this.#stream ? Promise.resolve({}) : response.clone().json()
    read.then(this.#reply.resolve, this.#gated ? this.#reply.reject : () => this.#reply.resolve({}))
    if (!this.#gated) return response
    await this.#outcome
    return this.#standIn === undefined ? response : this.#standIn.props(this.#options).response
  }

  #unreadable(response: Response): HookspanError {
    const error = new HookspanError(
      'CALL_DENIED',
      'A gate decides on the reply, and a stream that is taken with asResponse() cannot be held back. Await the call instead.',
    )
    this.#reply.reject(error)
    response.body?.cancel().catch(() => {})
    return error
  }
}

function withSignal(options: RequestOptions, signal: AbortSignal | undefined): RequestOptions {
  if (signal === undefined) return options
  return { ...options, signal: options.signal ? AbortSignal.any([options.signal, signal]) : signal }
}
