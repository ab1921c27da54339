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
  // The openai client's Stream makes both its iterator and its tee() out of this one function.
  const key =
    typeof (stream as { iterator?: unknown }).iterator === 'function' ? 'iterator' : Symbol.asyncIterator
  Object.defineProperty(stream, key, {
    configurable: true,
    writable: true,
    value: async function* () {
      yield* chunks
    },
  })
  return { stream, chunks }
}
