const gone = new FinalizationRegistry<() => void>((left) => left())

/**
 * Tells when nobody holds what an SDK gave any more: nobody can go on with it then, and nothing else tells so of a stream or a
 * generator that was dropped without `return()`. What
 * `left` holds, and the scope it is written in, must not hold it.
 *
 * @returns forgets it, for when there is nothing left to tell: on Node 22 the promises of a run hold what each AsyncLocalStorage had
 * where they were made, and so what the SDK keeps there.
 */
export function whenGone(given: object, left: () => void): () => void {
  gone.register(given, left, left)
  return () => void gone.unregister(left)
}
