import type { HookDispatcher, LlmCallInit } from '../../dispatcher/index.ts'
import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { defined } from '../../internal/objects.ts'
import { generateContent } from '../../wire/generate-content.ts'
import { abortedBy } from '../../wire/hold-stream.ts'
import { modelServer } from '../../wire/model-server.ts'
import { asObject, type Loose } from '../../wire/reading.ts'
import { rewritten } from '../../wire/rewrite.ts'
import { isStream } from '../../wire/watch-stream.ts'
import { withEither } from '../either-signal.ts'
import { assertSentToGoogle } from '../gate-request.ts'
import { hostedTools } from '../generated-client/hosted-tools.ts'
import { currentCalls, type SafeCalls } from '../safe/calls.ts'
import { SdkLoop } from '../sdk-loop/sdk-loop.ts'
import { messageOf, standInMessage } from '../stand-in-message.ts'
import { isToldOf } from '../told-model-call.ts'
import type { ApiClient, HttpResponse, Models, Params } from './types.ts'

type Ask = (this: Models, params: Params) => Promise<unknown>

interface How {
  readonly dispatcher: HookDispatcher
  readonly streams: boolean
  readonly provider: string | undefined
}

/** Makes one request a model call: of the loop, or of where the code runs. */
export async function askModel(models: Models, params: Params, ask: Ask, how: How): Promise<unknown> {
  try {
    return await told(models, params, ask, how)
  } catch (error) {
    const { abortSignal } = params.config ?? {}
    if (!abortSignal?.aborted || error !== abortSignal.reason) throw error
    throw abortError()
  }
}

/** What the SDK throws: it sends with a signal of its own, which it aborts without a reason. */
export const abortError = () => new DOMException('This operation was aborted', 'AbortError')

async function told(models: Models, params: Params, ask: Ask, how: How): Promise<unknown> {
  const calls: SafeCalls | undefined = (await SdkLoop.current?.turn()) ?? currentCalls()
  // Whoever makes a model call by hand has announced it already.
  if (calls === undefined || isToldOf(how.dispatcher)) return ask.call(models, params)
  calls.assertInReach(hostedTools(generateContent, params as object as Loose))
  let standIn: Loose | undefined
  const written = (message: LlmResponse, given: unknown) => {
    // What the SDK says of the HTTP response is nothing that was answered.
    const { sdkHttpResponse: _http, ...reply } = asObject(given) ?? {}
    return rewritten(generateContent, reply, message, { model: params.model })
  }
  async function* chunksOf(message: LlmResponse, given: unknown) {
    const events = generateContent.events(written(message, given), {})
    yield* (await ask.call(answering(models, events), params)) as AsyncIterable<unknown>
  }
  const { abortSignal, httpOptions, ...config } = params.config ?? {}
  const request: LlmRequest = {
    contents: params.contents,
    ...(params.config && { config }),
    ...(how.streams && { stream: true }),
  }
  const init: LlmCallInit<unknown> = {
    ...serverOf(models.apiClient, how.provider),
    model: params.model,
    operationName: 'generate_content',
    request,
    standIn: (message: LlmResponse, given: unknown) => {
      if (how.streams) return standInMessage(message)
      standIn = written(message, given)
      return standIn
    },
    ...(how.streams && { standInChunks: chunksOf }),
  }
  let sends = false
  const reply = await calls.llmCall(init, (asked, { signal }) =>
    withEither(abortSignal, signal, (either) => {
      sends = true
      assertSentToGoogle(request, asked, KEPT)
      const sent = signal === undefined && asked === request ? params : changed(params, asked, either)
      const answer = ask.call(models, sent)
      return how.streams ? answer.then((stream) => abortedBy(stream, abortSignal, abortError)) : answer
    }),
  )
  if (how.streams && !isStream(reply)) {
    const chunks = generateContent.events(written(messageOf(reply), undefined), {})
    return ask.call(answering(models, chunks), params)
  }
  // What a durable run has kept of a reply is JSON of it.
  const there = standIn ?? (sends ? undefined : reply)
  if (there === undefined) return reply
  return ask.call(answering(models, isStream(there) ? there : [there]), params)
}

const KEPT = new Set(['httpOptions', 'abortSignal'])

/** Keys and headers are shown to nobody, and stay. */
function changed(params: Params, asked: LlmRequest, signal: AbortSignal | undefined): Params {
  const { httpOptions } = params.config ?? {}
  const config = { ...asObject(asked.config), ...defined({ httpOptions, abortSignal: signal }) }
  return { ...params, contents: asked.contents, config }
}

/** The same, with chunks of a reply, or all of it, that are there already: the SDK makes of it what it makes of any. */
function answering(models: Models, chunks: Iterable<unknown> | AsyncIterable<unknown>): Models {
  const response = (body: unknown): HttpResponse => ({ headers: {}, json: async () => structuredClone(body) })
  async function* stream() {
    for await (const chunk of chunks) yield response(chunk)
  }
  const apiClient: ApiClient = Object.create(models.apiClient, {
    request: { value: async () => (await stream().next()).value },
    requestStream: { value: async () => stream() },
  })
  return Object.create(models, { apiClient: { value: apiClient } })
}

export function serverOf(apiClient: ApiClient, provider: string | undefined) {
  const { provider: byUrl, ...address } = modelServer(apiClient.getBaseUrl?.())
  const own = apiClient.isVertexAI?.() === true ? 'gcp.vertex_ai' : 'gcp.gemini'
  return { ...address, provider: provider ?? (byUrl === 'openai' ? own : byUrl) }
}
