import { type AnyIterator, abortOf, iteratorMethods, setMethods, type Target } from './stream-target.ts'

/** What a watcher is told of a stream. */
export interface StreamWatcher {
  onChunk(chunk: unknown): void
  /** Once: `finished` when it was read to its end, `abandoned` when the reader stopped before, or the failure. */
  onEnd(end: StreamEnd): void
}

export type StreamEnd =
  | { readonly kind: 'finished' | 'abandoned' }
  | { readonly kind: 'failed'; readonly error: unknown }

/** Whether a reply is a stream whose end is still to come. */
export function isStream(value: unknown): value is AsyncIterable<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { [Symbol.asyncIterator]?: unknown })[Symbol.asyncIterator] === 'function'
  )
}

/**
 * Watches a stream without standing in its way: the same object comes back, with its `controller`, `tee()` and
 * `toReadableStream()`. The reader sees the same chunks and the same errors at the same time. Chunks that are
 * never read are not seen.
 *
 * @throws TypeError when the stream is frozen and cannot be watched; it is untouched then.
 */
export function watchStream<T extends AsyncIterable<unknown>>(stream: T, watcher: StreamWatcher): T {
  const target = stream as unknown as Target
  const watch = new Watch(watcher, abortOf(target))
  const key = typeof target.iterator === 'function' ? 'iterator' : Symbol.asyncIterator
  const original = target[key] as () => AnyIterator
  const iterate = () => {
    const iterator = original.call(stream)
    // A generator is its own iterator, whose methods are watched below.
    return (iterator as unknown) === stream ? iterator : watch.iterator(iterator)
  }
  setMethods(target, { [key]: iterate, ...(typeof target.next === 'function' && watch.methodsOf(target)) })
  return stream
}

class Watch {
  readonly #watcher: StreamWatcher
  readonly #signal: AbortSignal | undefined
  #reading = 0
  #ended = false

  constructor(watcher: StreamWatcher, signal: AbortSignal | undefined) {
    this.#watcher = watcher
    this.#signal = signal
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** The client aborts its own request when it fails midway: a read in flight tells which of the two it was. */
  readonly #onAbort = (): void => {
    if (this.#reading === 0) this.#end({ kind: 'abandoned' })
  }

  #end(end: StreamEnd): void {
    if (this.#ended) return
    this.#ended = true
    // The client keeps it for as long as the signal that it was given lives, which may be longer than many runs.
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#watcher.onEnd(end)
  }

  /** For a stream that is an iterator and may be read by its own `next()`. */
  methodsOf(target: Target): Pick<Required<AnyIterator>, 'next' | 'return' | 'throw'> {
    const { next, return: end, throw: fail } = this.iterator(iteratorMethods(target))
    return { next, return: end, throw: fail }
  }

  iterator(inner: AnyIterator): Required<AnyIterator> & AsyncIterableIterator<unknown> {
    const watch = this
    return {
      async next(...args: [] | [unknown]) {
        watch.#reading++
        try {
          const step = await inner.next(...args)
          const aborted = watch.#signal?.aborted === true
          if (!step.done) watch.#watcher.onChunk(step.value)
          if (step.done || aborted) watch.#end({ kind: aborted ? 'abandoned' : 'finished' })
          return step
        } catch (error) {
          watch.#end({ kind: 'failed', error })
          throw error
        } finally {
          watch.#reading--
        }
      },
      async return(value?: unknown) {
        watch.#end({ kind: 'abandoned' })
        return (await inner.return?.(value)) ?? { done: true, value }
      },
      async throw(error?: unknown) {
        watch.#end({ kind: 'abandoned' })
        if (inner.throw === undefined) throw error
        return inner.throw(error)
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }
}
