/**
 * Something that takes a value along with the running code, as AsyncLocalStorage does: where a tracer's context
 * travels anyway, the place in an operation travels in it. A second storage would cost as much as half a span.
 */
export interface Carrier {
  /** The value that the running code was given, whoever gave it. */
  current(): unknown
}

let carrier: Carrier | undefined

/** The last carrier wins; all of them read the same context. */
export function setCarrier(used: Carrier): void {
  carrier = used
}

export function carried(): unknown {
  return carrier?.current()
}
