import { untilAborted } from '../internal/async.ts'
import { iteratorMethods, setMethods, type Target } from './stream-target.ts'

/**
 * Reads a stream to its end and makes the same object give the same chunks once more, with its `controller` and
 * `tee()`: for a reader that may see nothing before all of it was looked at.
 *
 * @param onChunk is told of each chunk when it comes.
 * @throws what the stream throws, and the signal's reason once it is aborted.
 */
export async function bufferStream<T extends AsyncIterable<unknown>>(
  stream: T,
  onChunk: (chunk: unknown) => void,
  signal: AbortSignal | undefined,
): Promise<T> {
  const chunks: unknown[] = []
  const reading = (async () => {
    for await (const chunk of stream) {
      chunks.push(chunk)
      onChunk(chunk)
    }
  })()
  await untilAborted(reading, signal)
  const replay = async function* () {
    yield* chunks
  }
  const target = stream as unknown as Target
  // The openai client's Stream makes both its iterator and its tee() out of this one function.
  const key = typeof target.iterator === 'function' ? 'iterator' : Symbol.asyncIterator
  setMethods(stream, {
    [key]: replay,
    ...(typeof target.next === 'function' && iteratorMethods(replay() as unknown as Target)),
  })
  return stream
}
