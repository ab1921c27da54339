const LOOK_MS = 500

/**
 * Until Ctrl-C, or until the process is asked to end. npx, when it is asked, ends the shell between it and us, and tells us
 * nothing: then whoever began this process is another one.
 */
export async function untilStopped(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  process.once('SIGINT', resolve)
  process.once('SIGTERM', resolve)
  const parent = process.ppid
  const looking =
    process.env.npm_command === 'exec' &&
    setInterval(() => {
      if (process.ppid !== parent) resolve()
    }, LOOK_MS)
  await promise
  if (looking) clearInterval(looking)
}
