import { expect, it } from 'vitest'
import { AnyCollector } from './formats.ts'

/** What is read of a stream with these pieces of calls, one in a chunk. */
function read(...calls: object[]) {
  const collector = new AnyCollector()
  for (const functionCall of calls) {
    collector.push({ candidates: [{ content: { role: 'model', parts: [{ functionCall }] } }] })
  }
  collector.push({ candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'STOP' }] })
  return collector.read().response.toolCalls
}

const piece = (jsonPath: string, value: object) => ({
  partialArgs: [{ jsonPath, ...value }],
  willContinue: true,
})

it('makes one call of the pieces in which Google sends its arguments', () => {
  const calls = [
    { name: 'book', id: 'f1', willContinue: true },
    piece('$.city', { stringValue: 'Bos', willContinue: true }),
    piece('$.city', { stringValue: 'ton' }),
    piece('$.bags[0].kg', { numberValue: 3 }),
    piece("$.bags[1]['how many']", { boolValue: false }),
    piece('$.note', { nullValue: 'NULL_VALUE' }),
    {},
    { name: 'look', partialArgs: [{ jsonPath: '$.q', stringValue: 'x' }] },
    { name: 'find', id: 'f2', args: { q: 1 } },
  ]
  const sent = structuredClone(calls)
  expect(read(...calls)).toEqual([
    {
      toolCallId: 'f1',
      apiName: 'book',
      args: { city: 'Boston', bags: [{ kg: 3 }, { 'how many': false }], note: null },
    },
    { toolCallId: '', apiName: 'look', args: { q: 'x' } },
    { toolCallId: 'f2', apiName: 'find', args: { q: 1 } },
  ])
  expect(calls, 'the pieces are their reader’s').toEqual(sent)
})

it('puts nothing where a place does not fit, and nothing into what all objects share', () => {
  const [call] =
    read(
      { name: 'book', willContinue: true },
      piece('$.list[4000000000]', { numberValue: 1 }),
      piece('$.list[0]', { numberValue: 1 }),
      piece('$.list.name', { numberValue: 1 }),
      piece('$.__proto__.polluted', { boolValue: true }),
      piece('$', { numberValue: 1 }),
      {},
    ) ?? []
  expect(JSON.stringify(call?.args)).toBe('{"list":[1],"__proto__":{"polluted":true}}')
  expect({}).not.toHaveProperty('polluted')
})
