import { errorMessage } from '../internal/errors.ts'

/** Messages may be made up as a program runs: past so many nobody reads them, and they would fill the memory. */
const MOST = 1_000
const warned = new Set<string>()

/** What is wrong with the observation itself, once. */
export function warnOnce(message: string): void {
  if (warned.has(message) || warned.size >= MOST) return
  warned.add(message)
  console.warn(message)
}

/** For what must not be thrown into the user's call. */
export function warnOfFailure(what: string, error: unknown): void {
  warnOnce(`hookspan: ${what}: ${errorMessage(error)}`)
}
