const LOOK_MS = 500
/** When the process began. */
const parent = process.ppid

/** Until Ctrl-C, or until the process is asked to end. */
export async function untilStopped(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  process.once('SIGINT', resolve)
  process.once('SIGTERM', resolve)
  const stopLooking = whenLeft(resolve)
  await promise
  stopLooking()
}

/**
 * npx, when it is asked to end, ends the shell between it and us, and tells us nothing: then whoever began this process is another
 * one.
 *
 * @returns how to stop looking.
 */
export function whenLeft(left: () => void): () => void {
  if (process.env.npm_command !== 'exec') return () => {}
  const looking = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(looking)
    left()
  }, LOOK_MS)
  return () => clearInterval(looking)
}
