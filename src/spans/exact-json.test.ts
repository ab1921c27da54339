import { expect, it } from 'vitest'
import { isExactObject } from './exact-json.ts'

function isExact(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && text.startsWith('{') && JSON.stringify(value) === text
  } catch {
    return false
  }
}

const EDGES = [
  '',
  '{',
  '{}',
  '[]',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{"a":[1,]}',
  '{"a":1} ',
  '{ "a":1}',
  '{"a":1}{}',
  '{"a":1,"a":2}',
  '{"b":1,"2":1,"1":1}',
  '{"1":1,"b":1}',
  '{"__proto__":{"a":1}}',
  '{"toJSON":1}',
  '{"":""}',
  '{"a":-0}',
  '{"a":-0.5}',
  '{"a":0.0}',
  '{"a":1.50}',
  '{"a":0.000001}',
  '{"a":0.0000001}',
  '{"a":1e5}',
  '{"a":1E5}',
  '{"a":1.5e3}',
  '{"a":01}',
  '{"a":-}',
  '{"a":.5}',
  '{"a":5.}',
  '{"a":123456789012345}',
  '{"a":9007199254740993}',
  '{"a":0.1234567890123456789}',
  '{"a":"\\/"}',
  '{"a":"\\u0041"}',
  '{"a":"\\u0001\\n\\"\\\\"}',
  '{"a":"\n"}',
  '{"a":"\\x"}',
  '{"a":"\\',
  '{"a":"\ud800"}',
  '{"a":"\\ud800"}',
  '{"a":"\u2028é😀"}',
  '{"a":tru}',
  '{"a":nulll}',
  '{"a":undefined}',
  `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`,
  `{"a":${'['.repeat(100)}${']'.repeat(100)}}`,
  `{${Array.from({ length: 50 }, (_, key) => `"k${key}":${key}`).join(',')}}`,
  `{${Array.from({ length: 50 }, (_, key) => `"k${key % 40}":${key}`).join(',')}}`,
]

it.each(EDGES)('says of %j what the engine does', (text) => {
  expect(isExactObject(text)).toBe(isExact(text))
})

it('says of texts that were changed at one place what the engine does', () => {
  const text = JSON.stringify({
    id: 'order-1',
    lines: [{ sku: 'a"b\\c\n', count: 12, price: -1.25, open: true }, { sku: '' }],
    none: null,
    deep: { list: [0, 10, 0.5, [], {}], off: false },
  })
  const pieces = ['', ' ', '"', ',', '0', '1', 'e', '-', '.', '{', '}', '\\', 'a', ':', ']']
  const wrong: string[] = []
  for (let at = 0; at <= text.length; at++) {
    for (const piece of pieces) {
      for (const removed of [0, 1, 2]) {
        const changed = text.slice(0, at) + piece + text.slice(at + removed)
        if (isExactObject(changed) !== isExact(changed)) wrong.push(changed)
      }
    }
  }
  expect(wrong).toEqual([])
})
