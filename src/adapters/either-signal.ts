import { joinSignals } from '../internal/join-signals.ts'
import { isStream, watchStream } from '../wire/watch-stream.ts'

/**
 * Asks with a signal that is aborted with either of the two, which are let go of when the reply is there: of a stream, when
 * it is read, fails or is left.
 */
export async function withEither<T>(
  a: AbortSignal | undefined,
  b: AbortSignal | undefined,
  ask: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  const { signal, release } = joinSignals(a, b)
  if (signal === a || signal === b) return ask(signal)
  let reply: T | undefined
  try {
    reply = await ask(signal)
  } finally {
    if (!isStream(reply)) release()
  }
  return isStream(reply) ? watchStream(reply, { onChunk: () => {}, onEnd: release }) : reply
}
