import type { ApiPromise } from './client.ts'
import type { ObservedCall } from './observed-call.ts'

/**
 * Lets a call see what its caller does with the client's promise. The same promise comes back, and whatever the
 * client's helpers derive from it is watched, too.
 */
export function watchPromise(promise: ApiPromise, call: ObservedCall): ApiPromise {
  const { parse, asResponse, _thenUnwrap: thenUnwrap } = promise
  replace(promise, 'parse', () => {
    call.parsing()
    const parsed = parse.call(promise)
    parsed.catch((error: unknown) => call.fail(error))
    return parsed
  })
  replace(promise, 'asResponse', async () => {
    const response = await asResponse.call(promise)
    call.raw(response)
    return response
  })
  replace(promise, '_thenUnwrap', (transform) => watchPromise(thenUnwrap.call(promise, transform), call))
  return promise
}

/**
 * Puts an own property in the way, which does not show up when the object is listed, spread or logged.
 *
 * @returns takes it away again, unless somebody put another in its place.
 */
export function replace<T extends object, K extends keyof T>(object: T, key: K, value: T[K]): () => void {
  const before = Object.getOwnPropertyDescriptor(object, key)
  Object.defineProperty(object, key, { value, configurable: true, writable: true, enumerable: false })
  return () => {
    if (object[key] !== value) return
    if (before === undefined) delete object[key]
    else Object.defineProperty(object, key, before)
  }
}
