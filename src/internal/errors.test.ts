import { expect, it } from 'vitest'
import { describeValue, errorSentence } from './errors.ts'

it.each([
  [{ content: () => 1 }, '`{"content":"[function]"}` (object)'],
  [{ tools: new Map([['a', 1]]) }, '`{"tools":"[object Map]"}` (object)'],
  [
    { costUsd: Number.NaN, most: Number.POSITIVE_INFINITY },
    '`{"costUsd":"[NaN]","most":"[Infinity]"}` (object)',
  ],
  [{ id: 7n }, '`{"id":"[7]"}` (object)'],
  [[Symbol('x')], '`["[symbol]"]` (array)'],
  [new Uint8Array(9), '`[object Uint8Array]` (object)'],
  [{ body: Buffer.alloc(9) }, '`{"body":"[object Uint8Array]"}` (object)'],
  [[new Float32Array(9)], '`["[object Float32Array]"]` (array)'],
])('shows what JSON would leave out or change: %#', (value, shown) => {
  expect(describeValue(value)).toBe(shown)
})

it('tells who hands in a promise what is missing', () => {
  expect(describeValue(Promise.resolve(1))).toBe('`"[object Promise]"` (a promise: `await` it)')
  expect(describeValue({ then: 1 })).toBe('`{"then":1}` (object)')
})

it('shows the beginning of what is long', () => {
  const many = Array.from({ length: 200 }, (_item, i) => i)
  for (const value of [
    many,
    { many },
    Object.fromEntries(many.map((i) => [`k${i}`, i])),
    ['x'.repeat(200)],
  ]) {
    expect(describeValue(value)).toContain(`\`${JSON.stringify(value).slice(0, 77)}...\``)
  }
  expect(describeValue('x'.repeat(200))).toBe(`\`"${'x'.repeat(76)}...\` (string)`)
})

it('does not go round in circles', () => {
  const itself: Record<string, unknown> = { bytes: new Uint8Array(1) }
  itself.again = itself
  expect(describeValue(itself)).toMatch(/^`\{"bytes":"\[object Uint8Array\]","again":/)
})

it.each([
  ['no such file', 'no such file.'],
  ['Known: a, b.', 'Known: a, b.'],
  ['Is it there?', 'Is it there?'],
])('ends a sentence of %j with one full stop', (message, sentence) => {
  expect(errorSentence(new Error(message))).toBe(sentence)
})
