/** Two viewers of one file, each with what it knows of it in memory. */
import { expect, it, onTestFinished } from 'vitest'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { databaseFile } from './start.ts'
import { id, otlp, runSpan, type TestSpan, TRACE } from './support.ts'

const OTHER = 'b'.repeat(32)
const LATE: TestSpan = { spanId: id(2), parentSpanId: id(1), name: 'late' }

function twoStores(): [Store, Store] {
  const file = databaseFile()
  const stores = [new Store({ file }), new Store({ file })] as [Store, Store]
  onTestFinished(() => stores.forEach((store) => void store.close()))
  return stores
}

const add = (store: Store, ...spans: TestSpan[]) =>
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items)
const namesIn = (store: Store, traceId: string) => store.run(traceId)?.rows.map(({ name }) => name)

it('shows of a run nothing of another one, which the other viewer removed', () => {
  const [one, other] = twoStores()
  add(one, runSpan('done', { name: 'old' }))
  expect(namesIn(other, TRACE)).toEqual(['old'])
  one.removeRun(TRACE)
  add(one, runSpan('done', { traceId: OTHER, spanId: id(9), name: 'new' }))
  expect(namesIn(other, OTHER)).toEqual(['new'])
})

it.each([
  ['and a new run came', true],
  ['and nothing came since', false],
])('begins a run anew that the other viewer removed, %s', (_what, hasNew) => {
  const [one, other] = twoStores()
  add(other, runSpan('done'))
  one.removeRun(TRACE)
  if (hasNew) add(one, runSpan('done', { traceId: OTHER, name: 'new' }))
  add(other, LATE)
  for (const store of [one, other]) {
    expect(namesIn(store, TRACE)).toEqual(['late'])
    expect(namesIn(store, OTHER)).toEqual(hasNew ? ['new'] : undefined)
  }
})
