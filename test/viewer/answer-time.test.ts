/** What an answer may do before it is given: counted, as the time it takes is the machine's. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { Housekeeping } from '../../src/viewer/housekeeping.ts'
import { Live } from '../../src/viewer/http/live.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { databaseFile } from './start.ts'
import { id, otlp, type TestSpan } from './support.ts'

const trace = (run: number): string => (run + 1).toString(16).padStart(32, '0')

function open(answerMs: number, spans: TestSpan[]) {
  const file = databaseFile()
  const store = new Store({ file, answerMs })
  const db = new DatabaseSync(file)
  onTestFinished(() => {
    db.close()
    store.close()
  })
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items)
  const waiting = () =>
    (db.prepare('SELECT count(*) AS runs FROM run WHERE dirty = 1').get() as { runs: number }).runs
  return { store, waiting }
}

const call = (run: number): TestSpan => ({
  traceId: trace(run),
  spanId: id(run + 1),
  name: 'chat',
  start: run,
  end: run + 1,
  attributes: { 'gen_ai.operation.name': 'chat', 'input.value': 'chrysoprase' },
})
/** Of a run that did not come whole: what it lacks may be on its way. */
const partOf = (run: number): TestSpan => ({ ...call(run), parentSpanId: id(9_000_000) })

it('reads the rows of a long list some at a time', () => {
  const { store } = open(
    400,
    Array.from({ length: 1_300 }, (_, run) => call(run)),
  )
  const list = (limit: number) => {
    const work = store.listing('', { limit, offset: 0 })
    for (let turns = 0; ; turns++) {
      const step = work.next()
      if (step.done) return { turns, runs: step.value.runs }
    }
  }
  const short = list(500)
  const long = list(10_000)
  expect([short.runs.length, long.runs.length]).toEqual([500, 1_300])
  expect(long.turns - short.turns).toBe(2)
  // The newest first, across what was read at a time.
  const newest = Array.from({ length: 1_300 }, (_, run) => trace(1_299 - run))
  expect(long.runs.map(({ traceId }) => traceId)).toEqual(newest)
})

it('sums no more than a few when its time is over, and says so once the others are', () => {
  const { store, waiting } = open(
    0,
    Array.from({ length: 60 }, (_, run) => partOf(run)),
  )
  expect(waiting()).toBe(60)
  const { runs, total } = store.listRuns('', { limit: 50, offset: 0 })
  expect([runs.length, total]).toEqual([50, 60])
  // One of all, the oldest, and four of those in sight, the newest.
  expect(waiting()).toBe(55)
  expect(runs.map(({ spans }) => spans)).toEqual([1, 1, 1, 1, ...Array.from({ length: 46 }, () => 0)])
  expect(store.takeCaughtUp().size).toBe(0)
  while (store.work(1_000)) {}
  expect(store.takeCaughtUp()).toEqual(new Set(runs.slice(4).map(({ traceId }) => traceId)))
  expect(store.takeCaughtUp().size).toBe(0)
})

it('tells pages of runs that they were shown before those were summed', async () => {
  const { store } = open(
    0,
    Array.from({ length: 60 }, (_, run) => partOf(run)),
  )
  const live = new Live()
  const server = createServer((_request, response) => live.join(response)).listen(0)
  await once(server, 'listening')
  const page = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const housekeeping = new Housekeeping(store, live, () => {})
  onTestFinished(async () => {
    await housekeeping.stop()
    live.close()
    server.close()
  })
  const { runs } = store.listRuns('', { limit: 50, offset: 0 })
  housekeeping.start()
  const told = new Set<string>()
  for await (const part of page.body!.pipeThrough(new TextDecoderStream())) {
    for (const [traceId] of part.matchAll(/[0-9a-f]{32}/g)) told.add(traceId)
    if (told.size >= 46) break
  }
  expect(told).toEqual(new Set(runs.slice(4).map(({ traceId }) => traceId)))
})

it('shares its time among the two sets of a comparison', () => {
  const { store, waiting } = open(
    0,
    Array.from({ length: 20 }, (_, run) => partOf(run)),
  )
  store.diffSets('', 'status:ok')
  expect(waiting()).toBe(18)
})

it('has those of very many runs in order, the same as those of few', () => {
  const { store } = open(
    10_000,
    Array.from({ length: 10_050 }, (_, run) => call(run)),
  )
  const firstOf = (query: string, sort: string) => {
    const { runs, total } = store.listRuns(query, { limit: 3, offset: 1, sort })
    return { total, runs: runs.map(({ traceId }) => traceId) }
  }
  expect(firstOf('chrysoprase', '-started')).toEqual({
    total: 10_050,
    runs: [10_048, 10_047, 10_046].map(trace),
  })
  for (const sort of ['started', '-cost', 'duration'])
    expect(firstOf('chrysoprase status:ok', sort)).toEqual(firstOf('status:ok', sort))
})
