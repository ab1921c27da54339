/** What the page is sent, and how it reads it. */
import fc from 'fast-check'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterEach, expect, it } from 'vitest'
import { fromColumns, toColumns } from '../../src/viewer/model/columns.ts'
import { firstRows } from '../../src/viewer/model/first-rows.ts'
import { formatWhole } from '../../src/viewer/model/format.ts'
import { buildTree, emptyRow, flatten } from '../../src/viewer/model/tree.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { SAMPLE_TRACE, sampleRun } from './sample-run.ts'
import { id, otlp, type TestSpan, TRACE } from './support.ts'

const open: Viewer[] = []
afterEach(async () => void (await Promise.all(open.splice(0).map((viewer) => viewer.close()))))

async function page(path: string, host?: string, sent: object = otlp([])): Promise<string> {
  const viewer = await startViewer({ db: ':memory:', port: 0, host })
  open.push(viewer)
  viewer.store.addSpans(receiveTraces(Buffer.from(JSON.stringify(sent)), 'json').items)
  const response = await fetch(`http://127.0.0.1:${new URL(viewer.url).port}${path}`)
  const text = await response.text()
  const told = response.headers.get('content-length')
  if (told !== null) expect(Buffer.byteLength(text)).toBe(Number(told))
  return text
}

it('gives back the rows that were put into columns, however many and however alike', () => {
  const store = new Store({ file: ':memory:' })
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(sampleRun())), 'json').items)
  const { rows } = store.run(SAMPLE_TRACE)!
  const defined = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...rows), { maxLength: 6 }), (some) => {
      const sent = defined(toColumns(some)) as ReturnType<typeof toColumns>
      expect(defined(fromColumns(sent))).toEqual(defined(some))
    }),
  )
  store.close()
})

const PRELOAD = `<link rel="preload" as="fetch" crossorigin href="/api/runs/${TRACE}?since=0" />`
const inSight = (text: string) =>
  JSON.parse(/<script type="application\/json" id="run-in-sight">([^<]*)<\/script>/.exec(text)?.[1] ?? 'null')
/** A root and what it did, one after the other. */
const long = (spans: number, last: Partial<TestSpan> = {}) =>
  otlp(
    Array.from({ length: spans }, (_, at) => ({
      spanId: id(at + 1),
      parentSpanId: at === 0 ? '' : id(1),
      name: `span ${at}`,
      start: at,
      end: at === 0 ? 5000 : at + 1,
      ...(at === spans - 1 ? last : {}),
    })),
  )

it.each(['', '?view=conversation'])(
  'sends the rows in sight of a long run with its page %s, and says how many there are',
  async (search) => {
    const data = inSight(await page(`/run/${TRACE}${search}`, undefined, long(500)))
    expect(data).toMatchObject({ totalRows: 500, seq: 0, summary: { traceId: TRACE, spans: 500 } })
    expect(fromColumns(data.columns).map((row) => row.name)).toEqual(
      Array.from({ length: 80 }, (_, at) => `span ${at}`),
    )
  },
)

// Of so many spans that they are not read in the one turn of the event loop that sends the beginning.
it('sends the beginning of a page before its run is read', async () => {
  const viewer = await startViewer({ db: ':memory:', port: 0 })
  open.push(viewer)
  viewer.store.addSpans(receiveTraces(Buffer.from(JSON.stringify(long(40_000))), 'json').items)
  const response = await fetch(`${viewer.url}/run/${TRACE}`)
  const pieces: string[] = []
  for await (const piece of response.body!) pieces.push(Buffer.from(piece).toString())
  expect(pieces[0]).toContain('src="/app.js"')
  expect(pieces[0]).not.toContain('run-in-sight')
  expect(inSight(pieces.join(''))).toMatchObject({ totalRows: 40_000 })
})

const firstWords = (text: string) =>
  JSON.parse(/<script type="application\/json" id="first-words">([^<]*)<\/script>/.exec(text)?.[1] ?? 'null')
/** A model that is called so many times, and says as much each time. */
const talk = (calls: number, more = 'la') =>
  otlp([
    {
      spanId: id(1),
      name: 'invoke_agent',
      end: 5000,
      attributes: { 'gen_ai.operation.name': 'invoke_agent' },
    },
    ...Array.from({ length: calls }, (_, at) => ({
      spanId: id(at + 2),
      parentSpanId: id(1),
      name: 'chat',
      start: at,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.output.messages': JSON.stringify([
          { role: 'assistant', parts: [{ type: 'text', content: `</script> ${at} ${more}` }] },
        ]),
      },
    })),
  ])

it('sends the first words of a conversation with its page, and only there', async () => {
  const said = firstWords(await page(`/run/${TRACE}?view=conversation`, undefined, talk(300)))
  expect(said.isPart).toBe(true)
  expect(said.items.length).toBeGreaterThanOrEqual(40)
  expect(said.items.length).toBeLessThan(60)
  expect(JSON.stringify(said.items[1])).toContain('</script> 0 la')
  expect(firstWords(await page(`/run/${TRACE}`, undefined, talk(300)))).toBeNull()
})

it('lets the browser ask for words that would hold up the page', async () => {
  const text = await page(`/run/${TRACE}?view=conversation`, undefined, talk(60, '漢字'.repeat(15_000)))
  expect(firstWords(text)).toBeNull()
  expect(inSight(text)).toMatchObject({ summary: { traceId: TRACE } })
})

it('sends a short run whole with its page', async () => {
  const data = inSight(await page(`/run/${TRACE}`, undefined, long(30)))
  expect(fromColumns(data.columns)).toHaveLength(30)
  expect(data.totalRows).toBeUndefined()
  expect(data.seq).toBeGreaterThan(0)
})

it('keeps what spans say inside of the data of the page', async () => {
  const name = '</script><script>alert(1)</script><!-- $& $` \u2028'
  const text = await page(`/run/${TRACE}`, undefined, long(3, { name }))
  expect(text.match(/<script/g)).toHaveLength(2)
  expect(fromColumns(inSight(text).columns).at(-1)!.name).toBe(name)
})

it.each([
  ['is not there', otlp([]), ''],
  ['is long and not over', long(500, { attributes: { 'hookspan.span.state': 'started' } }), ''],
  ['waits for a parent among its first spans', long(500, { parentSpanId: id(9999), start: 1 }), ''],
  ['is opened at one of its spans', long(500), `?span=${id(400)}`],
  ['is opened at one of its spans in the conversation', long(500), `?view=conversation&span=${id(400)}`],
  ['is opened as a graph', long(500), '?view=graph'],
])('lets the browser ask for a run that %s while it loads its page', async (_name, sent, search) => {
  const text = await page(`/run/${TRACE}${search}`, undefined, sent)
  expect(text).toContain(PRELOAD)
  expect(inSight(text)).toBeNull()
})

it('sends no run inside of what is not opened as a page', async () => {
  const viewer = await startViewer({ db: ':memory:', port: 0 })
  open.push(viewer)
  viewer.store.addSpans(receiveTraces(Buffer.from(JSON.stringify(long(3))), 'json').items)
  const response = await fetch(`${viewer.url}/run/${TRACE}`, { headers: { 'sec-fetch-dest': 'script' } })
  expect(inSight(await response.text())).toBeNull()
})

it('draws the first rows of a run as all of them would be drawn', () => {
  const span = fc.record({ parent: fc.nat(60), start: fc.nat(20), gate: fc.boolean() })
  fc.assert(
    fc.property(
      fc.array(span, { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 40 }),
      (some, count) => {
        const rows = some.map(({ parent, start, gate }, at) => ({
          ...emptyRow(id(at + 1), `span ${at}`),
          category: 'tool' as const,
          parentSpanId: at === 0 ? '' : id((parent % some.length) + 1),
          startUs: start,
          endUs: start + 1,
          gates: gate ? [{ id: 'policy', timeUs: start, decision: 'proceed', enforced: true }] : undefined,
        }))
        const drawn = (spans: typeof rows) =>
          flatten(buildTree(spans)!).map(({ row, depth }) => [row.spanId, depth, row.startUs])
        const first = firstRows(rows, count)
        if (!first) return
        expect(drawn(first.rows as typeof rows).slice(0, count)).toEqual(drawn(rows).slice(0, count))
        expect(first.totalRows).toBe(drawn(rows).length)
      },
    ),
  )
})

it.each([
  ['the list of runs', '/', undefined],
  ['an address that is no run', `/run/${encodeURIComponent('"><script>')}`, undefined],
  ['a viewer whose reading needs the token', `/run/${TRACE}`, '0.0.0.0'],
])('sends nothing and lets it ask for nothing on %s', async (_name, path, host) => {
  const text = await page(path, host, long(3))
  expect(text).toContain('<div id="app">')
  expect(text).not.toContain('preload')
  expect(inSight(text)).toBeNull()
})

it.each([
  [0, '0'],
  [999, '999'],
  [1000, '1,000'],
  [-1234567, '-1,234,567'],
])('writes %d as %s', (count, text) => {
  expect(formatWhole(count)).toBe(text)
})
