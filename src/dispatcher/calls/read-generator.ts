import { untilAborted } from '../../internal/async.ts'

/** A tool written as an async generator yields progress; its return value, else the last one yielded, is its result. */
export function readToolResult(
  value: unknown,
  onProgress: (value: unknown) => void,
  signal: AbortSignal | undefined,
): unknown {
  return isAsyncGenerator(value) ? readGenerator(value, onProgress, signal) : value
}

async function readGenerator(
  generator: AsyncGenerator<unknown, unknown>,
  onProgress: (value: unknown) => void,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  let last: unknown
  try {
    for (;;) {
      const { done, value } = await untilAborted(generator.next(), signal)
      if (done) return value === undefined ? last : value
      last = value
      onProgress(value)
    }
  } catch (error) {
    // Not awaited: a generator that hangs in `await` cannot be closed.
    generator.return(undefined).catch(() => {})
    throw error
  }
}

export function isAsyncGenerator(value: unknown): value is AsyncGenerator<unknown, unknown> {
  // Most tools give a promise; asking it what it is takes ten times as long.
  if (typeof value !== 'object' || value === null || value instanceof Promise) return false
  return Object.prototype.toString.call(value) === '[object AsyncGenerator]'
}
