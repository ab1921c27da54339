import { expect, it } from 'vitest'
import { TurnOrder, type Work } from './turn-order.ts'

interface Piece extends Work {
  name: string
  left: number
}

const piece = (name: string, left: number, isBackground = false): Piece => ({
  name,
  left,
  isBackground,
  slices: 0,
})

/** At which turn each was done; `later` come at their turns. */
function doneAt(pieces: Piece[], turns: number, later: (turn: number) => Piece[] = () => []) {
  const order = new TurnOrder<Piece>()
  const done: Record<string, number> = {}
  for (const one of pieces) order.add(one)
  for (let turn = 1; turn <= turns; turn++) {
    for (const one of later(turn)) order.add(one)
    const one = order.next()
    if (!one) break
    if (--one.left > 0) order.add(one)
    else done[one.name] = turn
  }
  return done
}

const answers = (count: number, slices: number) =>
  Array.from({ length: count }, (_, at) => piece(`answer ${at}`, slices))

it('is done with long answers one after the other, and not with all of them at the end', () => {
  const done = Object.values(doneAt(answers(10, 5), 50))
  expect(done).toHaveLength(10)
  expect(done.filter((turn) => turn <= 25).length).toBeGreaterThanOrEqual(4)
})

it('does not hold an answer up for those that came after it', () => {
  const { first } = doneAt([piece('first', 8)], 200, (turn) => [piece(`later ${turn}`, 2)])
  expect(first).toBeLessThanOrEqual(10)
})

it('answers before it sums, and goes on with the sums all the same', () => {
  const sums = piece('sums', 1_000, true)
  doneAt([sums, ...answers(10, 5)], 40)
  expect(sums.slices).toBeGreaterThanOrEqual(1)
  expect(sums.slices).toBeLessThanOrEqual(2)
  // By themselves they have every turn.
  expect(doneAt([piece('sums', 20, true)], 20)).toEqual({ sums: 20 })
})

it('lets what goes on for long wait for what is short, but not for ever', () => {
  const long = piece('long', 400)
  const done = doneAt([long], 400, (turn) => (turn === 100 ? [piece('short', 5)] : []))
  expect(done.short).toBeLessThanOrEqual(106)
  // As many come as there are turns.
  const other = piece('long', 400)
  doneAt([other], 2_000, (turn) => [piece(`short ${turn}`, 1)])
  expect(other.slices).toBeGreaterThan(50)
})
