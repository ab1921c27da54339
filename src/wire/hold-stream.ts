import { untilAborted } from '../internal/async.ts'
import { type AnyIterator, abortOf, iteratorMethods, setMethods, type Target } from './stream-target.ts'

/** Who decides what of a stream is shown. */
export interface StreamHolder {
  /** Told of each chunk when it comes. */
  onChunk(chunk: unknown): void
  /**
   * Asked once, when all of the stream has come: what is shown in its place. Undefined shows the stream itself. What it
   * throws is what the first read rejects with.
   */
  decide(): Promise<Iterable<unknown> | AsyncIterable<unknown> | undefined>
  /** Rejects a read that is under way, for a stream that has no controller of its own. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Holds a stream back: the same object comes back at once, with its `controller` and `tee()`. Its first read takes in all
 * of it, and gives the first chunk once it is decided that it may be seen. It rejects where the stream fails, and ends
 * where the stream is aborted: then nothing is decided, and nothing shown.
 *
 * @throws TypeError when the stream is frozen and cannot be held back; it is untouched then.
 */
export function holdStream<T extends AsyncIterable<unknown>>(stream: T, holder: StreamHolder): T {
  const target = stream as unknown as Target
  const key = typeof target.iterator === 'function' ? 'iterator' : Symbol.asyncIterator
  const original = target[key] as () => AnyIterator
  const own = typeof target.next === 'function' ? hold(iteratorMethods(target), target, holder) : undefined
  const iterate = () => {
    const inner = original.call(stream)
    return (inner as unknown) === stream ? inner : hold(inner, target, holder)
  }
  setMethods(target, { [key]: iterate, ...own })
  return stream
}

function hold(inner: AnyIterator, target: Target, holder: StreamHolder) {
  const shown = show(inner, abortOf(target), holder)
  const stop = async () => void (await inner.return?.())
  return {
    next: () => shown.next(),
    return: async (value?: unknown) => {
      await stop()
      return shown.return(value as undefined)
    },
    throw: async (error?: unknown) => {
      await stop()
      return shown.throw(error)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

async function* show(inner: AnyIterator, abort: AbortSignal | undefined, holder: StreamHolder) {
  const chunks: unknown[] = []
  for (;;) {
    const step = await untilAborted(inner.next(), abort === undefined ? holder.signal : undefined)
    if (step.done) break
    chunks.push(step.value)
    holder.onChunk(step.value)
  }
  if (abort?.aborted) return
  const instead = await untilGone(holder.decide(), abort)
  if (abort?.aborted) return
  for await (const chunk of instead ?? chunks) {
    yield chunk
    if (abort?.aborted) return
  }
}

/** The decision, or nothing once nobody waits for it any more. */
async function untilGone<T>(decision: Promise<T>, abort: AbortSignal | undefined): Promise<T | undefined> {
  try {
    return await untilAborted(decision, abort)
  } catch (error) {
    if (abort?.aborted) return undefined
    throw error
  }
}
