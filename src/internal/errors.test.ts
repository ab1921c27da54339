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
])('shows what JSON would leave out or change: %#', (value, shown) => {
  expect(describeValue(value)).toBe(shown)
})

it('tells who hands in a promise what is missing', () => {
  expect(describeValue(Promise.resolve(1))).toBe('`"[object Promise]"` (a promise: `await` it)')
  expect(describeValue({ then: 1 })).toBe('`{"then":1}` (object)')
})

it.each([
  ['no such file', 'no such file.'],
  ['Known: a, b.', 'Known: a, b.'],
  ['Is it there?', 'Is it there?'],
])('ends a sentence of %j with one full stop', (message, sentence) => {
  expect(errorSentence(new Error(message))).toBe(sentence)
})
