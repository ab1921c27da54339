/** What the page is sent, and how it reads it. */
import fc from 'fast-check'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterEach, expect, it } from 'vitest'
import { fromColumns, toColumns } from '../../src/viewer/model/columns.ts'
import { formatWhole } from '../../src/viewer/model/format.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { SAMPLE_TRACE, sampleRun } from './sample-run.ts'
import { TRACE } from './support.ts'

const open: Viewer[] = []
afterEach(async () => void (await Promise.all(open.splice(0).map((viewer) => viewer.close()))))

async function page(path: string, host?: string): Promise<string> {
  const viewer = await startViewer({ db: ':memory:', port: 0, host })
  open.push(viewer)
  const response = await fetch(`http://127.0.0.1:${new URL(viewer.url).port}${path}`)
  const text = await response.text()
  expect(Buffer.byteLength(text)).toBe(Number(response.headers.get('content-length')))
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

it('lets the browser ask for a run while it loads the page of the run', async () => {
  expect(await page(`/run/${TRACE}`)).toContain(
    `<link rel="preload" as="fetch" crossorigin href="/api/runs/${TRACE}?since=0" />`,
  )
})

it.each([
  ['the list of runs', '/', undefined],
  ['an address that is no run', `/run/${encodeURIComponent('"><script>')}`, undefined],
  ['a viewer whose reading needs the token', `/run/${TRACE}`, '0.0.0.0'],
])('lets it ask for nothing on %s', async (_name, path, host) => {
  const text = await page(path, host)
  expect(text).toContain('<div id="app">')
  expect(text).not.toContain('preload')
})

it.each([
  [0, '0'],
  [999, '999'],
  [1000, '1,000'],
  [-1234567, '-1,234,567'],
])('writes %d as %s', (count, text) => {
  expect(formatWhole(count)).toBe(text)
})
