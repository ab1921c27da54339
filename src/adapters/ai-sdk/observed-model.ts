import type { LlmCallInit } from '../../dispatcher/index.ts'
import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { expected } from '../../internal/expect.ts'
import { canonicalJson } from '../../internal/json.ts'
import { abortedBy } from '../../wire/hold-stream.ts'
import { languageModel } from '../../wire/language-model.ts'
import type { Loose } from '../../wire/reading.ts'
import { rewritten } from '../../wire/rewrite.ts'
import { configuredServer } from '../configured-server.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'
import { assertAsked, assertValuesAsked } from './call-options.ts'
import { ModelStream } from './model-stream.ts'
import { providerName } from './provider-name.ts'
import type { SdkModel, SdkModelOptions, SdkStreamReply } from './sdk.ts'
import { noteSignal } from './time-up.ts'

/** Which run the proxy is for. */
const observed = new WeakMap<object, ObservedRun>()

/** Where the SDK looks for a model that is named by a text. */
interface ModelRegistry {
  readonly languageModel?: (id: string) => unknown
  readonly embeddingModel?: (id: string) => unknown
  readonly rerankingModel?: (id: string) => unknown
}

/** What belongs to this process, and is nothing that is asked of the model. */
const OURS = new Set(['abortSignal', 'headers', 'includeRawChunks'])

/**
 * The model, whose every request is a model call of the run. What is no model is left for the SDK to refuse.
 *
 * @throws what the SDK's registry throws for a name that it does not know.
 */
export function observeModel(
  model: unknown,
  run: ObservedRun,
  gateway: unknown,
  kind: keyof ModelRegistry = 'languageModel',
): unknown {
  const found = typeof model === 'string' ? lookUp(model, gateway, kind) : model
  if (typeof found !== 'object' || found === null || observed.get(found) === run) return found
  const own = new ObservedModel(found as SdkModel, run)
  // Not a proxy of the model itself: of one that is frozen, nothing else could be told than what it has.
  const proxy: object = new Proxy(Object.create(found) as object, {
    ownKeys: (shell) => [...new Set([...Reflect.ownKeys(found), ...Reflect.ownKeys(shell)])],
    getOwnPropertyDescriptor(shell, key) {
      if (Object.hasOwn(shell, key)) return Reflect.getOwnPropertyDescriptor(shell, key)
      const own = Reflect.getOwnPropertyDescriptor(found, key)
      return (
        own && {
          value: Reflect.get(proxy, key),
          configurable: true,
          writable: true,
          enumerable: own.enumerable ?? false,
        }
      )
    },
    set: (shell, key, value) =>
      Reflect.defineProperty(shell, key, { value, configurable: true, writable: true, enumerable: true }),
    get(shell, key) {
      // Put there by who instruments the SDK, as dd-trace does: it calls what it has found.
      if (Object.hasOwn(shell, key)) return Reflect.get(shell, key)
      const target = found
      if (key === 'doGenerate') return own.generate
      if (key === 'doStream') return own.stream
      if (key === 'doEmbed') return own.embed
      if (key === 'doRerank') return own.rerank
      // Models may keep private fields, which only they themselves can read.
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' && key !== 'constructor' ? value.bind(target) : value
    },
  })
  observed.set(proxy, run)
  return proxy
}

function lookUp(id: string, gateway: unknown, kind: keyof ModelRegistry): unknown {
  const provider = ((globalThis as { AI_SDK_DEFAULT_PROVIDER?: unknown }).AI_SDK_DEFAULT_PROVIDER ??
    gateway) as ModelRegistry | undefined
  if (typeof provider?.[kind] !== 'function') {
    throw expected('`model` to be a model, where neither AI_SDK_DEFAULT_PROVIDER nor `gateway` is known', id)
  }
  return provider[kind](id)
}

class ObservedModel {
  readonly #model: SdkModel
  readonly #run: ObservedRun

  constructor(model: SdkModel, run: ObservedRun) {
    this.#model = model
    this.#run = run
  }

  #init(options: SdkModelOptions): LlmCallInit {
    noteSignal(this.#run, options.abortSignal)
    const { modelId, provider } = this.#model
    const asked = Object.entries(options).filter(([key, value]) => !OURS.has(key) && value !== undefined)
    return {
      model: typeof modelId === 'string' && modelId !== '' ? modelId : 'unknown',
      ...configuredServer(this.#model, providerName(provider)),
      request: { modelId, ...Object.fromEntries(asked) },
    }
  }

  /** As it is sent, with what gates made of it. */
  #sent(
    options: SdkModelOptions,
    { modelId: _model, stream: _streamed, ...request }: LlmRequest,
  ): SdkModelOptions {
    const ours = Object.entries(options).filter(([key]) => OURS.has(key))
    return { ...request, ...Object.fromEntries(ours) }
  }

  #reply(message: LlmResponse, request: LlmRequest, given: unknown): Loose {
    const reply = rewritten(languageModel, given, message, request)
    // What was given has the model's version already.
    if (this.#model.specificationVersion !== 'v2' || typeof reply.finishReason === 'string') return reply
    const { unified } = reply.finishReason as { unified: string }
    return { ...reply, finishReason: unified, usage: {} }
  }

  async #noted<T>(call: Promise<T>): Promise<T> {
    try {
      const reply = await call
      this.#run.failure = undefined
      return reply
    } catch (error) {
      this.#run.failure = { error }
      throw error
    }
  }

  readonly generate = async (options: SdkModelOptions): Promise<unknown> => {
    const init = this.#init(options)
    const standIn = (message: LlmResponse, given?: unknown): unknown =>
      this.#reply(message, init.request, given)
    const calls = await this.#run.calls()
    const ask = (request: LlmRequest) => {
      assertAsked(init.request, request)
      return this.#model.doGenerate?.(this.#sent(options, request))
    }
    return this.#noted(calls.llmCall({ ...init, standIn }, ask))
  }

  readonly embed = async (options: SdkModelOptions): Promise<unknown> => {
    const init = this.#init(options)
    const calls = await this.#run.calls()
    const read = (reply: unknown) => ({ response: {}, ...usageOf(reply) })
    const { values: given } = options
    const request = { ...init.request, input: given }
    const ask = (effective: LlmRequest) => {
      assertValuesAsked(request, effective)
      const { input, values = input, ...sent } = effective
      // By either name: of the SDK, and of what is asked of other clients.
      const isChanged = canonicalJson(values) !== canonicalJson(given)
      return this.#model.doEmbed?.(this.#sent(options, { ...sent, values: isChanged ? values : input }))
    }
    return this.#noted(calls.llmCall({ ...init, request, read, operationName: 'embeddings' }, ask))
  }

  readonly rerank = async (options: SdkModelOptions): Promise<unknown> => {
    const init = this.#init(options)
    const calls = await this.#run.calls()
    const read = () => ({ response: {} })
    const ask = (request: LlmRequest) => {
      assertValuesAsked(init.request, request)
      return this.#model.doRerank?.(this.#sent(options, request))
    }
    return this.#noted(calls.llmCall({ ...init, read, operationName: 'rerank' }, ask))
  }

  readonly stream = async (options: SdkModelOptions): Promise<SdkStreamReply> => {
    const init = this.#init(options)
    const events = (message: LlmResponse, given?: unknown) =>
      chunksOf(languageModel.events(this.#reply(message, init.request, given), init.request))
    const stream = new ModelStream(this.#run)
    const calls = await this.#run.calls()
    const asked = { ...init.request, stream: true }
    const ask = async (request: LlmRequest): Promise<unknown> => {
      assertAsked(asked, request)
      const reply = await this.#model.doStream?.(this.#sent(options, request))
      return abortedBy(stream.from(reply as SdkStreamReply), options.abortSignal)
    }
    const chunks = await this.#noted(
      calls.llmCall<unknown>({ ...init, request: asked, standIn: events, standInChunks: events }, ask),
    )
    return { ...stream.rest, stream: stream.to(chunks as AsyncIterable<unknown>) }
  }
}

async function* chunksOf(events: readonly Loose[]): AsyncGenerator<Loose> {
  yield* events
}

function usageOf(reply: unknown): { usage?: { inputTokens: number; outputTokens: number } } {
  const tokens = (reply as { usage?: { tokens?: unknown } } | undefined)?.usage?.tokens
  return typeof tokens === 'number' && tokens >= 0 ? { usage: { inputTokens: tokens, outputTokens: 0 } } : {}
}
