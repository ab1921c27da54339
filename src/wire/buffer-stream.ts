import { setMethods } from './watch-stream.ts'

/**
 * Reads a stream to its end and makes the same object give the same chunks once more, with its `controller` and
 * `tee()`: for a reader that may see nothing before all of it was looked at.
 *
 * @throws what the stream throws.
 */
export async function bufferStream<T extends AsyncIterable<unknown>>(
  stream: T,
): Promise<{ stream: T; chunks: readonly unknown[] }> {
  const chunks: unknown[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const replay = async function* () {
    yield* chunks
  }
  const target = stream as { iterator?: unknown; next?: unknown }
  // The openai client's Stream makes both its iterator and its tee() out of this one function.
  const key = typeof target.iterator === 'function' ? 'iterator' : Symbol.asyncIterator
  setMethods(stream, { [key]: replay, ...(typeof target.next === 'function' && methodsOf(replay())) })
  return { stream, chunks }
}

function methodsOf(iterator: AsyncGenerator<unknown>) {
  return {
    next: iterator.next.bind(iterator),
    return: iterator.return.bind(iterator),
    throw: iterator.throw.bind(iterator),
  }
}
