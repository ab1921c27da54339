/** Requests that come in the same moment are stored together, and none is answered before it is stored. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { startViewer } from 'hookspan/viewer'
import { expect, it } from 'vitest'
import { TakenTogether } from '../../src/viewer/http/taken-together.ts'
import type { IncomingSpans } from '../../src/viewer/otlp/incoming.ts'
import { getJson, id, otlp, post } from './support.ts'

const items = (name: string, bytes = 10): IncomingSpans[] => [
  {
    traceId: name,
    origin: { key: '', resource: {}, scope: {} },
    count: 1,
    startUs: 0,
    hasRoot: true,
    body: Buffer.alloc(bytes),
  },
]

function gathering(fails: (names: string[]) => boolean = () => false) {
  const groups: string[][] = []
  let isOpen = false
  const taken = new TakenTogether(function* (all) {
    const names = all.map(({ traceId }) => traceId)
    groups.push(names)
    while (!isOpen) yield
    if (fails(names)) throw new Error(`no room for ${names}`)
  })
  return {
    groups,
    taken,
    commit: () => {
      isOpen = true
    },
  }
}

it('stores together what came together, and answers once it is stored', async () => {
  const { groups, taken, commit } = gathering()
  const answered: string[] = []
  const all = ['a', 'b', 'c'].map((name) => taken.add(items(name)).then(() => answered.push(name)))
  for (let turn = 0; turn < 5; turn++) await nextTurn()
  expect([groups, answered]).toEqual([[['a', 'b', 'c']], []])
  commit()
  await Promise.all(all)
  expect(answered).toEqual(['a', 'b', 'c'])
})

it('has nothing wait for what is large, and takes all that comes', async () => {
  const { groups, taken, commit } = gathering()
  commit()
  await Promise.all([
    taken.add(items('a')),
    taken.add(items('large', 2 ** 20)),
    taken.add(items('b')),
    taken.add([]),
  ])
  await taken.add(items('later'))
  expect(groups).toEqual([['a'], ['large'], ['b'], ['later']])
})

it('tells whose spans could not be stored, and stores those that came beside them', async () => {
  const { groups, taken, commit } = gathering((names) => names.includes('b'))
  commit()
  const told = await Promise.allSettled(['a', 'b', 'c'].map((name) => taken.add(items(name))))
  expect(told.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(groups).toEqual([['a', 'b', 'c'], ['a'], ['b'], ['c']])
})

it('tells each sender when nothing can be stored, and goes on', async () => {
  let isFull = true
  const { taken, commit } = gathering(() => isFull)
  commit()
  const [a, b] = await Promise.allSettled([taken.add(items('a')), taken.add(items('b'))])
  expect([a?.status, b?.status]).toEqual(['rejected', 'rejected'])
  isFull = false
  await taken.add(items('c'))
})

it('has every span of twenty requests at once when the last is answered', async () => {
  const viewer = await startViewer({ db: ':memory:', port: 0 })
  try {
    const trace = (at: number) => at.toString(16).padStart(32, 'e')
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        // Two of each run.
        post(viewer, otlp([{ traceId: trace(at >> 1), spanId: id(at + 1), name: `span ${at}`, end: 1 }])),
      ),
    )
    const { runs } = await getJson<{ runs: { spans: number }[] }>(viewer, '/api/runs?limit=100')
    expect(runs.map(({ spans }) => spans)).toEqual(Array.from({ length: 10 }, () => 2))
  } finally {
    await viewer.close()
  }
})
