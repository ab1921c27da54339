/** For all copies of this file in a process: a bundler may have put one into the program. */
const COPIES = Symbol.for('hookspan: copies')
const OWN = {}

const shared = globalThis as { [COPIES]?: Set<object> }

/** A dispatcher of this copy is made. */
export function noteCopy(): void {
  shared[COPIES] ??= new Set()
  shared[COPIES].add(OWN)
}

/** Whether another copy has made one, whose runs this one cannot take part in. */
export function hasOtherCopy(): boolean {
  return [...(shared[COPIES] ?? [])].some((one) => one !== OWN)
}
