import type { ChainResult } from '../../gates/chain.ts'
import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { untilAborted } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { bufferStream } from '../../wire/buffer-stream.ts'
import { AnyCollector, readReply } from '../../wire/formats.ts'
import type { LlmReading } from '../../wire/reading.ts'
import { isStream, type StreamEnd, watchStream } from '../../wire/watch-stream.ts'
import type { DecidedPlace } from '../run/decided-place.ts'
import { noteScriptedReply } from '../run/live-calls.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import { invalidCall } from '../run/operation-init.ts'
import { admission } from './admission.ts'
import { decide } from './decide.ts'
import { assertLlmCallKeys, type LlmCallInit, type LlmFunction } from './llm-call-init.ts'
import { ToldLlmCall } from './told-llm-call.ts'

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
    return openedLlmCall(core, site, init, (call) => call.run(fn))
  } catch (error) {
    return Promise.reject(error)
  }
}

/** Opens the call once the run is admitted, at once where nothing has to be waited for. */
export function openedLlmCall<R>(
  core: OperationCore,
  site: CallSite,
  init: LlmCallInit<R>,
  go: (call: LlmCallRun<R>) => Promise<R>,
): Promise<R> {
  const waits = admission(core)
  const start = () => {
    core.assertRunning()
    return go(new LlmCallRun<R>(core, site, init))
  }
  return waits === undefined ? start() : waits.then(start)
}

/** @throws HookspanError `INVALID_CALL` when the call is malformed. */
export function assertCall(init: { readonly model: unknown } | undefined, fn: unknown): void {
  const model = init?.model
  if (typeof model !== 'string' || model === '') {
    throw invalidCall('model', 'a model call', 'a non-empty string', model)
  }
  if (typeof fn !== 'function')
    throw invalidCall('fn', 'a model call', 'the function that asks the model', fn)
  assertLlmCallKeys(init as object)
}

/** Whether nothing decides on a call, waits for it or may abort it. */
export function goesStraight(core: OperationCore): boolean {
  if (admission(core) !== undefined || core.ended || core.stop !== undefined) return false
  return core.signal === undefined && !core.decidesAt('beforeLlmCall') && !core.decidesAt('afterLlmCall')
}

export class LlmCallRun<R> extends ToldLlmCall<R> {
  #reader: AnyCollector | undefined

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

  /** The model has answered. Gives what the caller gets: the same, unless a gate has its say. */
  settle(reply: R): R | Promise<R> {
    return this.core.decidesAt('afterLlmCall') ? this.#gate(reply) : this.#close(reply)
  }

  protected readSoFar(): LlmReading | undefined {
    return this.#reader?.read()
  }

  #close(reply: R): R {
    if (isStream(reply)) return this.#watch(reply)
    this.succeed(this.#read(reply))
    return reply
  }

  async #gate(reply: R): Promise<R> {
    return this.#close(
      isStream(reply) ? await this.#gateStream(reply) : await this.#gated(reply, this.#read(reply)),
    )
  }

  /** What a gate puts in the model's place, if one does. */
  async #decide(): Promise<{ reply: R } | undefined> {
    const decided = await decide(this.core, 'beforeLlmCall', this.request, this.#where())
    this.core.assertOpen(this)
    if (decided?.kind === 'proceed') this.request = decided.payload as LlmRequest
    this.announce()
    return this.#standIn(decided)
  }

  /** A gate on the reply has to see all of it first: nothing of a stream is shown before the decision. */
  async #gateStream(stream: AsyncIterable<unknown> & R): Promise<R> {
    const { stream: replay, chunks } = await bufferStream(stream)
    const reader = new AnyCollector()
    for (const chunk of chunks) this.#push(reader, chunk)
    return this.#gated(replay, reader.read())
  }

  async #gated(reply: R, reading: LlmReading): Promise<R> {
    const decided = await decide(this.core, 'afterLlmCall', reading.response, this.#where())
    if (decided?.kind === 'proceed' && !decided.changed) return reply
    this.spent = reading
    if (decided?.kind === 'proceed') {
      return this.#make(decided.payload as LlmResponse, 'afterLlmCall gate changed the reply')
    }
    return this.#standIn(decided)?.reply ?? reply
  }

  #where(): DecidedPlace {
    const { traced, gates, provider, callKey } = this
    const { model } = this.init
    return { call: this, traced, gates, stepIndex: this.site.stepIndex, model, provider, callKey }
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

  #push(reader: AnyCollector, chunk: unknown): void {
    try {
      reader.push(chunk)
    } catch (error) {
      this.#unreadable(error)
    }
  }

  /** Not understanding a reply is no failure of the call. */
  #unreadable(error: unknown): void {
    this.core.reportFailure('llmCall.read', error)
  }

  #watch(stream: AsyncIterable<unknown> & R): R {
    const reader = new AnyCollector()
    this.#reader = reader
    const onChunk = (chunk: unknown) => {
      this.firstChunkMs ??= this.elapsedMs
      this.#push(reader, chunk)
    }
    const onEnd = (end: StreamEnd) => {
      if (end.kind === 'failed') this.fail(end.error)
      else this.succeed(reader.read(), end.kind === 'finished' && !reader.ended ? 'cut' : end.kind)
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
