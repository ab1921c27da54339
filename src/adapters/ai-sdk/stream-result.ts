import { asObjects, asText } from '../../wire/reading.ts'
import { type ObservedRun, whenAborted } from '../sdk-run/observed-run.ts'
import { rememberRun } from '../sdk-run/parked-run.ts'
import { ShownCalls } from './shown-calls.ts'
import { noteUnfit } from './unfit-output.ts'

/** Where the SDK's result takes the stream from for each of its readers, whichever way they read. */
interface StreamResult {
  teeStream?: () => ReadableStream<unknown>
  /** Of one that is read once: settled when its reader is at the end, or has left. */
  readonly totalUsage?: PromiseLike<unknown>
}

/** Ends the run of a stream when it was read to its end, or when its last reader has left it. */
export function watchResult(result: unknown, run: ObservedRun): void {
  rememberRun(result, run.parked)
  const { teeStream } = result as StreamResult
  if (typeof teeStream !== 'function') {
    // Its one reader is out of sight.
    whenAborted(run, () => void run.fail(run.signal?.reason))
    const { totalUsage } = result as StreamResult
    totalUsage?.then(
      () => void run.over(),
      (error: unknown) => void endedBy(run, error),
    )
    return
  }
  const readers = new Readers(run)
  Object.defineProperty(result, 'teeStream', {
    configurable: true,
    writable: true,
    enumerable: false,
    value: () => readers.watch(teeStream.call(result)),
  })
  withhold(result as object, run)
  whenAborted(run, () => readers.aborted())
}

/** All else that is asked of the result is made of its steps: what a gate at the run's end takes back is none of it. */
function withhold(result: object, run: ObservedRun): void {
  const steps = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(result), 'steps')?.get
  if (steps === undefined) return
  const get = async () => {
    const given: unknown = await steps.call(result)
    const last = asObjects(given).at(-1)
    await noteUnfit(run, last)
    const refusal = await run.over(asText(last?.text))
    if (refusal !== undefined) throw refusal
    return given
  }
  Object.defineProperty(result, 'steps', { configurable: true, enumerable: false, get })
}

/** A reader that leaves has the SDK say so by an abort of its own. */
function endedBy(run: ObservedRun, error: unknown): Promise<unknown> {
  const { name } = (error ?? {}) as { name?: unknown }
  if (name === 'TimeoutError') return run.interrupt()
  if (error instanceof Error && name !== 'AbortError') run.failure ??= { error }
  return run.over()
}

class Readers {
  readonly #run: ObservedRun
  #reading = 0

  constructor(run: ObservedRun) {
    this.#run = run
    run.isRead = () => this.#reading > 0
  }

  watch(stream: ReadableStream<unknown>): ReadableStream<unknown> {
    const reader = stream.getReader()
    this.#reading++
    let reading = true
    const shown = new ShownCalls(() => reader.read())
    const left = () => {
      if (reading) this.#reading--
      reading = false
    }
    return new ReadableStream(
      {
        pull: async (controller) => {
          try {
            const { done, value } = await shown.read()
            if (!done) return controller.enqueue(value)
          } catch (error) {
            if (!reading) return
            left()
            await this.#run.fail(error)
            return controller.error(error)
          }
          // A read that waits when the stream is left is answered, too: that is not its end.
          if (!reading) return
          left()
          // Rejected, it is an error of the stream.
          const refusal = await this.#run.over()
          if (refusal === undefined) controller.close()
          else controller.error(refusal)
        },
        cancel: async (reason) => {
          left()
          if (this.#reading === 0) await this.#run.over()
          await reader.cancel(reason)
        },
      },
      { highWaterMark: 0 },
    )
  }

  /** Nobody reads, so nobody would be told. */
  aborted(): void {
    if (this.#reading === 0) void this.#run.fail(this.#run.signal?.reason)
  }
}
