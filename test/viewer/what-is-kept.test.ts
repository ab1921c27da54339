/** Nothing stays in the file for what has gone. At random: `store-model.test.ts`. */
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { finish } from '../../src/viewer/model/in-turns.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store, type StoreOptions } from '../../src/viewer/store/store.ts'
import { databaseFile } from './start.ts'
import { compareKept } from './store-model/kept.ts'
import { id, otlp, runSpan, type TestSpan } from './support.ts'

function open(file: string, options: Partial<StoreOptions> = {}): Store {
  const store = new Store({ file, segmentDocuments: 1, ...options })
  onTestFinished(() => store.close())
  return store
}

const traceOf = (run: number) => (run + 1).toString(16).padStart(32, 'a')
const add = (store: Store, spans: TestSpan[], resource?: Record<string, string>, nowMs?: number) =>
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans, resource))), 'json').items, nowMs)
const log = (store: Store, traceId: string, body: string) =>
  finish(store.addingLogs([{ traceId, spanId: id(1), record: { body: { stringValue: body } } as never }]))

it('where spans came from goes with the last of them: it does not take the room of newer runs', () => {
  const file = databaseFile()
  const store = open(file, { maxBytes: 300_000 })
  for (let run = 0; run < 60; run++) {
    const resource = { 'service.name': `agent ${run}`, 'app.config': 'x'.repeat(8_000) }
    add(store, [runSpan('done', { traceId: traceOf(run) })], resource, 1_000 + run)
  }
  const removed = store.sweep()
  expect(removed).toBeGreaterThan(10)
  expect(removed).toBeLessThan(50)
  compareKept(file, [store])
})

it('what comes after its like was removed, by another viewer, too, is known where it came from', () => {
  const file = databaseFile()
  const [one, other] = [open(file), open(file)]
  for (const store of [one, other]) add(store, [runSpan('done', { traceId: traceOf(1) })])
  other.removeRun(traceOf(1))
  for (const store of [one, other]) {
    add(store, [runSpan('done', { traceId: traceOf(2) })])
    expect(store.run(traceOf(2))!.rows.map(({ service }) => service)).toEqual(['test'])
    compareKept(file, [one, other])
    store.removeRun(traceOf(2))
  }
})

it('two viewers of a file count the same spans, whichever of them takes and removes', () => {
  const file = databaseFile()
  const stores = [open(file), open(file)] as const
  for (const [run, store] of stores.entries()) {
    add(store, [runSpan('done', { traceId: traceOf(run) })])
    compareKept(file, stores)
  }
  stores[1].removeRun(traceOf(0))
  compareKept(file, stores)
  expect(stores[0].counts()).toMatchObject({ runs: 1, spans: 1 })
})

it.each([
  ['logs alone', 0],
  ['as many chunks as are removed at once, and a log', 8],
])('the words of a run of %s go with it', (_what, chunks) => {
  const file = databaseFile()
  const store = open(file)
  for (let chunk = 0; chunk < chunks; chunk++) add(store, [{ spanId: id(chunk + 1), traceId: traceOf(1) }])
  log(store, traceOf(1), 'walrus')
  while (store.work(100)) {}
  add(store, [runSpan('done', { traceId: traceOf(2) })])
  while (store.work(100)) {}
  store.removeRun(traceOf(1))
  compareKept(file, [store])
  expect(segmentsIn(file)).toBe(1)
})

it('the words of what was replaced go when nothing else is in their segment', () => {
  const file = databaseFile()
  const store = open(file)
  const started = { 'hookspan.span.state': 'started' }
  add(store, [runSpan('', { attributes: started })])
  store.work(100)
  add(store, [runSpan('done')])
  while (store.work(100)) {}
  store.work(100)
  compareKept(file, [store])
  expect(segmentsIn(file)).toBe(1)
})

it('what was removed before its words were kept is not kept', () => {
  const file = databaseFile()
  const store = open(file)
  add(store, [runSpan('done')])
  store.work(0)
  store.removeRun('a'.repeat(32))
  add(store, [runSpan('done', { traceId: traceOf(2) })])
  while (store.work(100)) {}
  compareKept(file, [store])
})

it('a word that another viewer keeps as removed is not found by what this one had noted itself', () => {
  const file = databaseFile()
  const [one, other] = [open(file), open(file, { segmentDocuments: 10_000 })]
  const started = { 'hookspan.span.state': 'started', text: 'walrus' }
  add(one, [runSpan('', { attributes: started })])
  for (const store of [one, other]) while (store.work(100)) {}
  expect(other.listRuns('walrus', { limit: 1, offset: 0 }).total).toBe(1)
  add(one, [runSpan('done')])
  while (one.work(100)) {}
  expect(other.listRuns('walrus', { limit: 1, offset: 0 }).total).toBe(0)
})

function segmentsIn(file: string): number {
  const db = new DatabaseSync(file)
  const { segments } = db.prepare('SELECT count(*) AS segments FROM word_segment').get() as {
    segments: number
  }
  db.close()
  return segments
}
