/** What `tail` prints, look by look, and what an open page makes of what it is told. At random: `following-model.test.ts`. */
import { expect, it, onTestFinished } from 'vitest'
import { Following } from '../../src/cli/tail/following.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { StoreSource } from '../../src/viewer/store-source.ts'
import { RunMemory } from '../../ui/src/run-memory.ts'
import { id, nowMs, otlp, runSpan, type TestSpan, TRACE } from './support.ts'

const STARTED = { 'hookspan.span.state': 'started' }
const begun = (span: TestSpan): TestSpan => ({
  ...span,
  end: 0,
  attributes: { ...span.attributes, ...STARTED },
})

async function following(recent?: number) {
  const store = new Store({ file: ':memory:' })
  onTestFinished(() => store.close())
  const tail = new Following(new StoreSource(store, 'memory'), '', recent)
  await tail.look()
  const look = async () =>
    (await tail.look()).news.map(({ row }) => `${row.name} ${row.endUs > 0 ? 'ended' : row.state}`)
  return { store, look }
}

const add = (store: Store, ...spans: TestSpan[]) =>
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items)

it('tells that a tool ended while another one still waits', async () => {
  const { store, look } = await following()
  const start = nowMs()
  const tool: TestSpan = { spanId: id(2), parentSpanId: id(1), name: 'tool', start }
  const asked: TestSpan = { spanId: id(3), parentSpanId: id(1), name: 'human_intervention', start: start + 5 }
  add(store, begun(runSpan('', { start })), begun(tool), begun(asked))
  expect(await look()).toHaveLength(3)
  add(store, { ...tool, end: start + 1 })
  expect(await look()).toEqual(['tool ended'])
})

it('follows a run that goes on while as many newer ones began as it looks at', async () => {
  const { store, look } = await following(1)
  const traceId = 'b'.repeat(32)
  add(store, begun(runSpan('', { name: 'long', start: nowMs() - 100 })))
  await look()
  add(store, runSpan('done', { traceId, name: 'newer', start: nowMs(), end: nowMs() }))
  expect(await look()).toEqual(['newer ended'])
  add(store, { spanId: id(2), parentSpanId: id(1), name: 'inside' })
  expect(await look()).toEqual(['inside ended'])
  add(store, runSpan('done', { name: 'long' }))
  expect(await look()).toEqual(['long ended'])
})

it('takes no old run for news that comes into sight because a newer one was removed', async () => {
  const store = new Store({ file: ':memory:' })
  onTestFinished(() => store.close())
  const newer = 'b'.repeat(32)
  add(store, runSpan('done', { name: 'older' }), runSpan('done', { traceId: newer, start: 50, end: 60 }))
  const tail = new Following(new StoreSource(store, 'memory'), '', 1)
  await tail.look()
  store.removeRun(newer)
  expect((await tail.look()).news).toEqual([])
})

it('tells a span that is sent twice once', async () => {
  const { store, look } = await following()
  add(store, runSpan('done', { name: 'run' }))
  expect(await look()).toEqual(['run ended'])
  add(store, runSpan('done', { name: 'run' }), { spanId: id(2), parentSpanId: id(1), name: 'new' })
  expect(await look()).toEqual(['new ended'])
})

it('a page has nothing left of a run that was removed and came again', () => {
  const store = new Store({ file: ':memory:' })
  onTestFinished(() => store.close())
  const memory = new RunMemory()
  const look = () => memory.take(memory.seq, store.run(TRACE, memory.seq)!)
  add(store, runSpan('done'), { spanId: id(2), parentSpanId: id(1), name: 'old' })
  look()
  store.removeRun(TRACE)
  add(store, runSpan('done', { name: 'again' }))
  expect(look().isStale).toBe(true)
  expect(look()).toEqual({ isNews: true, isStale: false })
  expect(memory.rows.map(({ name }) => name)).toEqual(['again'])
})

it('a page is told that what goes on died, though nothing came of it', () => {
  const store = new Store({ file: ':memory:' })
  onTestFinished(() => store.close())
  const memory = new RunMemory()
  const look = (at: number) => memory.take(memory.seq, store.run(TRACE, memory.seq, at)!)
  add(store, runSpan('done'), begun({ spanId: id(2), parentSpanId: id(1), name: 'lost' }))
  look(Date.now())
  expect(look(Date.now()).isNews).toBe(false)
  expect(look(Date.now() + 3_600_000).isNews).toBe(true)
  expect(memory.rows.map(({ state }) => state)).toEqual(['ended', 'interrupted'])
})
