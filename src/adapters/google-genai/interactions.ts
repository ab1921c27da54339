import type { LlmCallInit } from '../../dispatcher/index.ts'
import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { defined } from '../../internal/objects.ts'
import { AnyCollector } from '../../wire/formats.ts'
import { abortedBy } from '../../wire/hold-stream.ts'
import { interactions } from '../../wire/interactions.ts'
import { asList, asName, asObject, asText, joined, type Loose } from '../../wire/reading.ts'
import { rewritten } from '../../wire/rewrite.ts'
import { isStream } from '../../wire/watch-stream.ts'
import { BackgroundReply } from '../background-replies.ts'
import { withEither } from '../either-signal.ts'
import { assertSent } from '../gate-request.ts'
import { hostedTools } from '../generated-client/hosted-tools.ts'
import type { ObserveOptions } from '../generated-client/options.ts'
import { currentCalls, type SafeCalls } from '../safe/calls.ts'
import { SdkLoop } from '../sdk-loop/sdk-loop.ts'
import { messageOf, standInMessage } from '../stand-in-message.ts'
import { isToldOf } from '../told-model-call.ts'
import { askInBackground, GoesOn, look, said } from './background.ts'
import { abortError, serverOf } from './model-call.ts'
import type { ApiClient, InteractionParams, Interactions, RequestOptions } from './types.ts'

/** Makes an interaction a model call: of the operation that is running, or of one of its own. */
export async function interact(
  create: Interactions['create'],
  apiClient: ApiClient,
  params: InteractionParams,
  given: RequestOptions | undefined,
  options: ObserveOptions,
): Promise<unknown> {
  const model = asName(params?.model) ?? asName(params?.agent)
  // Whoever makes a model call by hand has announced it already. What is no request is the SDK's to refuse.
  if (model === undefined || isToldOf(options.dispatcher)) return create(params, given)
  const server = { ...serverOf(apiClient, options.provider), model }
  const loop = await begin(params, options)
  const told = loop.input === params.input ? params : { ...params, input: loop.input }
  const call = new Interaction(create, apiClient, told, given, server)
  try {
    const reply = await loop.run(async () => call.ask(await loop.turn(), loop))
    if (reply instanceof GoesOn) return reply.interaction
    if (!isStream(reply)) {
      await loop.complete(said(reply))
      return reply
    }
    return call.streamOf(loop.ownsRun ? endingWith(reply, loop, given?.signal) : reply)
  } catch (error) {
    await loop.fail(error, given?.signal)
    throw error
  }
}

/** Watches one look at an interaction, if it is one that is made in the background. */
export function lookAt(
  get: NonNullable<Interactions['get']>,
  id: string,
  params: Loose | undefined,
  given: RequestOptions | undefined,
  options: ObserveOptions,
): Promise<unknown> {
  const reply = isToldOf(options.dispatcher) ? undefined : BackgroundReply.of(id)
  if (reply === undefined) return get(id, params, given)
  const begun = () => begin({}, options)
  return look(reply, () => get(id, params, given), params?.stream === true, begun)
}

/** What of a request no gate can change. */
const KEPT = ['model', 'agent', 'api_version', 'stream']

type Server = Pick<LlmCallInit, 'model' | 'provider' | 'serverAddress' | 'serverPort'>

class Interaction {
  readonly #create: Interactions['create']
  readonly #apiClient: ApiClient
  readonly #params: InteractionParams
  readonly #options: RequestOptions | undefined
  readonly #server: Server
  /** The class of the SDK's streams, once there is one. */
  #streams: object = ReadableStream.prototype

  constructor(
    create: Interactions['create'],
    apiClient: ApiClient,
    params: InteractionParams,
    options: RequestOptions | undefined,
    server: Server,
  ) {
    this.#create = create
    this.#apiClient = apiClient
    this.#params = params
    this.#options = options
    this.#server = server
  }

  async ask(calls: SafeCalls, loop: SdkLoop): Promise<unknown> {
    calls.assertInReach(hostedTools(interactions, this.#params))
    const { model: _model, api_version: _version, ...request } = this.#params
    const streams = request.stream === true
    const written = (response: LlmResponse, given: unknown) =>
      rewritten(interactions, given, response, { ...request, model: this.#server.model })
    const init: LlmCallInit<unknown> = {
      ...this.#server,
      operationName: 'generate_content',
      request,
      standIn: (message, given) =>
        streams ? standInMessage(message) : withOutput(written(message, given), message),
      ...(streams && {
        standInChunks: (message: LlmResponse, given: unknown) =>
          interactions.events(written(message, given), {}),
      }),
    }
    let sent: Promise<unknown> | undefined
    const send = (asked: LlmRequest, runs: AbortSignal | undefined) => {
      assertSent(request, asked, {
        by: "Google's client",
        isSent: (field) => !KEPT.includes(field),
        mend: () => 'It is set by who makes the call.',
      })
      const changed = asked === request ? this.#params : this.#changed(asked)
      return this.#within(runs, async (how) => {
        sent = this.#create(changed, how)
        const given = await sent
        return isStream(given) ? this.#chunksOf(given) : given
      })
    }
    const asking =
      !streams && request.background === true
        ? askInBackground(calls, init, send, loop)
        : calls.llmCall(init, (asked, { signal }) => send(asked, signal))
    const answer = await asking.catch((error: unknown) => this.#inTheSdksWords(error, sent))
    if (answer instanceof GoesOn) return answer
    return !streams || isStream(answer) ? answer : eventsOf(written(messageOf(answer), undefined))
  }

  /** What the SDK makes of the caller's abort, whose reason we have. It sends nothing that is aborted. */
  async #inTheSdksWords(error: unknown, sent: Promise<unknown> | undefined): Promise<unknown> {
    const { signal } = this.#options ?? {}
    if (!signal?.aborted || error !== signal.reason) throw error
    await (sent ?? this.#create(this.#params, this.#options))
    throw error
  }

  #changed(asked: LlmRequest): InteractionParams {
    const { model, agent, api_version } = this.#params
    return { ...asked, ...defined({ model, agent, api_version }) }
  }

  /** The run's own end ends the request, unless that has a timeout: with a signal the SDK leaves it out. */
  #within<T>(signal: AbortSignal | undefined, ask: (how?: RequestOptions) => Promise<T>): Promise<T> {
    const { signal: own, timeout_ms, timeout } = this.#options ?? {}
    const timed = timeout_ms ?? timeout ?? this.#apiClient.getTimeout?.()
    if (signal === undefined || (!own && timed !== undefined)) return ask(this.#options)
    return withEither(own ?? undefined, signal, (either) => ask({ ...this.#options, signal: either ?? null }))
  }

  #chunksOf(stream: AsyncIterable<unknown>): AsyncIterableIterator<unknown> {
    this.#streams = Object.getPrototypeOf(stream)
    const iterator = stream[Symbol.asyncIterator]()
    let reading: Promise<unknown> | undefined
    const chunks: AsyncIterableIterator<unknown> = {
      next() {
        const step = iterator.next()
        reading = step
        return step
      },
      return: async (value) => (await iterator.return?.(value)) ?? { done: true, value },
      [Symbol.asyncIterator]() {
        return this
      },
    }
    // The class of what the SDK throws is known by what it throws.
    const failure = () => Promise.resolve(reading).then(abortError, (error: unknown) => error)
    return abortedBy(chunks, this.#options?.signal, failure)
  }

  /** What the SDK gives: a `ReadableStream` of a class of its own, in which nothing is read before it is wanted. */
  streamOf(chunks: AsyncIterable<unknown>): ReadableStream<unknown> {
    const iterator = chunks[Symbol.asyncIterator]()
    const stream = new ReadableStream<unknown>(
      {
        async pull(controller) {
          const { done, value } = await iterator.next()
          if (done) controller.close()
          else controller.enqueue(value)
        },
        cancel() {
          // Whoever leaves a stream does not wait for what is still on its way.
          iterator.return?.().catch(() => {})
        },
      },
      { highWaterMark: 0 },
    )
    return Object.setPrototypeOf(stream, this.#streams)
  }
}

function begin(params: InteractionParams, options: ObserveOptions): Promise<SdkLoop> {
  const { dispatcher, operation, operationOf, agentName } = options
  const { input, system_instruction: instructions } = params
  const place = operation ?? (currentCalls(dispatcher) === undefined ? operationOf?.(params) : undefined)
  return SdkLoop.begin({
    dispatcher,
    operation: place,
    instruction: saidIn(input),
    ...defined({ input, agentName, instructions: asName(instructions) }),
  })
}

/** The text of an input: of contents, or of the last of its steps. */
function saidIn(input: unknown): string {
  const last = asObject(asList(input).at(-1) ?? input)
  const contents =
    last?.content === undefined ? (Array.isArray(input) ? input : [input]) : asList(last.content)
  return joined(contents.map((item) => asText(item) ?? asText(asObject(item)?.text))) ?? ''
}

async function* eventsOf(reply: Loose): AsyncGenerator<unknown> {
  yield* interactions.events(reply, {})
}

/** As the SDK tells of a reply what it said, beside its steps. */
function withOutput(reply: Loose, { content }: LlmResponse): Loose {
  return { ...reply, ...(content !== undefined && content !== '' && { output_text: content }) }
}

/** The run of the call ends with its stream. */
function endingWith(
  chunks: AsyncIterable<unknown>,
  loop: SdkLoop,
  signal: RequestOptions['signal'],
): AsyncIterableIterator<unknown> {
  const iterator = chunks[Symbol.asyncIterator]()
  const collector = new AnyCollector()
  return {
    async next() {
      try {
        const step = await loop.run(() => iterator.next())
        if (step.done) await loop.complete(defined({ content: collector.read().response.content }))
        else collector.push(step.value)
        return step
      } catch (error) {
        await loop.fail(error, signal)
        throw error
      }
    },
    async return(value) {
      await iterator.return?.(value)
      await loop.complete({})
      return { done: true, value }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
