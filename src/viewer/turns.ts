/** Long work on the event loop, a slice at a time: spans are taken in, and others answered, while it goes on. */
import type { InTurns } from './model/in-turns.ts'
import { TurnOrder, type Work } from './turn-order.ts'

/** Nobody is kept waiting much longer by one piece of work, however many of them there are. */
const SLICE_MS = 20

interface Waiting extends Work {
  goOn(): void
}

const order = new TurnOrder<Waiting>()

/** One slice for each round of the loop, whoever's turn it is: ten long answers at once hold it no longer than one. */
function pump(): void {
  order.next()?.goOn()
  if (order.size > 0) setImmediate(pump)
}

function turnOf(work: Waiting): Promise<void> {
  return new Promise((resolve) => {
    work.goOn = resolve
    order.add(work)
    if (order.size === 1) setImmediate(pump)
  })
}

/** Nobody wants it any more. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned'
}

/**
 * Does the work, giving way as often as it yields and its slice is over. What is short is done at once; what nobody waits for
 * (`isBackground`) goes on between the others.
 *
 * @throws Abandoned between two slices, once `isWanted` says no.
 */
export async function takeTurns<T>(
  work: InTurns<T>,
  isWanted: () => boolean = () => true,
  isBackground = false,
): Promise<T> {
  const waiting: Waiting = { isBackground, slices: 0, goOn: () => {} }
  let untilMs = performance.now() + SLICE_MS
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
    if (performance.now() < untilMs) continue
    await turnOf(waiting)
    if (!isWanted()) {
      // What it has open is closed.
      work.return(undefined as never)
      throw new Abandoned()
    }
    untilMs = performance.now() + SLICE_MS
  }
}
