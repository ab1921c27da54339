import type { CompactResult, LlmCallInit } from '../../dispatcher/index.ts'
import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { jsonIn } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import { abortedBy } from '../../wire/hold-stream.ts'
import type { ModelServer } from '../../wire/model-server.ts'
import { asList, asObject, asText } from '../../wire/reading.ts'
import { type BackgroundCall, BackgroundReply } from '../background-replies.ts'
import { assertSent } from '../gate-request.ts'
import { currentCalls, type SafeCalls } from '../safe/calls.ts'
import type { SafeModelCall } from '../safe/model-call.ts'
import type { SafeOperation } from '../safe/operation.ts'
import { standInMessage } from '../stand-in-message.ts'
import { warnOnce } from '../warn-once.ts'
import { whenGone } from '../when-gone.ts'
import type { WatchedCall } from './api-promise.ts'
import {
  type ClientKind,
  mendOf,
  type ObservedApi,
  type ObservedMaker,
  type RequestOptions,
  type ResponseProps,
} from './client.ts'
import { GateReply, keptProps } from './gate-reply.ts'
import { hostedTools } from './hosted-tools.ts'

const INPUTS = ['messages', 'input', 'prompt'] as const

/** Where in its request a run around one call has its input: in the first that there is. */
export function inputKeyOf(request: LlmRequest): (typeof INPUTS)[number] | undefined {
  return INPUTS.find((key) => (request[key] ?? undefined) !== undefined)
}

/** Operations that were made for a single call, to end when nobody can read its stream any more. */
const ofOneCall = new WeakMap<SafeCalls, SafeOperation>()

export function endsUnread(operation: SafeOperation): SafeOperation {
  ofOneCall.set(operation, operation)
  return operation
}

type Send = (options: RequestOptions) => Promise<ResponseProps>

/**
 * One call of the client, which comes in two halves: `send` asks for the response, `settle` is given what the
 * client reads from it. Between the two halves it is one model call of an operation.
 */
export class ObservedCall implements WatchedCall {
  readonly #kind: ClientKind
  readonly #api: ObservedApi
  readonly #server: ModelServer
  #maker: ObservedMaker | undefined
  #call: SafeModelCall | undefined
  #compaction: PromiseWithResolvers<CompactResult> | undefined
  #options: RequestOptions = {}
  #abandon: (() => void) | undefined
  /** Of a request whose reply may be made in the background. */
  #made: Omit<BackgroundCall, 'gated'> | undefined
  #gated = false
  #gateReply: GateReply | undefined
  #stream = false
  #parsing = false
  #read = false
  #stoodIn = false

  constructor(kind: ClientKind, api: ObservedApi, server: ModelServer, maker: ObservedMaker) {
    this.#kind = kind
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
    const body = asObject(options.body) ?? asObject(jsonIn(asText(options.body) ?? '')) ?? {}
    this.#stream = body.stream === true
    this.#options = options
    const model = typeof body.model === 'string' && body.model !== '' ? body.model : 'unknown'
    const { format, operationName, compacts } = this.#api
    // Field by field: each part that is spread into it would cost as much as the call's own bracket.
    const init: { -readonly [K in keyof LlmCallInit]: LlmCallInit[K] } = {
      ...this.#server,
      model,
      request: body,
    }
    // No message can stand in for vectors.
    if (operationName === 'embeddings') init.read = (reply) => format.read(asObject(reply) ?? {})
    else init.standIn = (message, given) => this.#replace(message, body, given)
    if (this.#stream || body.background === true)
      init.standInChunks = (message, given) => new GateReply(format, body, message, given).chunks()
    if (operationName !== undefined) init.operationName = operationName
    const send = async (calls: SafeCalls) => {
      this.#assertInReach(calls, body)
      const own = ofOneCall.get(calls)
      this.#abandon = own && (() => own.abandon())
      const admitted = own && (await bodyAdmitted(own, body))
      if (admitted !== undefined) init.request = admitted
      const given = admitted === undefined ? options : { ...options, body: admitted }
      return compacts ? this.#compact(calls, init, given, request) : this.#ask(calls, init, given, request)
    }
    const calls = maker(body, options.signal)
    if (!(calls instanceof Promise)) return send(calls)
    return calls.then(send, (error) => abortedByCaller(error, options, request))
  }

  /** Before anything is sent: a provider asks nobody about the tools that it runs. */
  #assertInReach(calls: SafeCalls, body: LlmRequest): void {
    try {
      calls.assertInReach(hostedTools(this.#api.format, body))
    } catch (error) {
      void ofOneCall.get(calls)?.fail(error)
      throw error
    }
  }

  #replace(message: LlmResponse, body: LlmRequest, given: unknown): unknown {
    this.#gateReply = new GateReply(this.#api.format, body, message, given)
    return this.#stream ? standInMessage(message) : this.#gateReply.body
  }

  #ask(calls: SafeCalls, init: LlmCallInit, options: RequestOptions, request: Send): Promise<ResponseProps> {
    const call = calls.openLlmCall<unknown>(init)
    this.#call = call
    const { format } = this.#api
    const own = ofOneCall.get(calls)
    if (!this.#stream && format.unmade !== undefined) {
      this.#made = { format, init, call, end: own && (() => void own.complete()) }
    }
    return this.#sent(call, init, options, request)
  }

  /** The model is called in the compaction, which ends when its reply is read. */
  #compact(
    calls: SafeCalls,
    init: LlmCallInit,
    options: RequestOptions,
    request: Send,
  ): Promise<ResponseProps> {
    const { input } = init.request
    const props = Promise.withResolvers<ResponseProps>()
    const compaction = Promise.withResolvers<CompactResult>()
    this.#compaction = compaction
    // Nobody waits for it where a gate refuses.
    compaction.promise.catch(() => {})
    calls
      // How many tokens it is about is known when the model has counted them.
      .openCompaction({ messageCount: Array.isArray(input) ? input.length : 1, tokenCount: 0 })
      .run(() => {
        this.#ask(currentCalls() ?? calls, init, options, request).then(props.resolve, (error) => {
          compaction.reject(error)
          props.reject(error)
        })
        return compaction.promise
      })
      .then(
        // Only where a gate answered: it has nothing that the client could read.
        () => props.reject(new HookspanError('CALL_DENIED', 'A gate skipped the compaction.')),
        props.reject,
      )
    return props.promise
  }

  #compacted(reply: unknown): void {
    const { response, usage } = this.#api.format.read(asObject(reply) ?? {})
    this.#compaction?.resolve({
      messagesAfter: asList(asObject(reply)?.output).length,
      ...defined({
        groupId: response.id,
        tokensBefore: usage?.inputTokens,
        tokensAfter: usage?.outputTokens,
      }),
    })
  }

  async #sent(
    call: SafeModelCall,
    asked: LlmCallInit,
    options: RequestOptions,
    request: Send,
  ): Promise<ResponseProps> {
    let decided: Awaited<typeof call.decided>
    try {
      decided = await call.decided
    } catch (error) {
      return abortedByCaller(error, options, request)
    }
    if (decided.state === 'answered') {
      this.#stoodIn = true
      return (
        this.#gateReply?.props(options) ?? keptProps(this.#api.format, asked.request, decided.reply, options)
      )
    }
    this.#gated = decided.gated
    try {
      assertReadable(asked.request, decided.request)
      const changed = decided.request === asked.request ? options : { ...options, body: decided.request }
      const props = await call.run(() => request(withSignal(changed, decided.signal)))
      call.noteResponse(props.response)
      return props
    } catch (error) {
      // Of a run that is aborted, its reason is told, and not what the client makes of it; of a call, what it does.
      const reason = decided.signal?.aborted && !options.signal?.aborted ? decided.signal.reason : error
      call.fail(reason)
      throw reason
    }
  }

  parsing(): void {
    this.#parsing = true
  }

  /** The request is told of by another one. */
  leave(): void {
    this.#read = true
  }

  /** The client has read the reply, or begun to: a stream is watched from here on. */
  settle(value: unknown): unknown {
    if (this.#stoodIn) this.#compacted(value)
    if (this.#stoodIn || this.#read) return value
    const call = this.#call
    if (call === undefined) {
      warnOnce(
        `hookspan: a call of an observed ${this.#kind.name} client did not pass the place where it is watched, so it ` +
          `makes no hooks and no spans. ${mendOf(this.#kind)}`,
      )
      return value
    }
    this.#read = true
    if (this.#stream && this.#abandon !== undefined) whenGone(value as object, this.#abandon)
    if (this.#gated && this.#stream) abortedBy(value, this.#options.signal)
    const made = this.#made
    this.#letGo()
    if (this.#goesOn(made, value)) return value
    const reply = call.settle(value)
    if (this.#compaction !== undefined) {
      Promise.resolve(reply).then((given) => this.#compacted(given), this.#compaction.reject)
    }
    return reply
  }

  /** Whether the reply is not there yet, and its call is not over. */
  #goesOn(made: Omit<BackgroundCall, 'gated'> | undefined, answer: unknown): boolean {
    return made !== undefined && BackgroundReply.begins(answer, { ...made, gated: this.#gated })
  }

  /** The client could not make the request, or not read the body. */
  fail(error: unknown): void {
    this.#call?.fail(error)
    this.#compaction?.reject(error)
    this.#letGo()
  }

  #letGo(): void {
    this.#call = undefined
    this.#made = undefined
    this.#abandon = undefined
    this.#options = {}
  }

  /**
   * The caller takes the response as it is. JSON is read from a copy; a stream is the caller's own affair.
   *
   * @throws HookspanError `CALL_DENIED` for a stream that a gate is to decide on, which cannot be read before it is shown.
   */
  async raw(response: Response): Promise<Response> {
    if (this.#parsing || this.#read || this.#stoodIn) return response
    const call = this.#call
    if (call === undefined) return response
    this.#read = true
    if (this.#gated && this.#stream) throw this.#unreadable(response)
    const options = this.#options
    const made = this.#made
    this.#letGo()
    if (!this.#stream) call.noteAnswered()
    const read: Promise<unknown> = this.#stream ? Promise.resolve({}) : response.clone().json()
    const told = read.then(
      (reply) => (this.#goesOn(made, reply) ? reply : call.settle(reply)),
      (error: unknown) => (this.#gated ? Promise.reject(error) : call.settle({})),
    )
    told.then(
      (reply) => this.#compacted(reply),
      (error) => this.#compaction?.reject(error),
    )
    if (!this.#gated) {
      // What is read beside the caller concerns nobody.
      told.catch(() => {})
      return response
    }
    try {
      await told
    } catch (error) {
      call.fail(error)
      throw error
    }
    return this.#gateReply === undefined ? response : this.#gateReply.props(options).response
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

/** The client reads the reply by what its caller has asked for, and by nothing else. */
function assertReadable(asked: LlmRequest, decided: LlmRequest): void {
  assertSent(asked, decided, {
    by: 'a call that is under way',
    isSent: (field) =>
      field === 'stream'
        ? (asked.stream === true) === (decided.stream === true)
        : field !== 'encoding_format',
    mend: () => 'The client reads the reply as its caller has asked for it: say it there.',
  })
}

/** Of a call that its caller has aborted the client tells in its own words, and sends nothing. */
function abortedByCaller(error: unknown, options: RequestOptions, request: Send): Promise<ResponseProps> {
  if (!options.signal?.aborted || error instanceof HookspanError) throw error
  return request(options)
}

function withSignal(options: RequestOptions, signal: AbortSignal | undefined): RequestOptions {
  // A signal that is made of a long-lived one is kept by it for as long as somebody listens, as the clients do.
  if (signal === undefined || signal === options.signal) return options
  return { ...options, signal: options.signal ? AbortSignal.any([options.signal, signal]) : signal }
}

/** The request with what `onStart` gates made of its input, in a run around this one call; undefined where they made nothing of it. */
async function bodyAdmitted(own: SafeOperation, body: LlmRequest): Promise<LlmRequest | undefined> {
  if (!own.decidesOnInput) return undefined
  const key = inputKeyOf(body)
  if (key === undefined) return undefined
  const admitted = await own.admit().catch(async (error: unknown) => {
    await own.fail(error)
    throw error
  })
  return admitted === body[key] ? undefined : { ...body, [key]: admitted }
}
