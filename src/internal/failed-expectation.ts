/** Whether a test's own expectation failed: of vitest and chai, of `node:assert`, of Jest, of Bun. Never throws. */
export function isFailedExpectation(error: unknown): error is Error {
  try {
    if (typeof error !== 'object' || error === null) return false
    const { name } = error as { name?: unknown }
    if (name === 'Error' && isOfBun(error)) return true
    return name === 'AssertionError' || '__vitest_error_context__' in error || 'matcherResult' in error
  } catch {
    return false
  }
}

/** The same, but for `node:assert`, with which what is tested may fail by itself, as it is meant to. Never throws. */
export function isFailedExpect(error: unknown): error is Error {
  return isFailedExpectation(error) && (error as { code?: unknown }).code !== 'ERR_ASSERTION'
}

/** It has no name and no field of its own: only where it comes from tells. */
function isOfBun(error: object): boolean {
  if (process.versions.bun === undefined) return false
  const top = String((error as { stack?: unknown }).stack)
    .split('\n')
    .find((line) => line.startsWith('    at '))
  return /at (to[A-Z]\w*|unreachable) \(unknown\b/.test(top ?? '')
}
