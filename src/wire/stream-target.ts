export type AnyIterator = AsyncIterator<unknown, unknown, unknown>

/** What is touched of a stream. The openai client's Stream makes its iterator and its tee() out of `iterator`. */
export interface Target {
  iterator?: () => AnyIterator
  next?: AnyIterator['next']
  return?: AnyIterator['return']
  throw?: AnyIterator['throw']
  controller?: { signal?: unknown; abort?(reason?: unknown): void }
  [Symbol.asyncIterator]: () => AnyIterator
}

/** Aborted when the stream is, for a stream that its reader can abort. */
export function abortOf({ controller }: Target): AbortSignal | undefined {
  return controller?.signal instanceof AbortSignal ? controller.signal : undefined
}

/** The methods of a stream that is an iterator, as they are now. */
export function iteratorMethods(target: Target): AnyIterator {
  return {
    next: target.next?.bind(target),
    return: target.return?.bind(target),
    throw: target.throw?.bind(target),
  } as AnyIterator
}

/** Puts methods on an object as a class would: not enumerable, replaceable. All of them or none. */
export function setMethods(target: object, methods: Record<PropertyKey, unknown>): void {
  const entries = Reflect.ownKeys(methods).map((key) => [
    key,
    { configurable: true, writable: true, value: methods[key] },
  ])
  Object.defineProperties(target, Object.fromEntries(entries))
}
