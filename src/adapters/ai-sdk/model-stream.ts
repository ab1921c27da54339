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
    return (async function* () {
      for (;;) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          throw failed(error)
        })
        if (done) return
        yield value
        if (isError(value)) throw failed(value.error)
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
    const { done, value } = await (iterator === undefined ? this.#read() : iterator.next())
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

  async #read(): Promise<{ done: boolean; value?: unknown }> {
    return (await this.#reader?.read()) ?? { done: true }
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

function isError(chunk: unknown): chunk is { readonly type: 'error'; readonly error: unknown } {
  return (chunk as { type?: unknown } | null | undefined)?.type === 'error'
}
