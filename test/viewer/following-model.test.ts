/** What `tail` prints and what open pages know of runs, against what the store says, however spans came and whatever went. */
import { rmSync } from 'node:fs'
import { expect, it, vi } from 'vitest'
import { Following } from '../../src/cli/tail/following.ts'
import type { SpanRow } from '../../src/viewer/model/span.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { StoreSource } from '../../src/viewer/store-source.ts'
import { RunMemory } from '../../ui/src/run-memory.ts'
import { databaseFile } from './start.ts'
import { Random } from './store-model/random.ts'
import { requestOf, type SentSpan } from './store-model/sent.ts'
import { randomRun } from './store-model/traffic.ts'
import { BEGIN_MS } from './store-model/world.ts'

/** More of them look further: `FOLLOWING_RUNS=2000`, `FOLLOWING_SEED=17` for one of them. */
const RUNS = Number(process.env.FOLLOWING_RUNS ?? 20)
const FIRST = Number(process.env.FOLLOWING_SEED ?? 1)

class Page {
  readonly memory = new RunMemory()
  readonly #traceId: string

  constructor(traceId: string) {
    this.#traceId = traceId
  }

  async look(source: StoreSource): Promise<void> {
    for (let asked = 0; asked < 3; asked++) {
      const since = this.memory.seq
      const reply = await source.run(this.#traceId, since)
      if (!reply || !this.memory.take(since, reply).isStale) return
    }
    throw new Error('It asks again and again.')
  }
}

/** As `tail` prints it: how a span was told last, and how often so. */
class Tail {
  readonly following: Following
  readonly told = new Map<string, Map<string, string[]>>()

  constructor(source: StoreSource, recent: number) {
    const asks: Pick<StoreSource, 'listRuns' | 'run'> = {
      listRuns: (...asked) => current.source.listRuns(...asked),
      run: (...asked) => current.source.run(...asked),
    }
    const current = { source }
    this.#current = current
    this.following = new Following(asks as StoreSource, '', recent)
  }

  readonly #current: { source: StoreSource }

  async look(source: StoreSource): Promise<void> {
    this.#current.source = source
    for (const { run, row } of (await this.following.look()).news) {
      const spans = this.told.get(run.traceId) ?? new Map<string, string[]>()
      this.told.set(run.traceId, spans)
      spans.set(row.spanId, [...(spans.get(row.spanId) ?? []), howOf(row)])
    }
  }
}

const howOf = (row: SpanRow) => (row.endUs > 0 ? 'ended' : `${row.state} ${row.outcome}`)
const byId = (rows: readonly SpanRow[]) => new Map(rows.map((row) => [row.spanId, row]))

async function play(seed: number, seen: Set<string>): Promise<void> {
  const random = new Random(seed)
  const file = random.chance(0.5) ? ':memory:' : databaseFile()
  let store = new Store({ file })
  let source = new StoreSource(store, file)
  let nowMs = BEGIN_MS
  const passing = (ms: number): void => {
    nowMs += ms
    vi.setSystemTime(nowMs)
  }
  const queues = Array.from({ length: random.between(1, 5) }, () => {
    const { spans } = randomRun(random, (BEGIN_MS - random.pick([100, 2_000, 90_000_000])) * 1000)
    return random.chance(0.5) ? spans : random.shuffled(spans)
  }).filter(({ length }) => length > 0)
  if (queues.length === 0) return store.close()
  const traceIds = queues.map(([span]) => span!.traceId)
  const pages = traceIds.map((traceId) => [traceId, new Page(traceId)] as const)
  const recent = random.pick([1, 2, 50])
  const tail = new Tail(source, recent)
  const wasRemoved = new Set<string>()
  const sent: SentSpan[] = []
  const acts: [number, string, () => void | Promise<void>][] = [
    [
      6,
      'spans',
      () => {
        const queue = random.pick(queues)
        const some = queue.splice(0, random.between(1, 8))
        if (random.chance(0.15) && sent.length > 0) some.push(random.pick(sent))
        sent.push(...some)
        const groups = some.map((span) => ({ resource: span.resource, scope: span.scope, spans: [span] }))
        store.addSpans(receiveTraces(requestOf(groups, 'json'), 'json').items)
      },
    ],
    [4, 'a page looks', () => random.pick(pages)[1].look(source)],
    [3, 'tail looks', () => tail.look(source)],
    [1, 'time goes by', () => passing(random.pick([10, 4_000, 700_000]))],
    [1, 'rechecks', () => void store.recheckOpenRuns()],
    [
      0.5,
      'removes',
      () => {
        const traceId = random.pick(traceIds)
        wasRemoved.add(traceId)
        store.removeRun(traceId)
      },
    ],
    [
      0.5,
      'starts again',
      () => {
        store.close()
        store = new Store({ file })
        source = new StoreSource(store, file)
        if (file === ':memory:') for (const traceId of traceIds) wasRemoved.add(traceId)
        for (const [, page] of pages) page.memory.startOver()
        tail.following.startOver()
      },
    ],
  ]
  const weights = acts.reduce((sum, [weight]) => sum + weight, 0)
  await tail.look(source)
  for (let step = 0; step < 60; step++) {
    passing(3)
    let at = random.next() * weights
    const [, what, act] = acts.find(([weight]) => {
      at -= weight
      return at < 0
    })!
    seen.add(what)
    await act()
  }
  for (const [traceId, page] of pages) {
    await page.look(source)
    const run = store.run(traceId)
    if (run) expect({ seed, rows: byId(page.memory.rows) }).toEqual({ seed, rows: byId(run.rows) })
  }
  // Dead ones are looked at now and then.
  for (let look = 0; look < 10; look++) await tail.look(source)
  // What comes of a run that is over, and older than those it looks at, it need not see.
  const inSight = new Set(store.listRuns('', { limit: recent, offset: 0 }).runs.map((run) => run.traceId))
  for (const [traceId, spans] of tail.told) {
    if (recent < 50 && !inSight.has(traceId)) continue
    const run = store.run(traceId)
    for (const [spanId, hows] of spans) {
      const row = run?.rows.find((one) => one.spanId === spanId)
      const before = hows.filter(
        (how, index) => how === hows[index + 1] || (how === 'ended' && hows[index + 1]),
      )
      if (!wasRemoved.has(traceId)) expect({ seed, spanId, before }).toEqual({ seed, spanId, before: [] })
      if (row) expect({ seed, spanId, told: hows.at(-1) }).toEqual({ seed, spanId, told: howOf(row) })
    }
    // Of a run that is told, each span is.
    if (recent === 50 && !wasRemoved.has(traceId))
      expect([...spans.keys()].sort()).toEqual([...byId(run!.rows).keys()].sort())
  }
  for (const { traceId } of store.listRuns('status:running,waiting', { limit: 100, offset: 0 }).runs)
    expect(tail.told.has(traceId)).toBe(true)
  store.close()
  if (file !== ':memory:') rmSync(file, { force: true })
}

it(
  'is at the end what the store says, and nothing is told twice',
  async () => {
    const seen = new Set<string>()
    vi.useFakeTimers({ toFake: ['Date'], now: BEGIN_MS })
    try {
      for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
        vi.setSystemTime(BEGIN_MS)
        await play(seed, seen).catch((error: Error) => {
          throw new Error(`FOLLOWING_SEED=${seed} FOLLOWING_RUNS=1: ${error.message}`, { cause: error })
        })
      }
    } finally {
      vi.useRealTimers()
    }
    if (RUNS >= 20)
      expect([...seen]).toEqual(
        expect.arrayContaining([
          'spans',
          'a page looks',
          'tail looks',
          'time goes by',
          'removes',
          'starts again',
        ]),
      )
  },
  Math.max(60_000, RUNS * 1_000),
)
