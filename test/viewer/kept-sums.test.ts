/** Sums over all runs are kept from one question to the next: what is told is what there is. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import { USE_KINDS } from '../../src/viewer/model/run-uses.ts'
import { percentile, percentileOf } from '../../src/viewer/model/statistics.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { id, otlp, type TestSpan } from './support.ts'

const folder = mkdtempSync(join(tmpdir(), 'hookspan-sums-'))
const file = join(folder, 'traces.db')
const stores: Store[] = []
afterEach(() => {
  for (const store of stores.splice(0)) store.close()
  rmSync(folder, { recursive: true, force: true })
})

function open(): Store {
  stores.push(new Store({ file }))
  return stores.at(-1)!
}

const trace = (at: number) => (at + 1).toString(16).padStart(32, '0')
const add = (store: Store, spans: TestSpan[]) =>
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items)

function run(at: number, tool: string, ms = 100 + at, error?: string): TestSpan[] {
  const root = id(at * 2 + 1)
  const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool }
  return [
    { traceId: trace(at), spanId: root, name: 'invoke_agent a', start: at, end: at + 2 * ms },
    {
      traceId: trace(at),
      spanId: id(at * 2 + 2),
      parentSpanId: root,
      name: `execute_tool ${tool}`,
      attributes,
      start: at,
      end: at + ms,
      ...(error && { error }),
    },
  ]
}

/** Of all runs; by a query that all fulfil, nothing is kept. */
const told = (store: Store, query = '') => [
  store.numbers(query),
  ...USE_KINDS.map((kind) => store.uses(query, kind)),
]
const isSame = (store: Store) => expect(told(store)).toEqual(told(store, 'after:2001-01-01'))

it('tells what there is after each change, as who asks for some of them is told', () => {
  const store = open()
  expect(store.numbers('').runs).toBe(0)
  // More than two blocks.
  for (let from = 0; from < 2500; from += 100)
    add(store, Array.from({ length: 100 }, (_, at) => run(from + at, `tool-${at % 3}`)).flat())
  isSame(store)
  expect(store.numbers('').runs).toBe(2500)
  add(store, run(2500, 'tool-0', 7))
  isSame(store)
  // A call that comes later, to a run that was summed, in the first block.
  const late = { ...run(1, 'late', 50, 'boom')[1]!, spanId: id(99_999) }
  add(store, [late])
  isSame(store)
  expect(store.uses('', 'tool').uses.find(({ name }) => name === 'late')).toMatchObject({ calls: 1, runs: 1 })
  // One that is replaced.
  add(store, [{ ...late, attributes: { ...late.attributes, 'gen_ai.tool.name': 'later' } }])
  isSame(store)
  expect(store.uses('', 'tool').uses.some(({ name }) => name === 'late')).toBe(false)
  store.removeRun(trace(1))
  isSame(store)
  expect(store.uses('', 'tool').uses.some(({ name }) => name === 'later')).toBe(false)
  store.sweep(Date.now() + 10 ** 12)
  isSame(store)
})

/** Of the blocks of runs, how many it makes. */
function turnsOf(work: Generator<unknown>): number {
  for (let turns = 0; ; turns++) if (work.next().done) return turns
}

it('has made what most ask for first before anybody asks, but for the newest runs', () => {
  const before = open()
  for (let from = 0; from < 4000; from += 500)
    add(before, Array.from({ length: 500 }, (_, at) => run(from + at, 'tool')).flat())
  while (before.work(1_000)) {}
  before.close()
  stores.splice(0)

  const asked = open()
  const ask = (store: Store) => [turnsOf(store.counting('')), turnsOf(store.summingUses('', 'tool'))]
  const [counting, summing] = ask(asked) as [number, number]
  const again = ask(asked) as [number, number]
  // Four blocks.
  expect([counting - again[0], summing - again[1]]).toEqual([4, 4])

  const store = open()
  while (store.work(1_000)) {}
  expect(ask(store)).toEqual([again[0] + 1, again[1] + 1])
  // No more than once: a run that changes is not made anew each time.
  add(store, [{ ...run(1, 'tool', 50)[1]!, spanId: id(99_999) }])
  while (store.work(1_000)) {}
  expect(ask(store)).toEqual([again[0] + 1, again[1] + 1])
  isSame(store)
})

it('sees what another viewer of the file stored and removed', () => {
  const store = open()
  add(store, run(0, 'mine'))
  expect(told(store)).toMatchObject([{ runs: 1 }, { uses: [{ name: 'mine' }] }, {}, {}, {}, {}])
  const other = open()
  add(other, run(1, 'theirs'))
  expect(
    store
      .uses('', 'tool')
      .uses.map(({ name }) => name)
      .sort(),
  ).toEqual(['mine', 'theirs'])
  other.removeRun(trace(0))
  expect(store.uses('', 'tool').uses.map(({ name }) => name)).toEqual(['theirs'])
  expect(store.numbers('').runs).toBe(1)
})

it('finds percentiles of several sorted lists as of one', () => {
  const floats = fc.array(fc.float({ noNaN: true }), { maxLength: 30 })
  fc.assert(
    fc.property(
      fc.array(floats, { maxLength: 5 }),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
      (lists, share) => {
        const parts = lists.map((list) => Float32Array.from(list).sort())
        const all = Float32Array.from(lists.flat()).sort()
        const wanted = all.length > 0 ? percentile(all, share) + 0 : undefined
        const found = percentileOf(parts, share)
        expect(found === undefined ? found : found + 0).toBe(wanted)
      },
    ),
  )
})
