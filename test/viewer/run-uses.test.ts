/** Sums over many runs, by tool, model, agent, gate and person; and the queries that find the runs behind each number. */
import { DatabaseSync } from 'node:sqlite'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { expect, it } from 'vitest'
import {
  COUNTS_OF,
  USE_KINDS,
  type UseKind,
  type UseSum,
  type UseSums,
} from '../../src/viewer/model/run-uses.ts'
import { USE_COLUMNS, useErrorTerm, useTerm } from '../../src/viewer/model/use-columns.ts'
import type { RunList } from '../../src/viewer/store/reader.ts'
import { SAMPLE_TRACE, sampleRun } from './sample-run.ts'
import { databaseFile, start } from './start.ts'
import { getJson, id, otlp, post, type TestSpan } from './support.ts'

const trace = (index: number) => (index + 1).toString(16).padStart(32, 'b')

interface Call {
  tool: string
  ms?: number
  outcome?: string
  error?: string
  mocked?: boolean
}

function run(index: number, calls: readonly Call[]): TestSpan[] {
  const at = { traceId: trace(index), start: index * 1_000 }
  const root: TestSpan = {
    ...at,
    spanId: id(1),
    end: at.start + 900,
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'support' },
  }
  return [
    root,
    ...calls.map(
      ({ tool, ms = 1, outcome = 'completed', error, mocked = false }, call): TestSpan => ({
        ...at,
        spanId: id(call + 2),
        parentSpanId: id(1),
        end: at.start + ms,
        ...(error !== undefined && { error }),
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': tool,
          'hookspan.tool.outcome': outcome,
          'hookspan.tool.mocked': mocked,
        },
      }),
    ),
  ]
}

const uses = (viewer: Viewer, kind: UseKind, query = '') =>
  getJson<UseSums>(viewer, `/api/uses/${kind}?q=${encodeURIComponent(query)}`)
const found = async (viewer: Viewer, query: string) =>
  (await getJson<RunList>(viewer, `/api/runs?q=${encodeURIComponent(query)}`)).runs.map((one) => one.traceId)
const named = (sums: UseSums, name: string) => sums.uses.find((use) => use.name === name)!

it('says how often which tool failed, was denied and mocked, and how long its calls took', async () => {
  const viewer = await start()
  const late = 'connect ETIMEDOUT shop.example:443'
  await post(
    viewer,
    otlp([
      ...run(0, [
        { tool: 'search', ms: 10 },
        { tool: 'search', ms: 20, outcome: 'errored', error: late },
        { tool: 'web search', ms: 5 },
      ]),
      ...run(1, [
        { tool: 'search', ms: 30, outcome: 'errored', error: late },
        { tool: 'search', ms: 40, outcome: 'errored', error: 'no such order' },
        { tool: 'search', ms: 1, mocked: true },
      ]),
      ...run(2, [{ tool: 'search', outcome: 'denied', error: 'not at night' }]),
      ...run(3, [{ tool: 'web search', ms: 7 }]),
    ]),
  )
  const sums = await uses(viewer, 'tool')
  expect(sums).toMatchObject({ kind: 'tool', names: 2, pending: 0, indexing: 0 })
  expect(sums.uses).toMatchObject([
    {
      name: 'search',
      runs: 3,
      calls: 6,
      failed: 3,
      denied: 1,
      mocked: 1,
      durationMs: { p50: 20, p95: 40 },
      topError: { text: 'connect ETIMEDOUT shop.example:#', count: 2, runs: 2 },
    },
    { name: 'web search', runs: 2, calls: 2, failed: 0, denied: 0, mocked: 0 },
  ])
  expect(sums.uses[1]).not.toHaveProperty('topError')
  expect((await uses(viewer, 'tool', 'tool.mocked:search')).uses).toMatchObject([
    { name: 'search', runs: 1, calls: 3, failed: 2, durationMs: { p50: 30, p95: 40 } },
  ])
  // Words narrow, too.
  expect((await uses(viewer, 'tool', 'ETIMEDOUT')).uses.map((use) => [use.name, use.runs])).toEqual([
    ['search', 2],
    ['web search', 1],
  ])
  expect(await uses(viewer, 'tool', 'agent:nobody')).toMatchObject({ uses: [], names: 0 })

  expect(await found(viewer, 'tool.failed:search')).toEqual([trace(1), trace(0)])
  expect(await found(viewer, 'tool.denied:search')).toEqual([trace(2)])
  expect(await found(viewer, 'tool.calls:"web search"')).toEqual([trace(3), trace(0)])
  expect(await found(viewer, 'tool.calls:web*')).toEqual([trace(3), trace(0)])
  expect(await found(viewer, '-tool.calls:search')).toEqual([trace(3)])
})

it('counts models, agents, gates and people of a run in which everything happens', async () => {
  const viewer = await start()
  await post(viewer, sampleRun())
  expect(named(await uses(viewer, 'model'), 'gpt-4o')).toMatchObject({
    runs: 1,
    cachedTokens: expect.any(Number),
  })
  const agents = await uses(viewer, 'agent')
  expect(agents.uses.map((use) => use.name).sort()).toEqual(['researcher', 'support'])
  const gates = await uses(viewer, 'gate')
  expect(named(gates, 'budget-service')).toMatchObject({
    calls: 1,
    denied: 0,
    shadow: 1,
    shadowDenied: 1,
    durationMs: { p50: 60, p95: 60 },
    topError: { text: 'over_budget', count: 1, runs: 1 },
  })
  expect(named(gates, 'ask-before-paying')).toMatchObject({ calls: 1, asked: 1, shadow: 0 })
  expect((await uses(viewer, 'human')).uses).toMatchObject([
    { name: 'ines', calls: 1, approved: 1, durationMs: { p50: 5_400, p95: 5_400 } },
  ])
})

it('has a query behind every number, which finds the runs that it counts', async () => {
  const viewer = await start()
  await post(viewer, sampleRun())
  for (const kind of USE_KINDS) {
    for (const use of (await uses(viewer, kind)).uses) {
      if (use.topError)
        expect(await found(viewer, useErrorTerm(kind, use.name, use.topError.text))).toEqual([SAMPLE_TRACE])
      for (const { count } of USE_COLUMNS[kind]) {
        if (count) expect(COUNTS_OF[kind]).toContain(count)
        const expected = count && use[count] > 0 ? [SAMPLE_TRACE] : []
        if (count) expect(await found(viewer, useTerm(kind, count, use.name))).toEqual(expected)
      }
    }
  }
})

it('counts failures together that differ by what they name, and finds the runs that have them', async () => {
  const viewer = await start()
  const missing = (order: string) => ({ tool: 'refund', outcome: 'errored', error: `no order "${order}"` })
  await post(
    viewer,
    otlp([
      ...run(0, [missing('W-1'), missing('W-22')]),
      ...run(1, [missing('a1b2c3'), { tool: 'pay', outcome: 'errored', error: 'no money' }]),
      // Another tool failed so, and this one in another way.
      ...run(2, [
        { tool: 'refund', outcome: 'errored', error: 'too late' },
        { ...missing('W-3'), tool: 'pay' },
      ]),
      ...run(3, [{ tool: 'refund' }]),
    ]),
  )
  const { topError } = named(await uses(viewer, 'tool'), 'refund')
  expect(topError).toEqual({ text: 'no order …', count: 3, runs: 2 })
  expect(await found(viewer, useErrorTerm('tool', 'refund', topError!.text))).toEqual([trace(1), trace(0)])
  expect(await found(viewer, 'tool.error:"pay: no*"')).toEqual([trace(2), trace(1)])
  expect(await found(viewer, '-tool.error:"refund: no order*" tool.failed:refund')).toEqual([trace(2)])
})

it('finds names with quotes, spaces and stars in them', async () => {
  const viewer = await start()
  const names = ['say "hi"', 'a*b', 'tab\there', 'line\nbreak', 'App\\Tool', "o'brien", '100%']
  await post(viewer, otlp(names.flatMap((tool, index) => run(index, [{ tool }]))))
  for (const [index, name] of names.entries())
    expect(await found(viewer, useTerm('tool', 'calls', name))).toEqual([trace(index)])
})

it('counts names as one that differ only in halves of characters, and takes in what comes with them', async () => {
  const viewer = await start()
  const calls = ['a\ud800', 'a\ud801', `${'b'.repeat(199)}😀`, `${'b'.repeat(199)}🡆`].map((tool) => ({
    tool,
  }))
  // As it comes whole, and as it is summed later.
  expect((await post(viewer, otlp(run(0, calls)))).status).toBe(200)
  const [root, ...others] = run(1, calls)
  for (const spans of [others, [root!]]) await post(viewer, otlp(spans))
  const { uses: tools } = await uses(viewer, 'tool')
  expect(tools.map(({ name, calls, runs }) => [name.length, calls, runs])).toEqual([
    [2, 4, 2],
    [200, 4, 2],
  ])
})

it('counts what came later, and no longer what was replaced or removed', async () => {
  const viewer = await start()
  const call = { tool: 'search', outcome: 'errored', error: 'broken' }
  await post(viewer, otlp([...run(0, [call]), ...run(1, [call])]))
  expect((await uses(viewer, 'tool')).uses).toMatchObject([{ calls: 2, failed: 2 }])
  await post(viewer, otlp(run(0, [{ tool: 'search' }, { tool: 'search' }])))
  expect((await uses(viewer, 'tool')).uses).toMatchObject([{ calls: 3, failed: 1 }])
  await fetch(`${viewer.url}/api/runs/${trace(1)}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${viewer.token}` },
  })
  const [search] = (await uses(viewer, 'tool')).uses as [UseSum]
  expect(search).toMatchObject({ calls: 2, failed: 0 })
  expect(search).not.toHaveProperty('topError')
})

it('keeps no more names of a run than anybody reads, and none of their calls is lost', async () => {
  const viewer = await start()
  const calls = Array.from({ length: 700 }, (_item, index) => ({ tool: `tool ${index}` }))
  await post(viewer, otlp(run(0, calls)))
  const sums = await uses(viewer, 'tool')
  expect(sums.names).toBe(501)
  expect(sums.uses.reduce((sum, use) => sum + use.calls, 0)).toBe(700)
})

it('says what it cannot sum by', async () => {
  const viewer = await start()
  const refused = await fetch(`${viewer.url}/api/uses/tols`)
  expect(refused.status).toBe(400)
  expect(await refused.json()).toEqual({
    error: 'Runs cannot be summed by "tols". Sum by tool, model, agent, gate, human.',
  })
  const problems = async (query: string) =>
    (await getJson<RunList>(viewer, `/api/runs?q=${encodeURIComponent(query)}`)).problems
  expect(await problems('tool.faild:search')).toEqual([
    '"tool.faild" is no key; did you mean tool.failed:search? It is searched for as words.',
  ])
  expect(await problems('tool.failed>3')).toEqual([
    'tool.failed>3: tool.failed takes a name, write tool.failed:3. It is searched for as words.',
  ])
  expect(await problems('shop.example:443')).toEqual([])
})

it.each([
  ['which had no such sums', 4, 'DROP TABLE run_use; DROP INDEX run_figures'],
  ['which counted errors by their texts', 7, `UPDATE run_use SET errors = '[["of old",1]]'`],
])('sums the runs of a file that an older version wrote, %s', async (_what, version, change) => {
  const db = databaseFile()
  const before = await startViewer({ db, port: 0 })
  await post(before, sampleRun())
  const wanted = await uses(before, 'tool')
  await before.close()
  const file = new DatabaseSync(db)
  file.exec(`${change}; PRAGMA user_version = ${version}`)
  file.close()
  const notices: string[] = []
  const after = await start({ db, onNotice: (notice) => notices.push(notice) })
  expect(notices).toEqual([])
  expect(await uses(after, 'tool')).toEqual(wanted)
  expect(await found(after, '')).toEqual([SAMPLE_TRACE])
})

it('tells people who gave no name from nobody, and a run that ended from a rejection', async () => {
  const viewer = await start()
  const asked = (number: number, action: string, error?: string): TestSpan => ({
    ...{ traceId: trace(0), spanId: id(number), parentSpanId: id(1), name: 'human_intervention' },
    ...(error !== undefined && { error }),
    attributes: { 'hookspan.human.action': action, 'hookspan.human.waited_ms': 5 },
  })
  await post(
    viewer,
    otlp([
      run(0, [])[0]!,
      asked(2, 'approve'),
      asked(3, 'rejectAndContinue'),
      asked(4, 'timeout'),
      asked(5, 'rejectAndContinue', 'the run ended before anybody answered'),
    ]),
  )
  expect((await uses(viewer, 'human')).uses).toMatchObject([
    { name: 'nobody', calls: 2, failed: 2, denied: 0 },
    { name: 'unnamed', calls: 2, failed: 0, approved: 1, denied: 1 },
  ])
})
