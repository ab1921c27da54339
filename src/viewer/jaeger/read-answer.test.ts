import { expect, it } from 'vitest'
import { otlp } from '../../../test/viewer/support.ts'
import { finish } from '../model/in-turns.ts'
import { readingAnswer } from './read-answer.ts'

const trace = (end: string, words = '') =>
  otlp([{ traceId: end.padStart(32, '0'), spanId: 'b'.repeat(16), attributes: { words } }])
const idsOf = (text: string) =>
  finish(readingAnswer(Buffer.from(text), 'Jaeger')).items.map(({ traceId }) => traceId.at(-1))

const one = JSON.stringify({ result: trace('1') })
const two = JSON.stringify({ result: trace('2') })

it.each([
  ['one document', one, ['1']],
  ['with space around', `\n ${one}\n\n`, ['1']],
  ['one after the other', `${one}\n${two}\n`, ['1', '2']],
  ['with another key', JSON.stringify({ result: trace('1'), next: 'a' }), ['1']],
  ['with the key in a text', JSON.stringify({ result: trace('1', '{"result":1}') }), ['1']],
  ['with nothing', '{}', []],
  ['empty', '', []],
])('reads an answer that is %s', (_what, text, ids) => {
  expect(idsOf(text)).toEqual(ids)
})

it.each([
  ['cut in a text', one.slice(0, -20)],
  ['cut before the last bracket', one.slice(0, -1)],
  ['cut in the second document', `${one}\n${two.slice(0, -2)}`],
  ['of another kind', '{"data":[]}'],
  ['a list', '[]'],
  ['no JSON', 'oh no'],
  ['with more behind it', `${one} and more`],
])('takes nothing of an answer that is %s', (_what, text) => {
  expect(() => idsOf(text)).toThrow('The answer of Jaeger is cut, or is not what Jaeger answers')
})
