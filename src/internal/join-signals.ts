export interface JoinedSignal {
  readonly signal: AbortSignal | undefined
  /** Lets go of the two. */
  release(): void
}

/**
 * Aborted with either of the two. Not AbortSignal.any(): a signal that lives longer than the run keeps something of
 * each signal that is derived from it.
 */
export function joinSignals(a: AbortSignal | undefined, b: AbortSignal | undefined): JoinedSignal {
  if (a === undefined || b === undefined || a === b) return { signal: a ?? b, release: () => {} }
  const controller = new AbortController()
  const undo = [a, b].map((source) => {
    const onAbort = () => controller.abort(source.reason)
    if (source.aborted) onAbort()
    else source.addEventListener('abort', onAbort, { once: true })
    return () => source.removeEventListener('abort', onAbort)
  })
  return { signal: controller.signal, release: () => undo.forEach((off) => void off()) }
}
