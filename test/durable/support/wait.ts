/** What `look` finds, asked until it finds something: for what comes early, also on a machine that is busy. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined>,
  timeoutMs = 60_000,
): Promise<T> {
  const end = Date.now() + timeoutMs
  let last: unknown
  while (Date.now() < end) {
    try {
      const found = await look()
      if (found !== undefined) return found
    } catch (error) {
      last = error
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`${what} did not come within ${timeoutMs} ms`, { cause: last })
}
