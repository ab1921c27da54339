import fc from 'fast-check'
import { expect, it } from 'vitest'
import { interleave, pieces } from './events.ts'

it('cuts any text into pieces that join to it and that are whole on their own', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme', minLength: 1_700, maxLength: 4_000 }),
  )
  fc.assert(
    fc.property(anyText, (text) => {
      const cut = pieces(text)
      expect(cut.join('')).toBe(text)
      expect(cut.every((piece) => piece.isWellFormed() && piece.length > 0)).toBe(true)
      expect(cut.length).toBeLessThanOrEqual(1_600)
    }),
  )
})

it('takes lists in turn', () => {
  expect(interleave([['a1', 'a2', 'a3'], ['b1'], []])).toEqual(['a1', 'b1', 'a2', 'a3'])
  expect(interleave([])).toEqual([])
})
