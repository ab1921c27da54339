import type { Attributes } from '@opentelemetry/api'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anySpan } from '../../../test/support/any-span.ts'
import { spanBytes } from './span-bytes.ts'
import { endedBytes, startedBytes } from './started-bytes.ts'
import type { ReadableSpan } from './types.ts'

/** The span with other values of some fields. */
function like(span: ReadableSpan, fields: Partial<ReadableSpan>): ReadableSpan {
  return Object.create(span, Object.getOwnPropertyDescriptors(fields)) as ReadableSpan
}

/** As it may have been at its start: with the first of its attributes, and nothing of its end. */
function started(span: ReadableSpan, count: number): ReadableSpan {
  const attributes = Object.fromEntries(Object.entries(span.attributes).slice(0, count))
  return like(span, { attributes, endTime: [0, 0], events: [], links: [], status: { code: 0 } })
}

function expectSame(before: ReadableSpan, after: ReadableSpan) {
  const bytes = startedBytes(before)
  expect(Buffer.from(bytes.bytes)).toEqual(Buffer.from(spanBytes(before).bytes))
  const ended = endedBytes(after, bytes)
  expect(Buffer.from(ended.bytes)).toEqual(Buffer.from(spanBytes(after).bytes))
  expect(ended.head).toBe(spanBytes(after).head)
}

describe('the bytes of a span that ended', () => {
  it('are those of the span, whatever came since its start', () => {
    const property = fc.property(anySpan, fc.nat({ max: 8 }), (span, count) => {
      expectSame(started(span, count), span)
    })
    fc.assert(property, { numRuns: 100 })
  })

  it('are those of the span, whatever was changed since its start', () => {
    const property = fc.property(anySpan, anySpan, fc.nat({ max: 8 }), (span, other, count) => {
      const before = started(span, count)
      expectSame(before, like(span, { name: other.name }))
      expectSame(before, like(span, { attributes: other.attributes }))
      expectSame(before, like(span, { attributes: { ...span.attributes, ...other.attributes } }))
      expectSame(before, like(span, { startTime: other.startTime }))
    })
    fc.assert(property, { numRuns: 40 })
  })

  it('tell of a list that was changed in place', () => {
    fc.assert(
      fc.property(anySpan, (span) => {
        const list = ['a']
        const attributes: Attributes = { first: 1, list, last: 'x' }
        const bytes = startedBytes(like(span, { attributes }))
        list.push('b')
        const after = like(span, { attributes: { ...attributes, more: true } })
        expect(Buffer.from(endedBytes(after, bytes).bytes)).toEqual(Buffer.from(spanBytes(after).bytes))
      }),
      { numRuns: 5 },
    )
  })

  it.each([
    ['a value', { a: 1, b: 'y', c: true }],
    ['a number that is none', { a: Number.NaN, b: 'x', c: true }],
    ['a key fewer', { a: 1, b: 'x' }],
    ['the order', { b: 'x', a: 1, c: true }],
    ['a key between', { a: 1, 7: 'seven', b: 'x', c: true }],
    ['nothing', { a: 1, b: 'x', c: true }],
    ['more keys', { a: 1, b: 'x', c: true, d: 'y'.repeat(20_000) }],
  ] as [string, Attributes][])('are right when what was changed is %s', (_, attributes) => {
    const [span] = fc.sample(anySpan, 1) as [ReadableSpan]
    expectSame(like(span, { attributes: { a: 1, b: 'x', c: true } }), like(span, { attributes }))
  })
})
