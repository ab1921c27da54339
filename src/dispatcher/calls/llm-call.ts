import type { ChainResult } from '../../gates/chain.ts'
import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { untilAborted } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { bufferStream } from '../../wire/buffer-stream.ts'
import { AnyChunkReader, readReply } from '../../wire/formats.ts'
import type { LlmReading } from '../../wire/reading.ts'
import { isStream, type StreamEnd, watchStream } from '../../wire/watch-stream.ts'
import type { DecideOptions } from '../run/decide.ts'
import { noteScriptedReply } from '../run/live-calls.ts'
import { type CallSite, effectiveRequest, type OperationCore } from '../run/operation-core.ts'
import { invalidCall } from '../run/operation-init.ts'
import { OpenLlmCall } from './told-llm-call.ts'

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
export function runLlmCall<R>(
  core: OperationCore,
  site: CallSite,
  init: LlmCallInit<R>,
  fn: LlmFunction<R>,
): Promise<R> {
  try {
    assertCall(init, fn)
    const { admission } = core
    const start = () => {
      core.assertRunning()
      return new LlmCallRun<R>(core, site, init).run(fn)
    }
    return admission === undefined ? start() : admission.then(start)
  } catch (error) {
    return Promise.reject(error)
  }
}

function assertCall(init: { readonly model: unknown } | undefined, fn: unknown): void {
  const model = init?.model
  if (typeof model !== 'string' || model === '') {
    throw invalidCall('model', 'a model call', 'a non-empty string', model)
  }
  if (typeof fn !== 'function')
    throw invalidCall('fn', 'a model call', 'the function that asks the model', fn)
}

/**
 * Opens a model call whose maker hands in the reply later. Undefined where something decides, waits or may abort:
 * such a call takes {@link runLlmCall}.
 */
export function openLlmCall<R>(
  core: OperationCore,
  site: CallSite,
  init: LlmCallInit<R>,
): LlmCallRun<R> | undefined {
  const waits = core.admission !== undefined || core.ended || core.stop !== undefined
  if (waits || core.signal !== undefined) return undefined
  if (core.decidesAt('beforeLlmCall') || core.decidesAt('afterLlmCall')) return undefined
  return new LlmCallRun<R>(core, site, init)
}

export class LlmCallRun<R> extends OpenLlmCall<R> {
  #reader: AnyChunkReader | undefined

  async run(fn: LlmFunction<R>): Promise<R> {
    try {
      const { core } = this
      const standIn = core.decidesAt('beforeLlmCall') ? await this.#decide() : this.announce()
      if (standIn !== undefined) return this.#close(standIn.reply)
      core.assertRunning()
      const { signal } = core
      signal?.throwIfAborted()
      const { traceparent } = this.traced
      const gated = core.decidesAt('afterLlmCall')
      const asked = this.enter(() => fn(this.request, { signal, traceparent, gated }))
      noteScriptedReply(this.mark, asked)
      const reply = await (signal === undefined ? asked : untilAborted(Promise.resolve(asked), signal))
      return await this.settle(reply)
    } catch (error) {
      this.fail(error)
      throw error
    }
  }

  /** Makes the request, for a maker that hands the reply to {@link settle}. */
  async ask<T extends { readonly response: unknown }>(fn: () => Promise<T>): Promise<T> {
    try {
      this.announce()
      this.core.assertRunning()
      const answer = await this.enter(fn)
      this.noteResponse(answer.response)
      return answer
    } catch (error) {
      this.fail(error)
      throw error
    }
  }

  /** The model has answered. Gives what the caller gets: the same, unless a gate has its say. */
  settle(reply: R): R | Promise<R> {
    return this.core.decidesAt('afterLlmCall') ? this.#gate(reply) : this.#close(reply)
  }

  protected readSoFar(): LlmReading | undefined {
    return this.#reader?.read()
  }

  #close(reply: R): R {
    if (isStream(reply)) return this.#watch(reply)
    if (this.core.untrack(this)) this.succeed(this.#read(reply))
    return reply
  }

  async #gate(reply: R): Promise<R> {
    return this.#close(
      isStream(reply) ? await this.#gateStream(reply) : await this.#gated(reply, this.#read(reply)),
    )
  }

  /** What a gate puts in the model's place, if one does. */
  async #decide(): Promise<{ reply: R } | undefined> {
    const decided = await this.core.decide('beforeLlmCall', this.request, this.#where())
    this.request = effectiveRequest(decided, this.request)
    this.announce()
    return this.#standIn(decided)
  }

  /** A gate on the reply has to see all of it first: nothing of a stream is shown before the decision. */
  async #gateStream(stream: AsyncIterable<unknown> & R): Promise<R> {
    const { stream: replay, chunks } = await bufferStream(stream)
    const reader = new AnyChunkReader()
    for (const chunk of chunks) this.#push(reader, chunk)
    return this.#gated(replay, reader.read())
  }

  async #gated(reply: R, reading: LlmReading): Promise<R> {
    const decided = await this.core.decide('afterLlmCall', reading.response, this.#where())
    if (decided?.kind === 'proceed' && !decided.changed) return reply
    this.spent = reading
    if (decided?.kind === 'proceed') {
      return this.#make(decided.payload as LlmResponse, 'afterLlmCall gate changed the reply')
    }
    return this.#standIn(decided)?.reply ?? reply
  }

  #where(): DecideOptions {
    const { traced, provider, callKey } = this
    return { traced, stepIndex: this.site.stepIndex, model: this.init.model, provider, callKey }
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
    const { standIn } = this.init
    if (standIn !== undefined) return standIn(message)
    throw new HookspanError(
      'CALL_DENIED',
      `Model call "${this.init.model}": ${why}, and nothing can stand in. Give llmCall a \`standIn\` function.`,
    )
  }

  #read(reply: R): LlmReading {
    try {
      return this.init.read?.(reply) ?? readReply(reply)
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
    const { host, info } = this.core
    const { operationId } = info
    host.reporter.failure({ kind: 'failed', hookId: 'llmCall.read', operationId, error })
  }

  #watch(stream: AsyncIterable<unknown> & R): R {
    const reader = new AnyChunkReader()
    this.#reader = reader
    const onChunk = (chunk: unknown) => {
      this.firstChunkMs ??= this.elapsedMs
      this.#push(reader, chunk)
    }
    const onEnd = (end: StreamEnd) => {
      if (end.kind === 'failed') this.fail(end.error)
      else if (this.core.untrack(this)) this.succeed(reader.read(), end.kind)
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
}
