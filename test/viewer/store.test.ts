import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import type { Viewer } from 'hookspan/viewer'
import { describe, expect, it, vi } from 'vitest'
import { fromColumns, type RowColumns } from '../../src/viewer/model/columns.ts'
import { buildTree, flatten } from '../../src/viewer/model/tree.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { databaseFile, start } from './start.ts'
import { getJson, id, otlp, post, type TestSpan, TRACE } from './support.ts'

/** Text that takes this many bytes however it is compressed. */
const noise = (bytes: number) => randomBytes(bytes).toString('base64')

/** Depth and name of every row, as the page shows them. */
async function outline(viewer: Viewer, traceId = TRACE): Promise<string[]> {
  const { columns } = await getJson<{ columns: RowColumns }>(viewer, `/api/runs/${traceId}`)
  return flatten(buildTree(fromColumns(columns))!).map((node) => `${'  '.repeat(node.depth)}${node.row.name}`)
}

const RUN: TestSpan[] = [
  {
    spanId: id(1),
    name: 'invoke_agent support',
    start: 0,
    end: 100,
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'support' },
  },
  {
    spanId: id(2),
    parentSpanId: id(1),
    name: 'step 0',
    start: 1,
    end: 50,
    attributes: { 'hookspan.step.index': 0 },
  },
  {
    spanId: id(3),
    parentSpanId: id(2),
    name: 'chat gpt-4o',
    start: 2,
    end: 20,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 20,
      'hookspan.cost_usd': 0.01,
    },
  },
  {
    spanId: id(4),
    parentSpanId: id(2),
    name: 'execute_tool search',
    start: 21,
    end: 40,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'search',
      'hookspan.tool.outcome': 'mocked',
      'hookspan.tool.mocked': true,
    },
  },
  {
    spanId: id(5),
    parentSpanId: id(1),
    name: 'step 1',
    start: 51,
    end: 99,
    attributes: { 'hookspan.step.index': 1 },
  },
]
const OUTLINE = ['invoke_agent support', '  step 0', '    chat gpt-4o', '    execute_tool search', '  step 1']
const started = (span: TestSpan): TestSpan => ({
  ...span,
  end: span.start,
  attributes: { ...span.attributes, 'hookspan.span.state': 'started' },
})

describe('spans in any order', () => {
  it('come to the same run, however they are ordered, repeated and split over requests', async () => {
    const viewer = await start()
    let runs = 0
    const sent = [...RUN, ...RUN.map(started)]
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(sent, { minLength: sent.length }),
        fc.array(fc.nat(sent.length - 1), { maxLength: 6 }),
        fc.integer({ min: 1, max: sent.length }),
        async (order, repeats, batch) => {
          const traceId = (++runs).toString(16).padStart(32, '0')
          const all = [...order, ...repeats.map((index) => sent[index]!)].map((span) => ({
            ...span,
            traceId,
          }))
          for (let at = 0; at < all.length; at += batch) await post(viewer, otlp(all.slice(at, at + batch)))
          expect(await outline(viewer, traceId)).toEqual(OUTLINE)
          const { summary } = await getJson<{ summary: object }>(viewer, `/api/runs/${traceId}`)
          expect(summary).toMatchObject({
            status: 'ok',
            spans: 5,
            toolCalls: 1,
            mockedCalls: 1,
            llmCalls: 1,
            inputTokens: 100,
            outputTokens: 20,
            costUsd: 0.01,
            steps: 2,
          })
        },
      ),
      { numRuns: 60 },
    )
  })

  it('are one tree at every moment, with a stand-in for what has not come', async () => {
    const viewer = await start()
    await post(viewer, otlp([RUN[2]!, RUN[3]!]))
    expect(await outline(viewer)).toEqual([
      'parent span, not received',
      '  chat gpt-4o',
      '  execute_tool search',
    ])
    await post(viewer, otlp([RUN[0]!]))
    expect(await outline(viewer)).toEqual([
      'invoke_agent support',
      '  parent span, not received',
      '    chat gpt-4o',
      '    execute_tool search',
    ])
    await post(viewer, otlp([RUN[1]!]))
    expect(await outline(viewer)).toEqual(OUTLINE.slice(0, 4))
  })

  it('with several roots hang under the trace, and rings of parents are cut', async () => {
    const viewer = await start()
    const ring = [2, 3, 4].map((number) => ({
      spanId: id(number),
      parentSpanId: id(number === 4 ? 2 : number + 1),
      name: `ring ${number}`,
      start: number,
    }))
    await post(viewer, otlp([{ spanId: id(1), name: 'first', start: 0 }, ...ring]))
    expect(await outline(viewer)).toEqual(['trace', '  first', '  ring 2', '    ring 4', '      ring 3'])
  })
})

describe('a run that has not ended', () => {
  it('is shown as running from its start snapshots, and as ended when the spans end', async () => {
    const viewer = await start()
    await post(
      viewer,
      otlp(RUN.slice(0, 3).map(started), { 'process.pid': process.pid, 'host.name': hostname() }),
    )
    const before = await getJson<{ runs: { status: string }[] }>(viewer, '/api/runs')
    expect(before.runs[0]!.status).toBe('running')
    await post(viewer, otlp(RUN))
    const after = await getJson<{ runs: { status: string }[] }>(viewer, '/api/runs')
    expect(after.runs[0]!.status).toBe('ok')
  })

  it('is shown as waiting while a person is asked', async () => {
    const viewer = await start()
    const wait = { spanId: id(9), parentSpanId: id(4), name: 'human_intervention', start: 30 }
    await post(
      viewer,
      otlp([started(RUN[0]!), started(RUN[3]!), started(wait)], { 'process.pid': process.pid }),
    )
    const { runs } = await getJson<{ runs: object[] }>(viewer, '/api/runs?q=waiting:yes')
    expect(runs).toMatchObject([{ status: 'waiting', waiting: 1 }])
  })

  it('is shown as interrupted when its process died', async () => {
    const viewer = await start()
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    const resource = { 'process.pid': child.pid!, 'host.name': hostname() }
    await post(viewer, otlp(RUN.slice(0, 2).map(started), resource))
    const later = Date.now() + 5_000
    viewer.store.work(100)
    expect(viewer.store.recheckOpenRuns(later)).toEqual([])
    child.kill()
    await once(child, 'exit')
    expect(viewer.store.recheckOpenRuns(later)).toEqual([TRACE])
    const { runs } = await getJson<{ runs: { status: string }[] }>(viewer, '/api/runs')
    expect(runs[0]!.status).toBe('interrupted')
  })

  it('of another machine is given up after ten silent minutes', async () => {
    const viewer = await start()
    await post(viewer, otlp(RUN.slice(0, 2).map(started), { 'process.pid': 1, 'host.name': 'elsewhere' }))
    viewer.store.work(100)
    expect(viewer.store.recheckOpenRuns(Date.now() + 9 * 60_000)).toEqual([])
    expect(viewer.store.recheckOpenRuns(Date.now() + 11 * 60_000)).toEqual([TRACE])
  })
})

describe('the file', () => {
  it('keeps runs over a restart, and what arrives then joins them', async () => {
    const db = databaseFile()
    const first = await start({ db })
    await post(first, otlp(RUN.slice(0, 3)))
    await first.close()
    // As at two signals in a row.
    await first.close()
    const second = await start({ db })
    await post(second, otlp(RUN.slice(3)))
    expect(await outline(second)).toEqual(OUTLINE)
  })

  it('gives spans that begin at one moment in one order, before a restart and after it', () => {
    const file = databaseFile()
    const [root, step, call] = [RUN[0]!, { ...RUN[1]!, start: 2 }, RUN[2]!]
    const add = (store: Store, ...spans: TestSpan[]) =>
      store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items)
    const ids = (store: Store) => store.run(TRACE)!.rows.map(({ spanId }) => spanId)
    const before = new Store({ file })
    add(before, started(step))
    before.run(TRACE)
    add(before, root, call, step)
    const shown = ids(before)
    before.close()
    const after = new Store({ file })
    while (after.work(1_000)) {}
    expect(ids(after)).toEqual(shown)
    after.close()
  })

  it('that another version wrote is set aside, not read wrongly', async () => {
    const db = databaseFile()
    const old = new DatabaseSync(db)
    old.exec('CREATE TABLE run (something TEXT); PRAGMA user_version = 99')
    old.close()
    const viewer = await start({ db })
    await post(viewer, otlp(RUN))
    expect(await outline(viewer)).toEqual(OUTLINE)
    expect(new DatabaseSync(`${db}.v99`).prepare('SELECT * FROM run').all()).toEqual([])
  })

  it('that is full is reported, does not stop the viewer, and loses nothing that it acknowledged', async () => {
    const notices: string[] = []
    // The viewer's own connection: each has its own limit.
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
    const viewer = await start({
      db: databaseFile(),
      onNotice: (message) => notices.push(message),
    })
    await post(viewer, otlp(RUN))
    const connection = prepare.mock.contexts.at(-1) as DatabaseSync
    prepare.mockRestore()
    const limitPages = (pages: number) => connection.exec(`PRAGMA max_page_count = ${pages}`)
    limitPages(80)
    const big = { spanId: id(77), attributes: { text: noise(2_000_000) } }
    const refused = await post(viewer, otlp([big]))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    expect(notices).toEqual([expect.stringContaining('full')])
    expect(await outline(viewer)).toEqual(OUTLINE)
    expect(await getJson(viewer, '/api/status')).toMatchObject({
      storageError: expect.stringContaining('full'),
    })
    limitPages(1_000_000)
    expect((await post(viewer, otlp([big]))).status).toBe(200)
    expect(notices.at(-1)).toBe('Spans are stored again.')
  })

  it('by age counts from when a run was received: a recording sent today is new today', async () => {
    const viewer = await start({ maxAgeMs: 60_000 })
    await post(viewer, otlp([{ spanId: id(1), start: -86_400_000 * 400 }]))
    viewer.store.sweep()
    expect((await fetch(`${viewer.url}/api/runs/${TRACE}`)).status).toBe(200)
  })

  it('loses its oldest runs first when it grows too large or they too old', async () => {
    const viewer = await start({ maxBytes: 3_000_000, maxAgeMs: 1e15 })
    for (let run = 1; run <= 20; run++) {
      const traceId = run.toString(16).padStart(32, '0')
      await post(
        viewer,
        otlp([
          {
            traceId,
            spanId: id(1),
            start: run * 1000,
            attributes: { text: `run${run} ${noise(300_000)}` },
          },
        ]),
      )
    }
    expect(viewer.store.sweep()).toBeGreaterThan(8)
    const { runs } = await getJson<{ runs: { traceId: string }[] }>(viewer, '/api/runs')
    expect(runs.length).toBeGreaterThan(3)
    expect(runs.map((run) => Number.parseInt(run.traceId, 16))).toEqual(
      Array.from(runs, (_, index) => 20 - index),
    )
    expect(viewer.store.search('run1', 10).hits.map((hit) => hit.traceId)).not.toContain(
      '1'.padStart(32, '0'),
    )
  })
})

describe('finding', () => {
  it('finds runs by any word of any span, and by what the list shows', async () => {
    const viewer = await start()
    await post(viewer, otlp(RUN))
    const other = RUN.map((span) => ({
      ...span,
      traceId: 'b'.repeat(32),
      start: span.start! + 5000,
      end: span.end! + 5000,
    }))
    other[3] = {
      ...other[3]!,
      error: 'The gate is closed',
      attributes: {
        ...other[3]!.attributes,
        'gen_ai.tool.call.arguments': '{"query":"Ünïcode parrots"}',
        'hookspan.tool.mocked': false,
        'hookspan.tool.outcome': 'errored',
      },
    }
    await post(viewer, otlp(other))
    const find = async (q: string) =>
      (
        await getJson<{ runs: { traceId: string }[] }>(viewer, `/api/runs?q=${encodeURIComponent(q)}`)
      ).runs.map((run) => run.traceId[0])
    expect(await find('')).toEqual(['b', 'a'])
    expect(await find('unicode parrots')).toEqual(['b'])
    expect(await find('parr')).toEqual(['b'])
    expect(await find('"gate is closed"')).toEqual(['b'])
    expect(await find('nowhere')).toEqual([])
    expect(await find('mocked:yes')).toEqual(['a'])
    expect(await find('-mocked:yes tool:search')).toEqual(['b'])
    expect(await find('errors>0 agent:sup*')).toEqual(['b'])
    expect(await find('cost>0.005 tokens>100 duration<1s')).toEqual(['b', 'a'])
    expect(await find('model:claude')).toEqual([])
  })

  it('finds words of scripts whose vowels are marks', async () => {
    const viewer = await start()
    await post(viewer, otlp([{ ...RUN[0]!, attributes: { note: 'नमस्ते हिन्दी' } }]))
    expect(viewer.store.search('हिन्दी', 5).hits).toHaveLength(1)
    expect(viewer.store.search('தமிழ்', 5).hits).toHaveLength(0)
  })

  it('takes any text as a query without an error', async () => {
    const viewer = await start()
    await post(viewer, otlp(RUN))
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.constantFrom(
            '𠀀\u{e0100}¹',
            'हिन्दी',
            '"',
            "a'b",
            'NEAR(a b)',
            'a AND',
            '* ^ -',
            'status:',
            'cost>x',
            '__proto__:1',
          ),
        ),
        (query) => {
          expect(viewer.store.listRuns(query, { limit: 5, offset: 0 }).total).toBeTypeOf('number')
          expect(viewer.store.search(query, 5).hits).toBeInstanceOf(Array)
          return Promise.resolve()
        },
      ),
      { numRuns: 300 },
    )
  })

  it('finds the words of the span that replaced a snapshot, no longer those of the snapshot', async () => {
    const viewer = await start()
    await post(viewer, otlp([started({ ...RUN[0]!, attributes: { note: 'aardvark' } })]))
    expect(viewer.store.search('aardvark', 5).hits).toHaveLength(1)
    await post(viewer, otlp([{ ...RUN[0]!, attributes: { note: 'zebra' } }]))
    expect(viewer.store.search('zebra', 5).hits).toHaveLength(1)
    expect(viewer.store.search('aardvark', 5).hits).toHaveLength(0)
  })
})
