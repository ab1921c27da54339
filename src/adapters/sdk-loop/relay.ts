/**
 * Passes on what a generator yields, with each of its steps run by `within`: a context around the whole of it would
 * not hold from one step to the next.
 *
 * @param until the generator is left where this is there first.
 * @returns what the generator returns; undefined where it was left.
 */
export async function* relay<E, R>(
  generator: AsyncGenerator<E, R>,
  within: <T>(fn: () => T) => T,
  until?: Promise<unknown>,
): AsyncGenerator<E, R | undefined> {
  const left = until?.then(() => undefined)
  let step = () => generator.next()
  let over = false
  try {
    for (;;) {
      over = true
      const came = await (left === undefined ? within(step) : Promise.race([left, within(step)]))
      if (came === undefined) {
        // Not awaited: it may never come to its next step.
        generator.return(undefined as never).catch(() => {})
        return undefined
      }
      if (came.done) return came.value
      over = false
      try {
        yield came.value
        step = () => generator.next()
      } catch (error) {
        step = () => generator.throw(error)
      }
    }
  } finally {
    if (!over) await within(() => generator.return(undefined as never))
  }
}
