/** Work of any length that gives way: at each `yield`, others may have their turn before it goes on. */
export type InTurns<T> = Generator<void, T>

/** All of it at once, for whoever has nobody to give way to. */
export function finish<T>(work: InTurns<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}
