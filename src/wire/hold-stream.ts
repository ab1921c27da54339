import { untilAborted } from '../internal/async.ts'
import { joinSignals } from '../internal/join-signals.ts'
import { type AnyIterator, abortOf, iteratorMethods, setMethods, type Target } from './stream-target.ts'

/** Who decides what of a stream is shown. */
export interface StreamHolder {
  /** False: chunks are shown as they come, and what is decided after the last one changes nothing. */
  readonly holds: boolean
  /** Told of each chunk when it comes. */
  onChunk(chunk: unknown): void
  /**
   * Asked once, when all of the stream has come: what is shown in its place. Undefined shows the stream itself. What it
   * throws is what the first read rejects with.
   */
  decide(): Promise<Iterable<unknown> | AsyncIterable<unknown> | undefined>
  /** Rejects a read that is under way of what is held back, for a stream that has no controller of its own. */
  readonly signal?: AbortSignal | undefined
}

/** What the reader of a stream can abort it with. */
interface Aborter {
  readonly signal: AbortSignal
  /** What a stream without a controller throws then, or a promise of it. */
  readonly failure: () => unknown
}

/** Of streams that have let go of it once all of them has come. */
const aborters = new WeakMap<object, Aborter>()

/**
 * Says that whoever asked for this stream can abort it by a signal. Gives the stream.
 *
 * @param failure what the SDK throws of an abort, or a promise of it, where that is not the signal's reason.
 */
export function abortedBy<T>(stream: T, signal: unknown, failure?: () => unknown): T {
  if (signal instanceof AbortSignal && typeof stream === 'object' && stream !== null)
    aborters.set(stream, { signal, failure: failure ?? (() => signal.reason) })
  return stream
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
  const shown = show(inner, target, holder)
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

async function* show(inner: AnyIterator, target: Target, holder: StreamHolder) {
  const abort = abortOf(target)
  const asked = aborters.get(target)
  const chunks: unknown[] = []
  for (;;) {
    const step = await (abort === undefined && holder.holds ? nextOf(inner, holder, asked) : inner.next())
    if (step.done) break
    holder.onChunk(step.value)
    if (holder.holds) chunks.push(step.value)
    else yield step.value
  }
  if (abort?.aborted) return
  const instead = await untilGone(holder.decide(), abort, asked?.signal)
  if (!holder.holds) return
  if (isAborted(target, abort, asked)) return aborted(abort, asked)
  for await (const chunk of instead ?? chunks) {
    yield chunk
    if (isAborted(target, abort, asked)) return aborted(abort, asked)
  }
}

/** The next chunk of a stream that has no controller of its own. */
async function nextOf(inner: AnyIterator, { signal }: StreamHolder, asked: Aborter | undefined) {
  try {
    return await untilAborted(inner.next(), signal)
  } catch (error) {
    // The signal may be the run's, too.
    throw asked?.signal.aborted && error === signal?.reason ? await asked.failure() : error
  }
}

/** Whether nobody wants more of it. */
function isAborted(
  { controller }: Target,
  abort: AbortSignal | undefined,
  asked: Aborter | undefined,
): boolean {
  if (abort?.aborted) return true
  if (!asked?.signal.aborted) return false
  if (abort !== undefined) controller?.abort?.(asked.signal.reason)
  return true
}

/** A stream with a controller ends then; one without says so by what it throws. */
async function aborted(abort: AbortSignal | undefined, asked: Aborter | undefined): Promise<void> {
  if (abort === undefined) throw await asked?.failure()
}

/** The decision, or nothing once nobody waits for it any more. */
async function untilGone<T>(
  decision: Promise<T>,
  abort: AbortSignal | undefined,
  asked: AbortSignal | undefined,
): Promise<T | undefined> {
  const { signal, release } = joinSignals(abort, asked)
  try {
    return await untilAborted(decision, signal)
  } catch (error) {
    if (signal?.aborted) return undefined
    throw error
  } finally {
    release()
  }
}
