/** The runs of one query against those of another. */
import { expect, it } from 'vitest'
import type { SetDiff } from '../../src/viewer/model/set-diff.ts'
import { verdictOf } from '../../src/viewer/model/set-diff.ts'
import type { RunList } from '../../src/viewer/store/reader.ts'
import { start } from './start.ts'
import { getJson, id, otlp, post } from './support.ts'

/** Of version 1.4, a tenth fail and each takes 100 to 199 ms; of 1.5, the half, and 300 to 399 ms. */
async function twoVersions() {
  const viewer = await start()
  for (const [version, every, ms] of [
    ['1.4', 10, 100],
    ['1.5', 2, 300],
  ] as const) {
    const spans = Array.from({ length: 100 }, (_item, index) => ({
      traceId: `${version === '1.4' ? 'a' : 'b'}${index.toString(16).padStart(31, '0')}`,
      spanId: id(1),
      start: index * 10,
      end: index * 10 + ms + index,
      ...(index % every === 0 && { error: 'it broke' }),
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'support' },
    }))
    await post(viewer, otlp(spans, { 'service.name': 'shop', 'service.version': version, 'process.pid': 1 }))
  }
  // What is not summed is no part of a set yet.
  while (viewer.store.work(1000)) {}
  return viewer
}

const V14 = 'resource:service.version=1.4'
const V15 = 'resource:service.version=1.5'

it('says what differs, between what it lies, and what these runs do not show', async () => {
  const viewer = await twoVersions()
  const compare = (a: string, b: string) =>
    getJson<SetDiff>(viewer, `/api/sets?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`)
  const diff = await compare(V14, V15)
  expect(diff).toMatchObject({ a: { runs: 100, ended: 100 }, b: { runs: 100, ended: 100 }, problems: [] })
  const measure = (key: string) => diff.measures.find((one) => one.key === key)!
  expect(measure('failed')).toMatchObject({ a: 0.1, b: 0.5, difference: { value: expect.closeTo(0.4) } })
  const { low, high } = measure('failed').difference!
  expect(low).toBeGreaterThan(0.27)
  expect(high).toBeLessThan(0.52)
  expect(measure('p50')).toMatchObject({ a: 149, b: 349, difference: { value: 200 } })
  expect(verdictOf(measure('p50'))).toBe('more')
  // A hundred runs say nothing sure of their p95.
  expect(measure('p95')).toMatchObject({ a: 194, b: 394 })
  expect(measure('p95')).not.toHaveProperty('difference')
  expect(verdictOf(measure('cost'))).toBe('unclear')

  const back = await compare(V15, V14)
  expect(verdictOf(back.measures.find((one) => one.key === 'failed')!)).toBe('less')
  const same = await compare(V14, V14)
  expect(same.measures.map(verdictOf).filter((verdict) => verdict !== 'unclear')).toEqual([])
  const none = await compare('agent:nobody', 'agnt:x')
  expect(none.measures[0]).toEqual({ key: 'failed' })
  expect(none.problems).toHaveLength(1)
})

it('finds runs by what sent them', async () => {
  const viewer = await twoVersions()
  const total = async (query: string) =>
    (await getJson<RunList>(viewer, `/api/runs?limit=1&q=${encodeURIComponent(query)}`)).total
  expect(await total(V14)).toBe(100)
  expect(await total('resource:service.version=1.*')).toBe(200)
  expect(await total('resource:service.version=1')).toBe(0)
  expect(await total('resource:process.pid=1')).toBe(200)
  expect(await total(`-${V14} status:failed`)).toBe(50)
  const { problems } = await getJson<RunList>(viewer, '/api/runs?q=resource:shop')
  expect(problems).toEqual([
    'resource:shop: resource wants a name and a value, such as resource:service.version=1.4. It is searched for as words.',
  ])
})
