import type { ChainResult } from '../gates/chain.ts'
import type { LlmRequest, LlmResponse } from '../hooks/index.ts'
import { untilAborted } from '../internal/async.ts'
import { errorMessage, errorType, HookspanError } from '../internal/errors.ts'
import { type ModelCallMark, noteScripted, noteScriptedReply, runModelCall } from '../internal/live-calls.ts'
import { bufferStream } from '../internal/llm/buffer-stream.ts'
import { AnyChunkReader, readReply } from '../internal/llm/read-reply.ts'
import type { LlmReading } from '../internal/llm/reading.ts'
import { isStream, type StreamEnd, watchStream } from '../internal/llm/watch-stream.ts'
import { type CallSite, effectiveRequest, type OperationCore } from './operation-core.ts'
import type { DecideOptions } from './operation-gates.ts'
import { invalidCall } from './operation-init.ts'
import type { Scopes } from './scopes.ts'

/** A model call that a runtime is about to make. */
export interface LlmCallInit<R = unknown> {
  model: string
  /** An OpenTelemetry GenAI provider name: `openai`, `anthropic`, `gcp.gemini`, ... @default 'openai' */
  provider?: string
  /** As it is sent: messages or input, tools, sampling. */
  request: LlmRequest
  serverAddress?: string
  serverPort?: number
  /** Understands the reply where its shape is not one of those known (chat completions, responses, Anthropic). */
  read?: (reply: R) => LlmReading
  /** Makes a reply out of a message that a gate put in the model's place. Without it such a gate's answer throws. */
  standIn?: (message: LlmResponse) => R
}

export type LlmFunction<R> = (
  request: LlmRequest,
  context: {
    signal: AbortSignal | undefined
    traceparent: string | undefined
    /** Whether a gate decides on the reply: until it has, nobody may be shown anything of it. */
    gated: boolean
  },
) => R | PromiseLike<R>

/**
 * One model call. Gives what `fn` gives, the same object, and throws what it throws. The call of a stream ends
 * when the stream is read to its end, fails, or is abandoned.
 *
 * @throws HookspanError `CALL_DENIED` when a gate refused it and nothing can stand in.
 */
export async function runLlmCall<R>(
  core: OperationCore,
  site: CallSite,
  init: LlmCallInit<R>,
  fn: LlmFunction<R>,
): Promise<R> {
  const model: unknown = init?.model
  if (typeof model !== 'string' || model === '') {
    throw invalidCall('model', 'a model call', 'a non-empty string', model)
  }
  if (typeof fn !== 'function')
    throw invalidCall('fn', 'a model call', 'the function that asks the model', fn)
  if (core.admission !== undefined) await core.admission
  core.assertRunning()
  return new LlmCallRun<R>(core, site, init).run(fn)
}

class LlmCallRun<R> {
  readonly #core: OperationCore
  readonly #site: CallSite
  readonly #init: LlmCallInit<R>
  readonly #callKey: string
  readonly #scopes: Scopes
  readonly #startedAt = performance.now()
  readonly #untrack: () => boolean
  readonly #mark: ModelCallMark
  #request: LlmRequest
  #firstChunkMs: number | undefined
  #reader: AnyChunkReader | undefined
  /** What the model itself gave, where a gate put something else in its place: it is paid for all the same. */
  #spent: LlmReading | undefined

  constructor(core: OperationCore, site: CallSite, init: LlmCallInit<R>) {
    this.#core = core
    this.#site = site
    this.#init = init
    this.#request = init.request
    this.#mark = { model: init.model, scripted: false }
    this.#callKey = core.nextCallKey()
    const { model, provider = 'openai', request, serverAddress, serverPort } = init
    this.#scopes = core.open(site, {
      kind: 'llm',
      callKey: this.#callKey,
      model,
      provider,
      request,
      ...(serverAddress !== undefined && { serverAddress }),
      ...(serverPort !== undefined && { serverPort }),
    })
    this.#untrack = core.track((reason) => {
      if (this.#reader !== undefined) this.#succeed(this.#reader.read(), 'abandoned')
      else if (this.#mark.answered) this.#succeed({ response: {} })
      else this.#fail(new DOMException(`The run ended (${reason}) during the model call.`, 'AbortError'))
    })
  }

  async run(fn: LlmFunction<R>): Promise<R> {
    try {
      const reply = await this.#reply(fn)
      if (isStream(reply)) return this.#watch(reply)
      if (this.#untrack()) this.#succeed(this.#read(reply))
      return reply
    } catch (error) {
      if (this.#untrack()) this.#fail(error)
      throw error
    }
  }

  async #reply(fn: LlmFunction<R>): Promise<R> {
    const core = this.#core
    const standIn = core.decidesAt('beforeLlmCall') ? await this.#decide() : this.#announce()
    if (standIn !== undefined) return standIn.reply
    core.assertRunning()
    const { signal } = core
    signal?.throwIfAborted()
    const { traceparent } = this.#scopes
    const gated = core.decidesAt('afterLlmCall')
    const asked = this.#scopes.run(() =>
      runModelCall(this.#mark, () => fn(this.#request, { signal, traceparent, gated })),
    )
    noteScriptedReply(this.#mark, asked)
    const reply = await (signal === undefined ? asked : untilAborted(Promise.resolve(asked), signal))
    if (!core.decidesAt('afterLlmCall')) return reply
    return isStream(reply) ? this.#gateStream(reply) : this.#gated(reply, this.#read(reply))
  }

  /** What a gate puts in the model's place, if one does. */
  async #decide(): Promise<{ reply: R } | undefined> {
    const decided = await this.#core.decide('beforeLlmCall', this.#request, this.#where())
    this.#request = effectiveRequest(decided, this.#request)
    this.#announce()
    return this.#standIn(decided)
  }

  #announce(): undefined {
    if (!this.#core.skipUnheard('beforeLlmCall')) this.#core.emit('beforeLlmCall', this.#told())
  }

  /** A gate on the reply has to see all of it first: nothing of a stream is shown before the decision. */
  async #gateStream(stream: AsyncIterable<unknown> & R): Promise<R> {
    const { stream: replay, chunks } = await bufferStream(stream)
    const reader = new AnyChunkReader()
    for (const chunk of chunks) this.#push(reader, chunk)
    return this.#gated(replay, reader.read())
  }

  async #gated(reply: R, reading: LlmReading): Promise<R> {
    const decided = await this.#core.decide('afterLlmCall', reading.response, this.#where())
    if (decided?.kind === 'proceed' && !decided.changed) return reply
    this.#spent = reading
    if (decided?.kind === 'proceed') {
      return this.#make(decided.payload as LlmResponse, 'afterLlmCall gate changed the reply')
    }
    return this.#standIn(decided)?.reply ?? reply
  }

  #where(): DecideOptions {
    const { model, provider = 'openai' } = this.#init
    const { stepIndex } = this.#site
    return { scopes: this.#scopes, stepIndex, model, provider, callKey: this.#callKey }
  }

  /** What a gate puts in the model's place. */
  #standIn(decided: ChainResult | undefined): { reply: R } | undefined {
    if (decided === undefined || decided.kind === 'proceed' || decided.kind === 'wait') return undefined
    if (decided.kind === 'skip') {
      const message =
        typeof decided.result === 'string' ? { content: decided.result } : (decided.result as LlmResponse)
      return { reply: this.#make(message ?? { content: '' }, 'a gate skipped the model call') }
    }
    return { reply: this.#make({ content: decided.reason }, `denied (${decided.code}): ${decided.reason}`) }
  }

  #make(message: LlmResponse, why: string): R {
    const { standIn } = this.#init
    if (standIn !== undefined) return standIn(message)
    throw new HookspanError(
      'CALL_DENIED',
      `Model call "${this.#init.model}": ${why}, and nothing can stand in. Give llmCall a \`standIn\` function.`,
    )
  }

  #read(reply: R): LlmReading {
    try {
      return this.#init.read?.(reply) ?? readReply(reply)
    } catch (error) {
      this.#unreadable(error)
      return { response: {} }
    }
  }

  #push(reader: AnyChunkReader, chunk: unknown): void {
    try {
      reader.push(chunk)
    } catch (error) {
      this.#unreadable(error)
    }
  }

  /** Not understanding a reply is no failure of the call. */
  #unreadable(error: unknown): void {
    const { host, info } = this.#core
    const { operationId } = info
    host.reporter.failure({ kind: 'failed', hookId: 'llmCall.read', operationId, error })
  }

  #watch(stream: AsyncIterable<unknown> & R): R {
    const reader = new AnyChunkReader()
    this.#reader = reader
    const onChunk = (chunk: unknown) => {
      this.#firstChunkMs ??= performance.now() - this.#startedAt
      this.#push(reader, chunk)
    }
    const onEnd = (end: StreamEnd) => {
      if (!this.#untrack()) return
      if (end.kind === 'failed') this.#fail(end.error)
      else this.#succeed(reader.read(), end.kind)
    }
    try {
      return watchStream(stream, { onChunk, onEnd })
    } catch (error) {
      // A frozen stream cannot be watched; its reader gets it all the same.
      this.#unreadable(error)
      onEnd({ kind: 'finished' })
      return stream
    }
  }

  #told() {
    const { model, provider = 'openai' } = this.#init
    const { stepIndex } = this.#site
    return {
      ...(stepIndex !== undefined && { stepIndex }),
      model,
      provider,
      request: this.#request,
      callKey: this.#callKey,
    }
  }

  #succeed(reading: LlmReading, streamEnd?: 'finished' | 'abandoned'): void {
    const { response } = reading
    const { usage, costUsd: told } = this.#spent ?? reading
    const { model, provider = 'openai' } = this.#init
    const costUsd = told ?? this.#core.priceOf(provider, response.model ?? model, usage)
    this.#core.addLlm(usage, costUsd)
    this.#site.noteLlm?.({
      content: response.content,
      reasoning: response.reasoning,
      toolCalls: response.toolCalls,
      usage,
      costUsd,
    })
    const shared = {
      response,
      ...(usage && { usage }),
      ...(costUsd !== undefined && { costUsd }),
      ...(this.#firstChunkMs !== undefined && { timeToFirstChunkMs: this.#firstChunkMs }),
      ...(streamEnd && { streamEnd }),
      ...this.#scripted(),
    }
    if (!this.#core.skipUnheard('afterLlmCall')) {
      this.#core.emit('afterLlmCall', {
        ...this.#told(),
        ...shared,
        executionTimeMs: performance.now() - this.#startedAt,
      })
    }
    this.#scopes.end({ ...shared, request: this.#request }, this.#core.timestamp)
  }

  #scripted(error?: unknown): { mocked: true } | undefined {
    noteScripted(this.#mark, error)
    if (!this.#mark.scripted) return undefined
    this.#scopes.annotate({ kind: 'mock', source: 'scripted' })
    return { mocked: true }
  }

  #fail(error: unknown): void {
    const { usage, costUsd } = this.#spent ?? {}
    this.#core.addLlm(
      usage,
      costUsd ?? this.#core.priceOf(this.#init.provider ?? 'openai', this.#init.model, usage),
    )
    const mocked = this.#scripted(error)
    this.#core.emit('onLlmCallError', {
      ...this.#told(),
      ...mocked,
      error,
      errorType: errorType(error),
      errorMessage: errorMessage(error),
      executionTimeMs: performance.now() - this.#startedAt,
    })
    const partial = this.#reader?.read()
    this.#scopes.end(
      {
        error,
        ...mocked,
        request: this.#request,
        ...(partial && { response: partial.response, ...(partial.usage && { usage: partial.usage }) }),
        ...(this.#firstChunkMs !== undefined && { timeToFirstChunkMs: this.#firstChunkMs }),
      },
      this.#core.timestamp,
    )
  }
}
