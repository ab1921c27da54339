import type { Loose } from '../../wire/reading.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'
import type { SdkStreamReply } from './sdk.ts'

/**
 * A model's stream on its way through the watch of a model call: chunks out of the model's `ReadableStream`, and a
 * `ReadableStream` out of the watched chunks. The call fails with the chunk that tells an error, though the stream goes on.
 */
export class ModelStream {
  readonly #run: ObservedRun
  #reader: ReadableStreamDefaultReader<unknown> | undefined
  #iterator: AsyncIterator<unknown> | undefined
  /** The chunk by which the model told that it failed. */
  #failure: ErrorChunk | undefined
  /** Whether chunks before it were held back, for a gate that was not asked then. */
  #held = false
  /** What else the model gave beside its stream. */
  rest: Readonly<Record<string, unknown>> = {}

  constructor(run: ObservedRun) {
    this.#run = run
  }

  from({ stream, ...rest }: SdkStreamReply): AsyncIterable<unknown> {
    this.rest = rest
    const reader = stream.getReader()
    this.#reader = reader
    const failed = (error: unknown) => {
      this.#run.failure = { error }
      return error
    }
    const model = this
    return (async function* () {
      for (;;) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          throw failed(error)
        })
        if (done) return
        yield value
        if (isError(value)) {
          model.#failure = value
          throw failed(value.error)
        }
      }
    })()
  }

  /** What the SDK reads: no chunk is asked for before it is wanted. */
  to(chunks: AsyncIterable<unknown>): ReadableStream<unknown> {
    const iterator = chunks[Symbol.asyncIterator]()
    this.#iterator = iterator
    this.#run.streams.add(this.#leave)
    return new ReadableStream(
      {
        pull: (controller) => this.#pull(controller),
        cancel: async (reason) => {
          await this.#leave()
          this.#run.onLeft?.()
          await this.#reader?.cancel(reason)
        },
      },
      { highWaterMark: 0 },
    )
  }

  async #pull(controller: ReadableStreamDefaultController<unknown>): Promise<void> {
    const iterator = this.#iterator
    const { done, value } = await (iterator === undefined ? this.#read() : this.#next(iterator))
    if (done) {
      this.#over()
      controller.close()
      return
    }
    controller.enqueue(value)
    if (!isError(value) || iterator === undefined) return
    // The call ends here. What the model still says is passed on.
    this.#over()
    await iterator.next().catch(() => {})
  }

  /** A failure that the model told in its stream is told so, also where the stream is held back. */
  async #next(iterator: AsyncIterator<unknown>): Promise<{ done?: boolean | undefined; value?: unknown }> {
    try {
      return await iterator.next()
    } catch (error) {
      if (this.#failure === undefined || this.#failure.error !== error) throw error
      this.#held = true
      return { value: this.#failure }
    }
  }

  async #read(): Promise<{ done: boolean; value?: unknown }> {
    for (;;) {
      const step = (await this.#reader?.read()) ?? { done: true }
      // Of what was held back, no more is shown than how it ended.
      if (step.done || !this.#held || (step.value as Loose | undefined)?.type === 'finish') return step
    }
  }

  #over(): void {
    this.#iterator = undefined
    this.#run.streams.delete(this.#leave)
  }

  /** Nobody reads any more. Whoever reads on later gets what the model still says. */
  readonly #leave = async (): Promise<void> => {
    const iterator = this.#iterator
    this.#over()
    // Not awaited: a chunk may be on its way that never comes.
    iterator?.return?.()?.catch(() => {})
  }
}

interface ErrorChunk {
  readonly type: 'error'
  readonly error: unknown
}

function isError(chunk: unknown): chunk is ErrorChunk {
  return (chunk as { type?: unknown } | null | undefined)?.type === 'error'
}
