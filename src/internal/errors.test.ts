import { expect, it } from 'vitest'
import { describeValue } from './errors.ts'

it.each([
  [{ content: () => 1 }, '`{"content":"[function]"}` (object)'],
  [Promise.resolve('x'), '`"[object Promise]"` (object)'],
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
