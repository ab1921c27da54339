import { type ChainResult, isRefusal } from '../../gates/chain.ts'
import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { untilAborted } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { expected } from '../../internal/expect.ts'
import { isRecord } from '../../internal/objects.ts'
import { bufferStream } from '../../wire/buffer-stream.ts'
import { AnyCollector, readReply } from '../../wire/formats.ts'
import { holdStream } from '../../wire/hold-stream.ts'
import type { LlmReading } from '../../wire/reading.ts'
import { isStream, type StreamEnd, watchStream } from '../../wire/watch-stream.ts'
import type { DecidedPlace } from '../run/decided-place.ts'
import { noteReply } from '../run/live-calls.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import { invalidCall } from '../run/operation-init.ts'
import { admission } from './admission.ts'
import { decide } from './decide.ts'
import { assertLlmCallKeys, type LlmCallInit, type LlmFunction } from './llm-call-init.ts'
import { isNoChat, ToldLlmCall } from './told-llm-call.ts'

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
export function assertCall<R>(init: LlmCallInit<R>, fn: unknown): void {
  const model: unknown = init?.model
  if (typeof model !== 'string' || model === '') {
    throw invalidCall('model', 'a model call', 'a non-empty string', model)
  }
  if (typeof fn !== 'function')
    throw invalidCall('fn', 'a model call', 'the function that asks the model', fn)
  assertLlmCallKeys(init)
}

/** Whether nothing decides on a call, waits for it or may abort it. */
export function goesStraight(core: OperationCore): boolean {
  if (admission(core) !== undefined || core.ended || core.stop !== undefined) return false
  return core.signal === undefined && !core.decidesAt('beforeLlmCall') && !core.decidesAt('afterLlmCall')
}

export class LlmCallRun<R> extends ToldLlmCall<R> {
  #reader: AnyCollector | undefined
  /** What a gate put in the place of a streamed reply. */
  #replaced: LlmReading | undefined

  async run(fn: LlmFunction<R>): Promise<R> {
    try {
      const { core } = this
      const standIn = core.decidesAt('beforeLlmCall') ? await this.#decide() : this.announce()
      if (standIn !== undefined) return this.#close(standIn.reply)
      core.assertRunning()
      const { signal } = core
      signal?.throwIfAborted()
      const { traceparent } = this.traced
      const gated = core.enforcesAt('afterLlmCall')
      const asked = this.enter(() => fn(this.request, { signal, traceparent, gated }))
      noteReply(this.mark, asked)
      const reply = await (signal === undefined ? asked : untilAborted(Promise.resolve(asked), signal))
      return await this.settle(reply)
    } catch (error) {
      this.fail(error)
      throw error
    }
  }

  /** The model has answered. Gives what the caller gets: the same, unless a gate has its say. */
  settle(reply: R): R | Promise<R> {
    this.replied = true
    return this.core.decidesAt('afterLlmCall') ? this.#gate(reply) : this.#close(reply)
  }

  noteAnswered(reply?: R): void {
    this.replied = true
    this.mark.answered = reply === undefined ? { response: {} } : this.#read(reply)
  }

  protected readSoFar(): LlmReading | undefined {
    return this.#replaced ?? this.#reader?.read()
  }

  #close(reply: R): R {
    if (isStream(reply)) return this.#watch(reply)
    this.succeed(this.#read(reply))
    return reply
  }

  async #gate(reply: R): Promise<R> {
    if (!isStream(reply)) return this.#close(await this.#gated(reply, this.#read(reply)))
    if (!this.core.enforcesAt('afterLlmCall')) return this.#gateWhenRead(reply, false)
    return this.init.standInChunks === undefined ? this.#gateWhole(reply) : this.#gateWhenRead(reply)
  }

  /** What a gate puts in the model's place, if one does. */
  async #decide(): Promise<{ reply: R } | undefined> {
    const decided = await decide(this.core, 'beforeLlmCall', this.request, this.#where())
    this.core.assertOpen(this)
    if (decided?.kind === 'proceed') this.request = decided.payload as LlmRequest
    this.announce()
    const message = decided?.kind === 'proceed' ? undefined : messageOf(decided)
    return message && { reply: this.#make(message, decided) }
  }

  /** The caller waits until all of the stream has come and is decided on, and then gets it, or what stands in. */
  async #gateWhole(stream: AsyncIterable<unknown> & R): Promise<R> {
    const reader = this.#newReader()
    const replay = await bufferStream(stream, (chunk) => this.#came(reader, chunk), this.core.signal)
    return this.#close(await this.#gated(replay, reader.read(), reader.reply()))
  }

  /**
   * The caller gets the stream at once. Its first read waits until all of it has come and is decided on; where what is decided
   * holds nothing back, its last one does.
   */
  #gateWhenRead(stream: AsyncIterable<unknown> & R, holds = true): R {
    const reader = this.#newReader()
    const held = holdStream(stream, {
      holds,
      onChunk: (chunk) => this.#came(reader, chunk),
      decide: () => this.#chunksInstead(reader),
      signal: this.core.signal,
    })
    return this.#watchEnd(held, reader, () => {})
  }

  /** Undefined where the gates let the stream be seen as it is. */
  async #chunksInstead(
    reader: AnyCollector,
  ): Promise<Iterable<unknown> | AsyncIterable<unknown> | undefined> {
    const reading = reader.read()
    // Who reads after the end of the run gets nothing that nobody decided on.
    this.core.assertOpen(this)
    const decided = await decide(this.core, 'afterLlmCall', reading.response, this.#whereRead(reading))
    const message = messageOf(decided)
    if (message === undefined) return undefined
    this.spent = reading
    this.#replaced = { response: message }
    return this.init.standInChunks?.(message, keeps(decided) ? reader.reply() : undefined)
  }

  async #gated(reply: R, reading: LlmReading, given: unknown = reply): Promise<R> {
    const decided = await decide(this.core, 'afterLlmCall', reading.response, this.#whereRead(reading))
    const message = messageOf(decided)
    if (message === undefined) return reply
    this.spent = reading
    return this.#make(message, decided, given)
  }

  #where(): DecidedPlace {
    const { traced, gates, provider, callKey, model } = this
    return { call: this, traced, gates, stepIndex: this.site.stepIndex, model, provider, callKey }
  }

  /** A copy of the usage: what a gate does to it is not counted. */
  #whereRead({ usage }: LlmReading): DecidedPlace {
    return usage === undefined ? this.#where() : { ...this.#where(), usage: { ...usage } }
  }

  #make(message: LlmResponse, decided: ChainResult | undefined, given?: unknown): R {
    const { model } = this
    const { standIn, operationName } = this.init
    if (standIn !== undefined) return standIn(message, keeps(decided) ? given : undefined)
    const cause = isRefusal(decided) ? decided : undefined
    const mend = isNoChat(operationName)
      ? `no message can stand in for what \`${operationName}\` gives.`
      : 'nothing can stand in. Give llmCall a `standIn` function.'
    const why = `Model call "${model}": ${whyOf(decided)}`
    throw new HookspanError('CALL_DENIED', `${why}, and ${mend}`, { cause })
  }

  #read(reply: R): LlmReading {
    try {
      const own = this.init.read?.(reply) ?? undefined
      if (own !== undefined && !isRecord(own.response)) {
        throw expected('`read` of a model call to give { response, usage? }', own, 'INVALID_CALL')
      }
      return own ?? readReply(reply)
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

  /** Reads a stream for what is told of it. */
  #newReader(): AnyCollector {
    const reader = new AnyCollector()
    this.#reader = reader
    return reader
  }

  #came(reader: AnyCollector, chunk: unknown): void {
    this.noteChunk()
    this.#push(reader, chunk)
  }

  #watch(stream: AsyncIterable<unknown> & R): R {
    const reader = this.#newReader()
    return this.#watchEnd(stream, reader, (chunk) => this.#came(reader, chunk))
  }

  #watchEnd(stream: AsyncIterable<unknown> & R, reader: AnyCollector, onChunk: (chunk: unknown) => void): R {
    const onEnd = (end: StreamEnd) => {
      if (end.kind === 'failed') return this.fail(end.error)
      const isCut = end.kind === 'finished' && this.#replaced === undefined && !reader.ended
      this.succeed(this.#replaced ?? reader.read(), isCut ? 'cut' : end.kind)
    }
    try {
      return watchStream(stream, { onChunk: this.#quiet(onChunk), onEnd: this.#quiet(onEnd) })
    } catch (error) {
      // A frozen stream cannot be watched; its reader gets it all the same.
      this.#unreadable(error)
      onEnd({ kind: 'finished' })
      return stream
    }
  }

  /** Whoever reads the stream does not hear of what goes wrong in watching it. */
  #quiet<T>(told: (value: T) => void): (value: T) => void {
    return (value) => {
      try {
        told(value)
      } catch (error) {
        this.core.reportFailure('llmCall.stream', error)
      }
    }
  }
}

/** What a gate puts in the model's place, if it does. */
function messageOf(decided: ChainResult | undefined): LlmResponse | undefined {
  if (decided === undefined || decided.kind === 'wait') return undefined
  if (decided.kind === 'proceed') return decided.changed ? (decided.payload as LlmResponse) : undefined
  if (decided.kind !== 'skip') return { content: decided.reason }
  const { result } = decided
  return typeof result === 'string' ? { content: result } : ((result as LlmResponse) ?? { content: '' })
}

/** Whether what it puts there is the model's reply, with changes. */
function keeps(decided: ChainResult | undefined): boolean {
  return decided?.kind === 'proceed' && decided.changed
}

/** Why it does. */
function whyOf(decided: ChainResult | undefined): string {
  if (decided?.kind === 'proceed') return 'a gate changed the reply'
  if (decided?.kind === 'skip') return 'a gate skipped the model call'
  return isRefusal(decided) ? `denied (${decided.code}): ${decided.reason}` : ''
}
