// In a `vm` context, as those of Jest and of vitest's vmThreads, what Node makes is of another realm than what the program makes.
import * as types from 'node:util/types'

/** Of whatever realm. Never throws. */
export function isError(value: unknown): value is Error {
  try {
    return types.isNativeError(value) || value instanceof Error
  } catch {
    return false
  }
}
