/** What people say of runs: kept with them, searched for, and never written over by what is summed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { SAMPLE_TRACE, sampleRun } from './sample-run.ts'
import { id, otlp, post } from './support.ts'

const OTHER = 'b'.repeat(32)
let folder: string
let db: string
let viewer: Viewer
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hookspan-marks-'))
  db = join(folder, 'traces.db')
  viewer = await startViewer({ port: 0, db })
  await post(viewer, sampleRun())
  await post(viewer, sampleRun({ traceId: OTHER, atMs: -60_000 }))
})
afterEach(async () => {
  await viewer.close()
  rmSync(folder, { recursive: true })
})

async function put(body: unknown, { run = SAMPLE_TRACE, token = viewer.token } = {}) {
  const response = await fetch(`${viewer.url}/api/runs/${run}/marks`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}` },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { ...((await response.json()) as Record<string, unknown>), code: response.status }
}

async function found(query: string): Promise<string[]> {
  const response = await fetch(`${viewer.url}/api/runs?q=${encodeURIComponent(query)}`)
  const { runs, problems } = (await response.json()) as { runs: { traceId: string }[]; problems: string[] }
  expect(problems).toEqual([])
  return runs.map((run) => run.traceId)
}

it('are kept, and narrow a search', async () => {
  expect(await found('mark:none')).toEqual([SAMPLE_TRACE, OTHER])
  const marked = await put({ mark: 'bad', note: 'refunds too much', labels: [' regression', 'v2', 'v2'] })
  expect(marked).toMatchObject({ code: 200, mark: 'bad', labels: ['regression', 'v2'] })
  expect(await put({ mark: 'good' }, { run: OTHER.slice(0, 8) })).toMatchObject({ mark: 'good', note: '' })

  expect(await found('mark:bad')).toEqual([SAMPLE_TRACE])
  expect(await found('mark:good')).toEqual([OTHER])
  expect(await found('mark:none')).toEqual([])
  expect(await found('label:regression')).toEqual([SAMPLE_TRACE])
  expect(await found('-label:regression')).toEqual([OTHER])
  expect(await found('note:"too much"')).toEqual([SAMPLE_TRACE])
  expect(await found('agent:support -mark:bad')).toEqual([OTHER])

  // What is left out stays; what is empty goes.
  expect(await put({ mark: '' })).toMatchObject({
    mark: '',
    note: 'refunds too much',
    labels: ['regression', 'v2'],
  })
  expect(await put({ labels: [], note: '' })).toMatchObject({ note: '', labels: [] })
})

it('outlive new spans, sums and restarts', async () => {
  await put({ mark: 'good', labels: ['kept'] })
  await post(
    viewer,
    otlp([{ traceId: SAMPLE_TRACE, spanId: id(99), parentSpanId: id(1), name: 'late', error: 'x' }]),
  )
  const { summary } = viewer.store.run(SAMPLE_TRACE)!
  expect(summary).toMatchObject({ mark: 'good', labels: ['kept'], errors: 2 })
  expect(await found('mark:good errors>1')).toEqual([SAMPLE_TRACE])
  await viewer.close()
  viewer = await startViewer({ port: 0, db })
  expect(await found('label:kept')).toEqual([SAMPLE_TRACE])
})

it('need the token, a run, and to be marks', async () => {
  expect(await put({ mark: 'good' }, { token: 'no' })).toMatchObject({ code: 401 })
  expect(await put({ mark: 'good' }, { run: 'c'.repeat(32) })).toMatchObject({ code: 404 })
  expect(await put('good')).toMatchObject({ code: 400, error: expect.stringContaining('not JSON') })
  const wrong: [object, string][] = [
    [{ marks: 'good' }, 'Did you mean `mark`?'],
    [{ mark: 'great' }, 'got `"great"`'],
    [{ labels: 'a' }, '`labels` of the marks'],
    [{ labels: [''] }, '`labels` of the marks'],
    [{ note: 'x'.repeat(10_001) }, '10000 characters'],
  ]
  for (const [body, says] of wrong)
    expect(await put(body)).toMatchObject({ code: 422, error: expect.stringContaining(says) })
  expect(await found('mark:none')).toHaveLength(2)
})

it('are new columns in a file of the version before, whose runs stay', async () => {
  await viewer.close()
  const old = new DatabaseSync(db)
  old.exec('DROP INDEX run_figures')
  for (const column of ['mark', 'note', 'labels', 'estimated_usd'])
    old.exec(`ALTER TABLE run DROP COLUMN ${column}`)
  old.exec('CREATE INDEX run_figures ON run (start_us, status); PRAGMA user_version = 5')
  old.close()
  const notices: string[] = []
  viewer = await startViewer({ port: 0, db, onNotice: (notice) => notices.push(notice) })
  expect(notices).toEqual([])
  expect(await found('mark:none')).toEqual([SAMPLE_TRACE, OTHER])
  expect(await put({ mark: 'bad' })).toMatchObject({ code: 200, mark: 'bad', toolCalls: 5 })
})
