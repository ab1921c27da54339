import type { Viewer } from 'hookspan/viewer'
import { expect, it } from 'vitest'
import type { RunNumbers } from '../../src/viewer/model/run-numbers.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import type { RunList } from '../../src/viewer/store/reader.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { start } from './start.ts'
import { getJson, id, otlp, post, type TestSpan } from './support.ts'

const trace = (index: number) => (index + 1).toString(16).padStart(32, 'a')

/** Runs that last 10, 20, 30, ... ms; each third fails; tokens fall as durations rise. */
async function send(viewer: Viewer, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const fails = index % 3 === 2
    const spans: TestSpan[] = [
      {
        spanId: id(index * 2 + 1),
        name: `invoke_agent a${index}`,
        start: index * 1_000,
        end: index * 1_000 + (index + 1) * 10,
        ...(fails && { error: 'it broke' }),
        attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': `a${index}` },
      },
      {
        spanId: id(index * 2 + 2),
        parentSpanId: id(index * 2 + 1),
        name: 'chat m',
        start: index * 1_000,
        end: index * 1_000 + 1,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.usage.input_tokens': (count - index) * 100,
          'gen_ai.output.messages': JSON.stringify([
            { role: 'assistant', parts: [{ type: 'text', content: `answer ${index}` }] },
          ]),
        },
      },
    ]
    await post(viewer, otlp(spans.map((span) => ({ ...span, traceId: trace(index) }))))
  }
}

const list = (viewer: Viewer, query: string) => getJson<RunList>(viewer, `/api/runs?${query}`)
const titles = async (viewer: Viewer, query: string) =>
  (await list(viewer, query)).runs.map((run) => run.title)

it('sums over all runs of a query, not over those of a page', async () => {
  const viewer = await start()
  await send(viewer, 9)
  const numbers = await getJson<RunNumbers>(viewer, '/api/numbers')
  expect(numbers).toMatchObject({
    runs: 9,
    ended: 9,
    byStatus: { ok: 6, failed: 3, denied: 0 },
    durationMs: { p50: 50, p95: 90 },
    inputTokens: 4_500,
  })
  expect(numbers.starts.flatMap(({ byStatus }) => Object.values(byStatus)).reduce((a, b) => a + b, 0)).toBe(9)
  expect(await getJson<RunNumbers>(viewer, '/api/numbers?q=status:failed')).toMatchObject({
    runs: 3,
    byStatus: { ok: 0, failed: 3 },
    durationMs: { p50: 60, p95: 90 },
  })
  const none = await getJson<RunNumbers>(viewer, '/api/numbers?q=agent:nobody')
  expect(none).toMatchObject({ runs: 0, starts: [] })
  expect(none).not.toHaveProperty('durationMs')
})

it('a bar of the starts, taken as a query, finds the runs of the bar', async () => {
  const viewer = await start()
  await send(viewer, 9)
  const { starts } = await getJson<RunNumbers>(viewer, '/api/numbers')
  for (const { fromUs, toUs, byStatus } of starts) {
    const time = (us: number) => new Date(us / 1000).toISOString()
    const { total } = await list(
      viewer,
      `q=${encodeURIComponent(`after:${time(fromUs)} before:${time(Math.ceil(toUs / 1000) * 1000)}`)}`,
    )
    const expected = Object.values(byStatus).reduce((a, b) => a + b, 0)
    expect(total).toBeGreaterThanOrEqual(expected)
  }
})

/** Of one span each, that lasts 1 ms in the first, 2 ms in the second, and so on. */
function storeOf(count: number, startOf: (index: number) => number): Store {
  const store = new Store({ file: ':memory:' })
  const spans = Array.from({ length: count }, (_item, index) => {
    const traceId = (index + 1).toString(16).padStart(32, '0')
    return { traceId, spanId: id(1), name: 'one', start: startOf(index), end: startOf(index) + index + 1 }
  })
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items)
  while (store.work(1000)) {}
  return store
}

it.each([
  ['started one after the other', (index: number) => index],
  ['all started at one moment', () => 0],
  ['started at three moments', (index: number) => index % 3],
])('many runs that %s are counted once each, a few thousand at a time', (_how, startOf) => {
  const count = 5_000
  const store = storeOf(count, startOf)
  let turns = 0
  const counting = store.counting('duration>0')
  for (let step = counting.next(); ; step = counting.next()) {
    if (step.done) {
      expect(step.value).toMatchObject({ runs: count, byStatus: { ok: count } })
      expect(step.value.durationMs).toEqual({ p50: count / 2, p95: count * 0.95 })
      break
    }
    turns++
  }
  // Two parts of the runs, and two turns for what comes of them.
  expect(turns).toBe(4)
  // Those that words find, too.
  expect(store.numbers('one')).toMatchObject({ runs: count })
  store.close()
})

it('sorts by every column, both ways', async () => {
  const viewer = await start()
  await send(viewer, 4)
  expect(await titles(viewer, '')).toEqual(['a3', 'a2', 'a1', 'a0'])
  expect(await titles(viewer, 'sort=-tokens')).toEqual(['a0', 'a1', 'a2', 'a3'])
  expect(await titles(viewer, 'sort=duration')).toEqual(['a0', 'a1', 'a2', 'a3'])
  expect(await titles(viewer, 'sort=-duration&limit=1')).toEqual(['a3'])
  expect(await titles(viewer, 'sort=run')).toEqual(['a0', 'a1', 'a2', 'a3'])
  const refused = await fetch(`${viewer.url}/api/runs?sort=coast`)
  expect(refused.status).toBe(400)
  expect(await refused.json()).toMatchObject({ error: expect.stringContaining('"coast"') })
})

it('says what of a query it did not understand', async () => {
  const viewer = await start()
  await send(viewer, 1)
  const problems = async (query: string) => (await list(viewer, `q=${encodeURIComponent(query)}`)).problems
  expect(await problems('agent:a0 cost<1 -tool:x since:2h answer')).toEqual([])
  expect(await problems('https://example.com/a')).toEqual([])
  expect(await problems('🙂 ->')).toEqual([
    '🙂 ->: words are searched for, of letters and digits. It narrows nothing.',
  ])
  for (const begun of ['-', '"', ' ', '部署', '🙂 order']) expect(await problems(begun)).toEqual([])
  expect(await problems('agnt:a0')).toEqual([
    '"agnt" is no key; did you mean agent:a0? It is searched for as words.',
  ])
  expect(await problems('cost>much')).toEqual([
    'cost>much: cost is a number (US dollars). It is searched for as words.',
  ])
  expect(await problems('agent>a')).toEqual([
    'agent>a: agent is text, write agent:a. It is searched for as words.',
  ])
  expect(await problems('status:with_errors -status:WAITING status:* mark:none')).toEqual([])
  expect(await problems('status:failed,interrupted')).toEqual([])
  const states = 'done, failed, with-errors, interrupted, denied, running, waiting'
  expect(await problems('status:fail')).toEqual([
    `"fail" is no status (${states}); did you mean status:failed? It is searched for as words.`,
  ])
  expect(await problems('status:failed,denid')).toEqual([
    `"denid" is no status (${states}); did you mean status:denied? It is searched for as words.`,
  ])
  expect(await problems('-status:odd')).toEqual([
    `"odd" is no status (${states}). It is searched for as words.`,
  ])
  expect(await problems('mark:god')).toEqual([
    '"god" is no mark (what a person said of it: good, bad, none); did you mean mark:good? It is searched for as words.',
  ])
  expect(await problems('after:noon')).toEqual([
    'after:noon: after: wants a time, such as 2026-11-22T10:00. It is searched for as words.',
  ])
  expect(await problems('since:2w since:1.5h since:90s after:2026-11 duration>5 duration<1.5h')).toEqual([])
  // What is meant by it is not known.
  expect(await problems('since:30')).toEqual([
    'since:30: since: wants a length of time, such as 90s, 30m, 2h, 7d or 2w. It is searched for as words.',
  ])
})

it('shows what a run answered', async () => {
  const viewer = await start()
  await send(viewer, 1)
  expect((await list(viewer, '')).runs[0]?.answerPreview).toBe('answer 0')
})
