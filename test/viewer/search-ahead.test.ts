/** Searching what is not indexed yet. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startViewer } from 'hookspan/viewer'
import { afterEach, expect, it } from 'vitest'
import { finish } from '../../src/viewer/model/in-turns.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { id, otlp, post, type TestSpan } from './support.ts'

const stores: Store[] = []
const folder = mkdtempSync(join(tmpdir(), 'hookspan-search-'))
afterEach(() => {
  for (const store of stores.splice(0)) store.close()
  rmSync(folder, { recursive: true, force: true })
})

function openStore(file = ':memory:'): Store {
  const store = new Store({ file })
  stores.push(store)
  return store
}

const trace = (at: number) => at.toString(16).padStart(32, 'f')
const add = (store: Store, spans: TestSpan[]) =>
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items)
const note = (at: number, text: string, more: Partial<TestSpan> = {}): TestSpan => ({
  traceId: trace(at),
  spanId: id(at + 1),
  name: `span ${at}`,
  attributes: { note: text },
  ...more,
})
const names = (store: Store, typed: string) => {
  let found = store.search(typed, 100)
  while (found.indexing > 0) found = store.search(typed, 100)
  return found.hits.map((hit) => hit.name).sort()
}

it('finds a word in what came since the index was made', () => {
  const store = openStore()
  for (let at = 0; at < 400; at++) add(store, [note(at, at % 100 === 7 ? 'a Chrysoprase ring' : 'nothing')])
  expect(names(store, 'chrysoprase')).toEqual(['span 107', 'span 207', 'span 307', 'span 7'])
  let list = store.listRuns('ring', { limit: 10, offset: 0 })
  while (list.indexing > 0) list = store.listRuns('ring', { limit: 10, offset: 0 })
  expect(list.total).toBe(4)
  add(store, [note(1000, 'chrysoprase'), note(1001, 'nothing')])
  expect(names(store, 'chrysoprase')).toHaveLength(5)
  while (store.work(1000)) {}
  expect(store.indexing).toBe(0)
  expect(names(store, 'chrysoprase')).toHaveLength(5)
  expect(names(store, 'nothing')).toHaveLength(100)
})

it('looks through the newest of what is not indexed though there is no time left', () => {
  const store = openStore()
  for (let at = 0; at < 400; at++) add(store, [note(at, 'walrus')])
  const found = finish(store.searching('walrus', 100, undefined, 0))
  expect(found.hits.map((hit) => hit.name)).toContain('span 399')
  expect(found.indexing).toBeGreaterThan(0)
})

it('indexes after a restart what was in memory only', () => {
  const file = join(folder, 'traces.db')
  const before = openStore(file)
  for (let at = 0; at < 50; at++) add(before, [note(at, at === 30 ? 'walrus' : 'nothing')])
  expect(names(before, 'walrus')).toEqual(['span 30'])
  stores.pop()!.close()
  const after = openStore(file)
  expect(after.indexing).toBe(50)
  while (after.work(1000)) {}
  expect(after.indexing).toBe(0)
  expect(names(after, 'walrus')).toEqual(['span 30'])
})

it('does not find what was replaced, though it was indexed', () => {
  const store = openStore()
  add(store, [note(1, 'nothing')])
  add(store, [note(2, 'walrus', { attributes: { note: 'walrus', 'hookspan.span.state': 'started' } })])
  expect(names(store, 'walrus')).toEqual(['span 2'])
  add(store, [note(2, 'penguin')])
  expect(names(store, 'walrus')).toEqual([])
  expect(names(store, 'penguin')).toEqual(['span 2'])
  while (store.work(1000)) {}
  expect([store.indexing, names(store, 'walrus'), names(store, 'penguin')]).toEqual([0, [], ['span 2']])
})

it('does not find a run that was removed, though it was indexed', () => {
  const store = openStore()
  for (let at = 0; at < 3; at++) add(store, [note(at, 'walrus')])
  expect(names(store, 'walrus')).toHaveLength(3)
  store.removeRun(trace(1))
  expect(store.indexing).toBe(0)
  expect(names(store, 'walrus')).toEqual(['span 0', 'span 2'])
})

it.each([
  ['a number', '4711'],
  ['an id', id(4712 + 1)],
  ['another alphabet', 'ПРИВЕТ'],
  ['letters with accents', 'CAFE creme'],
  ['the beginning of a word', 'rhinoc'],
  ['two words', 'nashorn rhinoceros'],
])('finds %s in what is not indexed', (_name, typed) => {
  const store = openStore()
  for (let at = 0; at < 20; at++) add(store, [note(at, 'nothing')])
  const attributes = { count: 4711, note: 'привет, Café cre\u0300me, rhinoceros', list: ['Nashorn'] }
  add(store, [note(4712, '', { attributes })])
  expect(names(store, typed)).toEqual(['span 4712'])
})

it('says how much it did not reach, and goes on from there', async () => {
  const store = openStore()
  const spans = Array.from({ length: 1000 }, (_, at) => note(at, 'a common word '.repeat(50)))
  for (const span of spans) add(store, [span])
  const reach = store.searching('common', 5, undefined, 0)
  let step = reach.next()
  while (!step.done) step = reach.next()
  expect(step.value.indexing).toBeGreaterThan(0)
  // Each time it goes on where it was.
  let found = store.search('common', 1000)
  while (found.indexing > 0) found = store.search('common', 1000)
  expect(found.hits.length).toBe(1000)
})

it('answers others while it searches', async () => {
  const viewer = await startViewer({ db: ':memory:', port: 0 })
  for (let at = 0; at < 6; at++)
    await post(
      viewer,
      otlp(Array.from({ length: 2000 }, (_, span) => note(at * 2000 + span, 'common '.repeat(100)))),
    )
  let answered = 0
  const search = fetch(`${viewer.url}/api/search?q=common`).then(() => answered)
  for (let at = 0; at < 5; at++) {
    await fetch(`${viewer.url}/v1/hookspan`).then((response) => response.text())
    answered++
  }
  expect(await search).toBeGreaterThan(0)
  await viewer.close()
})
