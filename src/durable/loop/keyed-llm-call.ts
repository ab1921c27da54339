import type { LlmCallDecision, LlmCallInit, LlmFunction, OpenLlmCall } from '../../dispatcher/index.ts'
import type { LlmResponse } from '../../hooks/index.ts'
import { isRecord } from '../../internal/objects.ts'
import { AnyCollector, readReply } from '../../wire/formats.ts'
import { setMethods, type Target } from '../../wire/stream-target.ts'
import type { LoopKeeper } from './keeper.ts'
import { errorOf, failureOf, fromKept, toKept } from './kept-json.ts'
import type { KeptEntry } from './records.ts'

/** A model call of a durable loop: made once, as far as that is kept, and else given what is kept of it. */
export class KeyedLlmCall<R> {
  readonly #loop: LoopKeeper
  readonly #turn: number
  readonly #init: LlmCallInit<R>
  readonly #key: string
  #real: OpenLlmCall<R> | undefined
  #decided: Promise<LlmCallDecision<R>> | undefined

  constructor(loop: LoopKeeper, turn: number, init: LlmCallInit<R>) {
    this.#loop = loop
    this.#turn = turn
    this.#init = init
    this.#key = loop.keyOf('model call')
  }

  #kept(): { readonly value: R; said(): LlmResponse } | undefined {
    const kept = this.#loop.keptOf(this.#key, this.#init.model)
    if (kept === undefined) return undefined
    if (kept.failure !== undefined) throw errorOf(kept.failure)
    const { read = readReply } = this.#init
    if (kept.pieces === undefined) {
      const value = fromKept(kept.value) as R
      return { value, said: () => read(value).response }
    }
    const pieces = fromKept(kept.pieces) as unknown[]
    const said = () => {
      const collector = new AnyCollector()
      for (const piece of pieces) collector.push(piece)
      return collector.read().response
    }
    return { value: streamOf(pieces) as R, said }
  }

  /** From its beginning to its end. */
  async make(fn: LlmFunction<R>): Promise<R> {
    const kept = this.#kept()
    if (kept !== undefined) return kept.value
    await this.#loop.stepAgain(this.#turn)
    return this.#loop.atWork(async () => {
      await this.#loop.metAll(this.#init.model)
      try {
        const step = await this.#loop.steps.of(this.#turn)
        return await this.#answered(await step.llmCall(this.#init, fn))
      } catch (error) {
        await this.#failed(error)
        throw error
      }
    })
  }

  get decided(): Promise<LlmCallDecision<R>> {
    this.#decided ??= this.#decide()
    return this.#decided
  }

  async #decide(): Promise<LlmCallDecision<R>> {
    const kept = this.#kept()
    if (kept !== undefined) {
      const { value: reply, said } = kept
      return {
        state: 'answered',
        reply,
        // Not all who ask have use for it.
        get response() {
          return said()
        },
      }
    }
    await this.#loop.stepAgain(this.#turn)
    return this.#loop.atWork(async () => {
      await this.#loop.metAll(this.#init.model)
      try {
        this.#real = (await this.#loop.steps.of(this.#turn)).openLlmCall(this.#init)
        const decided = await this.#real.decided
        if (decided.state === 'run') return decided
        return { ...decided, reply: await this.#answered(decided.reply) }
      } catch (error) {
        await this.#failed(error)
        throw error
      }
    })
  }

  get replaced(): LlmResponse | undefined {
    return this.#real?.replaced
  }

  run<T>(fn: () => T): T {
    return this.#real === undefined ? fn() : this.#real.run(fn)
  }

  noteResponse(response: unknown): void {
    this.#real?.noteResponse(response)
  }

  noteAnswered(reply?: R): void {
    this.#real?.noteAnswered(reply)
  }

  get isOpen(): boolean {
    return this.#real?.isOpen ?? false
  }

  settle(reply: R): Promise<R> {
    return this.#loop.atWork(async () => {
      const real = this.#real as OpenLlmCall<R>
      try {
        return await this.#answered(await real.settle(reply))
      } catch (error) {
        await this.#failed(error)
        throw error
      }
    })
  }

  /** Nobody waits for it: what comes next is kept after it. */
  fail(error: unknown): void {
    this.#real?.fail(error)
    void this.#failed(error)
  }

  /** A stream is read to its end first: what is not whole cannot be kept. */
  async #answered(value: R): Promise<R> {
    const name = this.#init.model
    if (!isStream(value)) {
      await this.#loop.keep(this.#key, { name, value: toKept(withoutRequest(value)) } as KeptEntry)
      return value
    }
    const pieces: unknown[] = []
    for await (const piece of value) pieces.push(piece)
    await this.#loop.keep(this.#key, { name, pieces: toKept(pieces) as unknown[] })
    return readAgain(value, pieces)
  }

  async #failed(error: unknown): Promise<void> {
    // What ended with the run says nothing of the model.
    if (this.#loop.signal.aborted) return
    await this.#loop.keep(this.#key, { name: this.#init.model, failure: failureOf(error) })
  }
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Of a stream that makes its iterators, the same one, with all that its class can do. */
function readAgain<R extends AsyncIterable<unknown>>(stream: R, pieces: readonly unknown[]): R {
  const target = stream as Partial<Target>
  if (typeof target.iterator !== 'function') return streamOf(pieces) as unknown as R
  setMethods(stream, { iterator: () => streamOf(pieces) })
  return stream
}

async function* streamOf(pieces: readonly unknown[]): AsyncGenerator<unknown> {
  yield* pieces
}

/** Some replies bring the whole request along, which is in the records as what it was made of. */
function withoutRequest(value: unknown): unknown {
  if (!isRecord(value) || !isRecord(value.request)) return value
  const { body: _asked, ...request } = value.request
  return { ...value, request }
}
