/** The longest delay Node takes; longer ones fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Of what a callback gave that nobody waits for: one that is an `async` function fails later, and where nobody is told, its
 * failure ends the process.
 */
export function ifRejected(given: unknown, tell: (error: unknown) => void): void {
  try {
    if (isThenable(given)) given.then(undefined, tell)
  } catch (error) {
    tell(error)
  }
}

/** Calls what nobody waits for, and tells once where it fails, at once or later. */
export function callBeside(call: () => unknown, tell: (error: unknown) => void): void {
  try {
    ifRejected(call(), tell)
  } catch (error) {
    tell(error)
  }
}

/** Of what is refused as no answer in any case. */
export function ignoreRejection(given: unknown): void {
  ifRejected(given, () => {})
}

/** Lets the process end before the timer does. Those of a window, as jsdom makes them, are numbers, and hold none. */
export function unref<T>(timer: T): T {
  ;(timer as { unref?: () => void }).unref?.()
  return timer
}

/** Aborted after `ms`, whatever part of one, and however many they are: `AbortSignal.timeout` throws for both. */
export function timeoutSignal(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.min(Math.ceil(ms), MAX_TIMER_MS))
}

/** Whether `value` has a `then` to call. May throw when reading `then` throws. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    typeof (value as { then?: unknown }).then === 'function'
  )
}

/** Resolves after `ms` milliseconds, or rejects with the signal's reason. */
export function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      },
      Math.min(ms, MAX_TIMER_MS),
    )
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** The promise's value; undefined once `ms` have passed without one. Its timer never outlives the promise. */
export async function within<T>(ms: number, promise: PromiseLike<T> | T): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.min(ms, MAX_TIMER_MS))
  })
  try {
    return await Promise.race([promise, deadline])
  } finally {
    clearTimeout(timer)
  }
}

/** The promise, or the signal's reason as soon as it is aborted: a tool that ignores the signal cannot hold the run. */
export function untilAborted<T>(promise: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return Promise.resolve(promise)
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    const settling =
      <V>(settle: (value: V) => void) =>
      (value: V) => {
        signal.removeEventListener('abort', onAbort)
        settle(value)
      }
    promise.then(settling(resolve), settling(reject))
  })
}
