/** Searching what is not indexed yet. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startViewer } from 'hookspan/viewer'
import { afterEach, expect, it } from 'vitest'
import { finish } from '../../src/viewer/model/in-turns.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { mayHold } from '../../src/viewer/store/may-hold.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { foldedWord, wordQuery } from '../../src/viewer/store/words.ts'
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
/** A protobuf field of bytes. */
function field(number: number, body: Buffer): Buffer {
  const length = body.length < 128 ? [body.length] : [(body.length & 0x7f) | 0x80, body.length >> 7]
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), body])
}
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
  while (store.work(1000)) {}
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
  while (store.work(1000)) {}
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

it.each([
  ['a word', 'Chrysoprase'],
  ['a word that could be an id', 'decade'],
  ['the beginning of an id', 'c0ffee00c'],
  ['a whole id', 'c0ffee00c0ffee00'],
  ['a number', '4711'],
  ['letters with accents', 'cafe creme'],
  ['another alphabet', 'ПРИВЕТ'],
  ['an event', 'onyx'],
])('finds %s in spans that came as protobuf, indexed or not', (_name, typed) => {
  const store = openStore()
  const texts = 'A CHRYSOPRASE of the Decade, Café cre\u0300me, привет'
  for (let at = 0; at < 20; at++) {
    const holds = at === 7
    const attribute = (key: string, value: Buffer) =>
      field(9, Buffer.concat([field(1, Buffer.from(key)), field(2, value)]))
    const time = Buffer.alloc(9, 0x39)
    const span = Buffer.concat([
      field(1, Buffer.from(trace(at), 'hex')),
      field(2, Buffer.from(holds ? 'c0ffee00c0ffee00' : id(at + 1), 'hex')),
      field(5, Buffer.from(`span ${at}`)),
      time,
      attribute('text', field(1, Buffer.from(holds ? texts : 'nothing of it'))),
      attribute('count', Buffer.from(holds ? [0x18, 0xe7, 0x24] : [0x18, 0x0c])),
      holds ? field(11, field(2, Buffer.from('onyx'))) : Buffer.alloc(0),
    ])
    const body = field(1, field(2, field(2, span)))
    store.addSpans(receiveTraces(body, 'protobuf').items)
  }
  expect([store.indexing, names(store, typed)]).toEqual([20, ['span 7']])
  while (store.work(1000)) {}
  expect([store.indexing, names(store, typed)]).toEqual([0, ['span 7']])
})

it('takes no character for another one than the index does', () => {
  for (let point = 128; point <= 0x10ffff; point++) {
    if (point >= 0xd800 && point < 0xe000) continue
    const char = String.fromCodePoint(point)
    if (!/[\p{L}\p{N}\p{M}\p{Co}]/u.test(char)) continue
    const folded = foldedWord(`g${char}x`)
    if (!/^[a-z0-9]+$/.test(folded)) continue
    const [pattern] = mayHold(wordQuery(folded)!)
    if (!pattern!.test(Buffer.from(`g${char}x`).toString('latin1'))) expect.fail(`U+${point.toString(16)}`)
  }
})

it('finds a log that is not indexed yet', () => {
  const store = openStore()
  add(store, [note(1, 'nothing')])
  const log = { traceId: trace(1), spanId: id(2), body: { stringValue: 'a walrus' } }
  finish(store.addingLogs([{ traceId: trace(1), spanId: id(2), record: log as never }]))
  expect(names(store, 'walrus')).toEqual(['span 1'])
  expect(store.listRuns('walrus', { limit: 10, offset: 0 })).toMatchObject({ total: 1, indexing: 0 })
})

it('is whole after some asks, though nothing is indexed meanwhile', () => {
  const store = openStore()
  for (let at = 0; at < 400; at++) add(store, [note(at, at === 0 ? 'walrus' : 'nothing')])
  let asks = 1
  let found = finish(store.searching('walrus', 100, undefined, 0))
  for (; found.indexing > 0; asks++) found = finish(store.searching('walrus', 100, undefined, 0))
  expect([asks > 1, store.indexing, found.hits.map((hit) => hit.name)]).toEqual([true, 400, ['span 0']])
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
  const search = fetch(`${viewer.url}/api/search?q=walrus`).then(() => answered)
  for (let at = 0; at < 5; at++) {
    await fetch(`${viewer.url}/v1/hookspan`).then((response) => response.text())
    answered++
  }
  expect(await search).toBeGreaterThan(0)
  await viewer.close()
})
