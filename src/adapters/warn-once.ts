import { errorMessage } from '../internal/errors.ts'

const warned = new Set<string>()

/** What is wrong with the observation itself, once. */
export function warnOnce(message: string): void {
  if (warned.has(message)) return
  warned.add(message)
  console.warn(message)
}

/** For what must not be thrown into the user's call. */
export function warnOfFailure(what: string, error: unknown): void {
  warnOnce(`hookspan: ${what}: ${errorMessage(error)}`)
}
