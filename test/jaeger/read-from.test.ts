/** What `--from jaeger=...` says of runs, against what the viewer says that got the same requests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openRunSource, type SpanRecord, startViewer, type Viewer } from 'hookspan/viewer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Jaeger, startJaeger } from '../support/jaeger.ts'
import { recordingsFolder } from '../support/recordings-folder.ts'
import { runCli } from '../support/run-cli.ts'
import { startTee, type Tee } from '../support/tee.ts'

const data = recordingsFolder()
const REPLAYED = ['tau-bench/gpt-4o-airline.json']

interface Listed {
  readonly traceId: string
  readonly startUs: number
}

/** Runs that began in the same moment stand as they came, which was not in the same order. */
const inOrder = (runs: Listed[]) =>
  runs.toSorted((a, b) => b.startUs - a.startUs || a.traceId.localeCompare(b.traceId))

const listsAsText = (attributes: SpanRecord['attributes']) =>
  Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [
      key,
      Array.isArray(value) ? JSON.stringify(value) : value,
    ]),
  )

function withListsAsText(span: SpanRecord): SpanRecord {
  const events = span.events.map((event) => ({ ...event, attributes: listsAsText(event.attributes) }))
  return {
    ...span,
    attributes: listsAsText(span.attributes),
    resource: listsAsText(span.resource),
    events,
  }
}

describe.each([
  { storage: 'memory', basePath: '' },
  { storage: 'badger', basePath: '/jaeger' },
] as const)('runs read from a real Jaeger with $storage, at "$basePath"', ({ storage, basePath }) => {
  let jaeger: Jaeger
  let viewer: Viewer
  let tee: Tee
  let folder = ''
  let demo = ''
  const cli = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli(args)
    expect(code, stderr).toBe(0)
    return { stdout, stderr }
  }
  /** Of what was sent, what this storage has afterwards: the shape of Jaeger 1 has no lists. */
  const kept = (span: SpanRecord): SpanRecord => (storage === 'memory' ? span : withListsAsText(span))
  const both = async (...args: string[]) => {
    const here = await cli(...args, '--url', viewer.url)
    const there = await cli(...args, '--from', `jaeger=${jaeger.queryUrl}`)
    return [JSON.parse(there.stdout), JSON.parse(here.stdout)]
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hookspan-from-'))
    jaeger = await startJaeger({ storage, basePath })
    viewer = await startViewer({ port: 0, db: ':memory:' })
    tee = await startTee(viewer.url, jaeger.otlpUrl)
    await runCli(['demo', '--fast', '--endpoint', tee.url], { cwd: folder })
    demo = JSON.parse((await cli('runs', '--json', '--url', viewer.url)).stdout).runs[0].traceId
    for (const name of data ? REPLAYED : []) {
      const { code, stderr } = await runCli(['replay', join(data!, name), '--content', '--endpoint', tee.url])
      expect(code, stderr).toBeLessThan(2)
    }
    const { runs } = JSON.parse((await cli('runs', '-n', '1000', '--json', '--url', viewer.url)).stdout)
    // Jaeger answers before it has them.
    for (const { traceId, spans } of runs) await jaeger.getTrace(traceId, { spanCount: spans })
  })
  afterAll(async () => {
    await tee?.[Symbol.asyncDispose]()
    await viewer?.close()
    await jaeger?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('are what was sent: tree, sums, conversation', async () => {
    const [there, here] = await both('show', demo, '--json', '--conversation')
    expect(there).toEqual(here)
  })

  it('are the same list, with the same sums', async () => {
    const [there, here] = await both('runs', '-n', '1000', '--json')
    expect(inOrder(there.runs)).toEqual(inOrder(here.runs))
    expect(there.numbers).toEqual(here.numbers)
  })

  it('have the same spans, attribute by attribute', async () => {
    const sources = [
      await openRunSource({ from: `jaeger=${jaeger.queryUrl}` }),
      await openRunSource({ url: viewer.url }),
    ] as const
    const [there, here] = sources
    const { runs } = await here.listRuns('', 5)
    for (const { traceId } of runs) {
      const { rows } = (await here.run(traceId))!
      expect((await there.run(traceId))!.rows).toEqual(rows)
      for (const { spanId } of rows)
        expect(await there.span(traceId, spanId)).toEqual(kept((await here.span(traceId, spanId))!))
    }
    for (const source of sources) source.close()
  })

  it('are compared as here', async () => {
    const { runs } = JSON.parse((await cli('runs', '--json', '-n', '2', '--url', viewer.url)).stdout)
    const [there, here] = await both('diff', runs[0].traceId, runs[1]?.traceId ?? demo, '--json')
    expect(there).toEqual(here)
  })

  it('are copied into a file whole, and once', async () => {
    const from = ['--from', `jaeger=${jaeger.queryUrl}`, '--db', join(folder, 'pulled.db')]
    const spans = JSON.parse((await cli('show', demo, '--json', '--url', viewer.url)).stdout).run.spans
    const first = await cli('runs', 'pull', demo.slice(0, 8), ...from)
    expect(first.stdout).toBe(
      `Copied ${spans} spans of run ${demo} from Jaeger at ${jaeger.queryUrl} into ${join(folder, 'pulled.db')}.\n`,
    )
    const again = await cli('runs', 'pull', demo, ...from, '--json')
    expect(JSON.parse(again.stdout)).toMatchObject({ traceId: demo, spans, added: 0 })
    const here = await cli('show', demo, '--json', '--conversation', '--db', join(folder, 'pulled.db'))
    const sent = await cli('show', demo, '--json', '--conversation', '--url', viewer.url)
    expect(JSON.parse(here.stdout)).toEqual(JSON.parse(sent.stdout))
  })

  it('are copied into the viewer that runs, and to none that shows runs of elsewhere', async () => {
    const from = `jaeger=${jaeger.queryUrl}`
    const mine = await startViewer({ port: 0, db: ':memory:' })
    const page = await startViewer({ port: 0, from })
    const pull = (url: string) => runCli(['runs', 'pull', demo, '--from', from, '--url', url])
    expect((await pull(mine.url)).stdout).toContain(`into ${mine.url}.`)
    expect((await pull(mine.url)).stdout).toContain(`Run ${demo} is in ${mine.url} already`)
    expect(await pull(page.url)).toMatchObject({ code: 1, stderr: expect.stringContaining('read only') })
    const { stdout } = await cli('show', demo, '--json', '--url', mine.url)
    expect(JSON.parse(stdout)).toEqual(
      JSON.parse((await cli('show', demo, '--json', '--url', viewer.url)).stdout),
    )
    await Promise.all([mine.close(), page.close()])
  })
})
