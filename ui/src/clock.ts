/** The time as the viewer has it: requests and spans are told by clocks of its side, and the browser's may be hours off. */

/** A reply says when it began in whole seconds, and was on its way: a smaller difference is none. */
const EXACT_MS = 5_000

let aheadMs = 0
const listeners = new Set<() => void>()

/** Milliseconds since 1970. */
export function viewerNowMs(): number {
  return Date.now() - aheadMs
}

/** Of a reply that just came. */
export function noteDate(date: string | null): void {
  const found = Date.now() - Date.parse(date ?? '')
  if (Number.isNaN(found) || Math.abs(found - aheadMs) < EXACT_MS) return
  aheadMs = Math.abs(found) < EXACT_MS ? 0 : found
  for (const listener of listeners) listener()
}

/** Calls back when the time is known better than before. Returns how to stop listening. */
export function onClockSet(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
