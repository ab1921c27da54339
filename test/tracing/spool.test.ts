import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { Worker } from 'node:worker_threads'
import { trace } from '@opentelemetry/api'
import { HookDispatcher } from 'hookspan'
import {
  type ReadableSpan,
  type StartTracingOptions,
  spanTitle,
  startTracing,
  type Tracing,
} from 'hookspan/tracing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { readRecords, type StoredRecord } from '../../src/tracing/export/spool/read-records.ts'
import { END_BYTES } from '../../src/tracing/export/spool/records.ts'
import { startCollector } from '../support/collector.ts'
import { faultyDisk } from '../support/faulty-disk.ts'
import { startOtlpStub } from '../support/otlp-stub.ts'

type Collector = Awaited<ReturnType<typeof startCollector>>

/** Where in its file. */
const bodyAt = ({ bytes, end }: StoredRecord) => end - END_BYTES - bytes.length

const FAST = { delayMs: 10, requestTimeoutMs: 20_000 }

describe('spoolDir', () => {
  let collector: Collector
  let folder: string
  let tracing: Tracing | undefined
  let troubles: string[]
  beforeEach(async () => {
    collector = await startCollector()
    folder = mkdtempSync(join(tmpdir(), 'hookspan-spool-'))
    troubles = []
  })
  afterEach(async () => {
    await tracing?.shutdown({ timeoutMs: 1_000 })
    tracing = undefined
    await collector.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  function start(options: StartTracingOptions = {}) {
    const queue = { ...FAST, onTrouble: (message: string) => troubles.push(message), ...options.queue }
    tracing = startTracing({
      endpoint: collector.url,
      spoolDir: folder,
      flushOnExit: false,
      ...options,
      queue,
    })
    const dispatcher = new HookDispatcher()
    dispatcher.use(tracing)
    return { tracing, dispatcher }
  }

  /** Three spans: its own, a step's and a tool's. */
  async function runAgent(dispatcher: HookDispatcher, agentName = 'a') {
    const op = dispatcher.startOperation({ agentName })
    await op.step((step) => step.toolCall({ apiName: 't', args: {} }, () => 'fine'))
    await op.complete()
  }

  const files = () => readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const bytesOnDisk = () => tracing?.stats().spool?.bytes ?? Number.NaN
  const roots = () => collector.names().filter((name) => name.startsWith('invoke_agent'))

  /** What a process leaves that could not deliver. */
  async function leaveBehind(...agentNames: string[]) {
    const { tracing, dispatcher } = start({ endpoint: 'http://127.0.0.1:9' })
    for (const name of agentNames) await runAgent(dispatcher, name)
    await tracing.shutdown()
    troubles.length = 0
    return join(folder, readdirSync(folder)[0] as string)
  }

  it('leaves nothing on disk of what was delivered', async () => {
    const { tracing, dispatcher } = start()
    for (let i = 0; i < 600; i++) await runAgent(dispatcher)
    await tracing.forceFlush({ timeoutMs: 20_000 })
    expect(tracing.stats()).toMatchObject({ queued: 0, exported: 1_800, dropped: 0 })
    expect(bytesOnDisk()).toBeLessThan(300_000)
    await tracing.shutdown()
    expect(files()).toEqual([])
  })

  it('writes into no file that was opened after its end', async () => {
    const { tracing, dispatcher } = start({ endpoint: 'http://127.0.0.1:9' })
    const span = trace.getTracer('late').startSpan('late')
    await runAgent(dispatcher)
    await tracing.shutdown()
    const path = join(folder, 'of-the-application')
    const fds = [1, 2, 3, 4].map(() => openSync(path, 'a'))
    writeSync(fds[0] as number, 'ours')
    span.end()
    await runAgent(dispatcher)
    for (const fd of fds) closeSync(fd)
    expect(readFileSync(path, 'utf8')).toBe('ours')
  })

  it('keeps on disk what memory has no room for, and delivers all of it in order', async () => {
    const { tracing, dispatcher } = start({ queue: { maxQueueSpans: 30, maxBatchSpans: 20 } })
    await collector.stop()
    for (let i = 0; i < 100; i++) await runAgent(dispatcher, `away-${i}`)
    expect(tracing.stats()).toMatchObject({ queued: 300, dropped: 0 })
    collector = await startCollector(collector.port)
    await collector.until(() => collector.spans.length === 300, 20_000)
    expect(roots()).toEqual(Array.from({ length: 100 }, (_, i) => `invoke_agent away-${i}`))
    await expect.poll(() => tracing.stats()).toMatchObject({ queued: 0, exported: 300, dropped: 0 })
  })

  it('goes on reading where a file ends with the request that empties it', async () => {
    // Files of 64 KiB and one span a request: some request ends where a file does.
    const { tracing, dispatcher } = start({
      maxSpoolBytes: 1_048_576,
      queue: { maxQueueSpans: 1, maxBatchSpans: 1 },
    })
    await collector.stop()
    for (let i = 0; i < 200; i++) await runAgent(dispatcher)
    collector = await startCollector(collector.port)
    await expect.poll(() => tracing.stats()).toMatchObject({ queued: 0, exported: 600, dropped: 0 })
  })

  it('delivers what an earlier process left, once, and then lets go of the disk', async () => {
    await leaveBehind('first', 'second')
    const { tracing } = start()
    await collector.until(() => collector.spans.length >= 6)
    expect(roots()).toEqual(['invoke_agent first', 'invoke_agent second'])
    await tracing.shutdown()
    expect(collector.spans).toHaveLength(6)
    expect(files()).toEqual([])
  })

  it('delivers what is left when it ends at once', async () => {
    await leaveBehind('first')
    const { tracing } = start()
    await tracing.shutdown()
    expect(roots()).toEqual(['invoke_agent first'])
    expect(files()).toEqual([])
  })

  it('delivers what is left to a collector that comes later than itself', async () => {
    await leaveBehind('early')
    await collector.stop()
    start()
    await expect.poll(() => troubles.some((text) => text.includes('cannot be delivered'))).toBe(true)
    collector = await startCollector(collector.port)
    await collector.until(() => collector.spans.length === 3, 20_000)
  })

  it('leaves alone what belongs to somebody who lives', async () => {
    const queue = { ...FAST, delayMs: 60_000 }
    const owner = startTracing({
      endpoint: 'http://127.0.0.1:9',
      spoolDir: folder,
      flushOnExit: false,
      queue,
    })
    const dispatcher = new HookDispatcher()
    dispatcher.use(owner)
    await runAgent(dispatcher, 'alive')
    // As in a second container: another process by its id, or the same id; here even the same process.
    trace.disable()
    const { dispatcher: others } = start()
    await runAgent(others, 'other')
    await tracing?.forceFlush({ timeoutMs: 20_000 })
    expect(roots()).toEqual(['invoke_agent other'])
    await owner.shutdown()
    await tracing?.shutdown()
    start()
    await collector.until(() => roots().includes('invoke_agent alive'))
  })

  it('delivers what a worker thread left that was terminated', async () => {
    const workerData = { endpoint: collector.url, spoolDir: folder }
    const worker = new Worker(new URL('processes/worker-agent.ts', import.meta.url), { workerData })
    await once(worker, 'message')
    await worker.terminate()
    expect(collector.spans).toEqual([])
    start()
    await collector.until(() => collector.spans.length === 5)
    const states = collector.spans.map(({ name, attributes }) => [
      spanTitle(name, attributes),
      attributes['hookspan.span.state'] ?? 'ended',
    ])
    expect(Object.fromEntries(states)).toEqual({
      'execute_tool first': 'ended',
      'step 0': 'ended',
      'invoke_agent in a worker': 'interrupted',
      'step 1': 'interrupted',
      'execute_tool endless': 'interrupted',
    })
  })

  it('stays where it is when the process changes its folder', async () => {
    const before = process.cwd()
    const { dispatcher } = start({ spoolDir: relative(before, folder) })
    process.chdir(tmpdir())
    try {
      for (let i = 0; i < 2_000; i++) await runAgent(dispatcher)
    } finally {
      process.chdir(before)
    }
    await tracing?.forceFlush({ timeoutMs: 20_000 })
    expect([troubles, tracing?.stats().exported]).toEqual([[], 6_000])
  })

  it.each(['', 7, {}, null])('refuses %j as a folder', (spoolDir) => {
    expect(() => start({ spoolDir } as StartTracingOptions)).toThrow(
      /`spoolDir` to be the path of a folder, got/,
    )
  })

  it('sets aside a record that the disk changed, and delivers its neighbours', async () => {
    const left = await leaveBehind('a', 'b')
    const path = join(left, '1.spans')
    const bytes = readFileSync(path)
    const [bad] = [...readRecords(path)].filter(
      (record) => record.kind === 'e' && record.bytes.includes('execute_tool t'),
    )
    if (bad === undefined) throw new Error('no such record')
    bad.bytes[0] = 0xff
    bytes.set(bad.bytes, bodyAt(bad))
    // And the beginning of one, which its writer could not end.
    writeFileSync(path, Buffer.concat([bytes, bytes.subarray(0, 20)]))
    const { tracing } = start()
    await collector.until(() => collector.spans.length === 6)
    expect(collector.spans.filter(({ attributes }) => attributes['hookspan.span.state'])).toHaveLength(1)
    expect(tracing.stats().spool?.setAside).toBe(1)
    const [record] = readFileSync(join(folder, 'set-aside.ndjson'), 'utf8').trim().split('\n')
    expect(JSON.parse(record as string)).toMatchObject({
      why: 'unreadable',
      record: bad.bytes.toString('base64'),
    })
    await tracing.shutdown()
    expect(readdirSync(folder)).toEqual(['set-aside.ndjson'])
  })

  it('says that spans are kept in memory while the disk takes none', async () => {
    using disk = faultyDisk(folder)
    disk.fault = (call) => (call === 'writeSync' ? 'ENOSPC' : undefined)
    const { tracing, dispatcher } = start({ endpoint: 'http://127.0.0.1:9' })
    await runAgent(dispatcher)
    await expect
      .poll(() => troubles)
      .toEqual([
        expect.stringMatching(/cannot be written to `spoolDir`/),
        expect.stringMatching(/ECONNREFUSED.* 3 spans are kept in memory and sent later/),
      ])
    await tracing.shutdown({ timeoutMs: 100 })
    expect(troubles[2]).toMatch(/3 spans were not delivered .*`spoolDir` did not take them/)
  })

  it('writes what the disk did not take once it does, though no span ends for long', async () => {
    using disk = faultyDisk(folder)
    disk.fault = (call) => (call === 'writeSync' ? 'ENOSPC' : undefined)
    const { dispatcher } = start({ endpoint: 'http://127.0.0.1:9' })
    dispatcher.startOperation({ agentName: 'waiting' })
    await runAgent(dispatcher)
    await expect.poll(() => troubles[0]).toMatch(/cannot be written to `spoolDir`/)
    disk.fault = () => undefined
    const kinds = () => {
      const path = join(folder, readdirSync(folder)[0] ?? '', '1.spans')
      const records = existsSync(path) ? [...readRecords(path)] : []
      return records.flatMap(({ kind }) => (kind === 'h' ? [] : kind)).sort()
    }
    await expect.poll(kinds, { timeout: 12_000 }).toEqual(['e', 'e', 'e', 's'])
  })

  it('writes what the disk did not take at the end of the process, where there is room by then', async () => {
    using disk = faultyDisk(folder)
    disk.fault = (call) => (call === 'writeSync' ? 'ENOSPC' : undefined)
    const first = start({ endpoint: 'http://127.0.0.1:9' })
    await runAgent(first.dispatcher)
    await expect.poll(() => troubles[0]).toMatch(/cannot be written to `spoolDir`/)
    disk.fault = () => undefined
    await first.tracing.shutdown({ timeoutMs: 100 })
    expect(troubles.filter((message) => /lost/.test(message))).toEqual([])
    expect(first.tracing.stats()).toMatchObject({ queued: 3, dropped: 0 })
    const { tracing } = start()
    await collector.until(() => collector.spans.length === 3)
    await tracing.shutdown()
  })

  it('keeps a file in which it finds no record, and delivers what is beside it', async () => {
    const left = await leaveBehind('a')
    const foreign = '{"span":"of another version"}\n'.repeat(10_000)
    writeFileSync(join(left, '2.spans'), foreign)
    const { tracing } = start()
    await collector.until(() => collector.spans.length === 3)
    await expect.poll(() => troubles).toEqual([expect.stringContaining('no record of this version')])
    await tracing.shutdown()
    expect(readFileSync(join(`${left}.unreadable`, '2.spans'), 'utf8')).toBe(foreign)
    expect(tracing.stats().spool?.setAside).toBe(0)
  })

  it('leaves a folder alone in which another version of hookspan has files', async () => {
    const left = await leaveBehind('a')
    writeFileSync(join(left, '1.newer'), 'spans')
    const before = readdirSync(left)
    const { tracing } = start()
    await expect.poll(() => troubles).toEqual([expect.stringContaining('does not know "1.newer"')])
    await tracing.shutdown()
    expect(readdirSync(left)).toEqual(before)
    rmSync(join(left, '1.newer'))
    start()
    await collector.until(() => collector.spans.length === 3)
  })

  it.each([
    ['tells of it', 2 ** 40],
    ['drops it for room', undefined],
  ])('reads through no file that is longer than any of ours: %s', async (_does, maxSpoolBytes) => {
    const left = await leaveBehind('a')
    const huge = join(left, '2.spans')
    writeFileSync(huge, '')
    truncateSync(huge, 20 * 1024 ** 3)
    const { tracing, dispatcher } = start(maxSpoolBytes === undefined ? {} : { maxSpoolBytes })
    await runAgent(dispatcher, 'now')
    const told = maxSpoolBytes
      ? '2.spans is longer than any file of hookspan'
      : 'the oldest spans are dropped'
    await expect.poll(() => troubles.join(), { timeout: 10_000 }).toContain(told)
    await tracing.shutdown()
    expect(roots()).toContain('invoke_agent now')
    expect(existsSync(huge)).toBe(false)
    expect(existsSync(join(`${left}.unreadable`, '2.spans'))).toBe(maxSpoolBytes !== undefined)
    expect(tracing.stats().spool?.setAside).toBe(0)
  })

  it('waits for no pipe in the folder, and follows no link out of it', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'hookspan-elsewhere-'))
    renameSync(await leaveBehind('elsewhere'), join(elsewhere, 'left'))
    execFileSync('mkfifo', [join(await leaveBehind('piped'), '9.spans')])
    symlinkSync(join(elsewhere, 'left'), join(folder, 'm0aaaaaa-001122334455'))
    const before = readdirSync(join(elsewhere, 'left'))

    const { tracing, dispatcher } = start()
    await runAgent(dispatcher, 'now')
    await vi.waitFor(() => expect(troubles.join()).toContain('9.spans is no file'))
    await tracing.shutdown()

    expect(roots().sort()).toEqual(['invoke_agent now', 'invoke_agent piped'])
    expect(readdirSync(join(elsewhere, 'left'))).toEqual(before)
    rmSync(elsewhere, { recursive: true })
  })

  it('delivers spans whose resource the disk changed', async () => {
    const left = await leaveBehind('a')
    const path = join(left, '1.spans')
    const bytes = readFileSync(path)
    const [head] = readRecords(path)
    expect(head?.kind).toBe('h')
    bytes[bodyAt(head as StoredRecord)] = 0xff
    writeFileSync(path, bytes)
    const { tracing } = start()
    await collector.until(() => collector.spans.length === 3)
    expect(tracing.stats().spool?.setAside).toBe(1)
  })

  it.each([400, 413])(
    'sets aside the one span that is answered with %d, not what is behind it',
    async (status) => {
      await leaveBehind('a', 'poison', 'b')
      collector.answerWith((spans) => (spans.some((span) => span.name.includes('poison')) ? status : 200))
      const { tracing, dispatcher } = start()
      await collector.until(() => collector.spans.length === 8)
      await runAgent(dispatcher, 'poison again')
      await tracing.forceFlush({ timeoutMs: 20_000 })
      expect(tracing.stats()).toMatchObject({ queued: 0, exported: 10, dropped: 2 })
      const records = readFileSync(join(folder, 'set-aside.ndjson'), 'utf8').trim().split('\n')
      const asides = records.map((line) => JSON.parse(line) as { why: string; record: string })
      expect(asides.map(({ why }) => why)).toEqual([
        expect.stringContaining(`${status}`),
        expect.stringContaining(`${status}`),
      ])
      expect(JSON.parse(asides[0]?.record as string).resourceSpans[0].scopeSpans[0].spans[0].name).toBe(
        'invoke_agent poison',
      )
      expect(troubles[0]).toMatch(/set aside in `spoolDir`/)
    },
  )

  it.each([
    ['a folder', (path: string) => mkdirSync(path)],
    ['an empty file', (path: string) => writeFileSync(path, '')],
    ['a file of bytes', (path: string) => writeFileSync(path, Buffer.alloc(100_000, 7))],
  ])('starts beside %s that has the name of one of its own', async (_what, make) => {
    const left = await leaveBehind('good')
    make(join(folder, 'mwrr673d-3d2ea3cbf58a'))
    mkdirSync(join(folder, 'mwrr6751-c2149cef27dd/lock'), { recursive: true })
    mkdirSync(join(left, '2.spans'))
    const { dispatcher } = start()
    await runAgent(dispatcher, 'later')
    await collector.until(() => roots().length === 2)
  })

  it.each<[string, (lock: string) => void]>([
    ['is a folder', (lock) => mkdirSync(lock)],
    ['holds something else', (lock) => writeFileSync(lock, 'no lock of ours '.repeat(100))],
    ['is gone', () => {}],
  ])(
    'says once that nobody can deliver what is behind a lock that %s, and delivers the rest',
    async (_how, make) => {
      const left = await leaveBehind('behind')
      rmSync(join(left, 'lock'))
      make(join(left, 'lock'))
      const { tracing, dispatcher } = start()
      for (const name of ['a', 'b']) {
        await runAgent(dispatcher, name)
        await tracing.forceFlush({ timeoutMs: 20_000 })
      }
      expect(roots()).toEqual(['invoke_agent a', 'invoke_agent b'])
      await tracing.shutdown()
      expect(troubles).toEqual([
        expect.stringContaining(`Cannot deliver what a process left in ${left}: its lock`),
      ])
      expect(readdirSync(left)).toContain('1.spans')
    },
  )

  it('sends through the exporter that the user gave', async () => {
    await leaveBehind('left')
    const sent: ReadableSpan[] = []
    const exporter: StartTracingOptions['exporter'] = {
      export(spans, done) {
        sent.push(...spans)
        done({ code: 0 })
      },
      shutdown: async () => {},
    }
    const { dispatcher } = start({ exporter, serviceName: 'own' })
    await runAgent(dispatcher, 'live')
    await expect.poll(() => sent.length).toBe(6)
    expect(collector.spans).toEqual([])
    const [left, live] = ['invoke_agent left', 'invoke_agent live'].map((name) =>
      sent.find((span) => span.name === name),
    )
    const shape = (span: ReadableSpan | undefined) => ({
      keys: Object.keys(span?.attributes ?? {}).sort(),
      kind: span?.kind,
      status: span?.status,
      scope: (span?.instrumentationScope as { name: string } | undefined)?.name,
      times: [span?.startTime.length, span?.endTime.length, (span?.duration[1] ?? 0) > 0],
      flags: span?.spanContext().traceFlags,
    })
    expect(shape(left)).toEqual(shape(live))
  })

  it('posts in the protocol that the user chose', async () => {
    await leaveBehind('left')
    await using stub = await startOtlpStub({ status: 200, body: '' })
    const { tracing } = start({ endpoint: stub.url, protocol: 'http/protobuf' })
    await expect.poll(() => stub.bodies.length).toBe(1)
    expect(stub.bodies[0]?.includes('invoke_agent left')).toBe(true)
    expect(stub.bodies[0]?.[0]).toBe(0x0a)
    await tracing.shutdown()
    expect(files()).toEqual([])
  })

  it('drops the oldest at its limit, says so once, and counts them', async () => {
    const { tracing, dispatcher } = start({
      endpoint: 'http://127.0.0.1:9',
      maxSpoolBytes: 1_048_576,
      queue: { maxQueueSpans: 10 },
    })
    for (let i = 0; i < 1_500; i++) await runAgent(dispatcher, `r${i}`)
    const { dropped, queued } = tracing.stats()
    expect(dropped).toBeGreaterThan(100)
    expect(dropped + queued).toBe(4_500)
    expect(bytesOnDisk()).toBeLessThanOrEqual(1_048_576)
    expect(troubles.filter((text) => text.includes('maxSpoolBytes'))).toEqual([
      expect.stringMatching(/oldest spans are dropped/),
    ])
    await tracing.shutdown()
    // A few of the oldest were in memory, which ends.
    const kept = tracing.stats().queued
    expect(queued - kept).toBeLessThanOrEqual(10)
    start({ maxSpoolBytes: 1_048_576 })
    await collector.until(() => collector.spans.length >= kept, 20_000)
    const ended = collector.spans.filter(({ attributes }) => !attributes['hookspan.span.state'])
    expect(ended).toHaveLength(kept)
    expect(roots().at(-1)).toBe('invoke_agent r1499')
  })

  it('drops what others left before its own', async () => {
    await leaveBehind(...Array.from({ length: 100 }, (_, i) => `old-${i}`))
    const { tracing, dispatcher } = start({ endpoint: 'http://127.0.0.1:9', maxSpoolBytes: 1_048_576 })
    for (let i = 0; i < 600; i++) await runAgent(dispatcher, `new-${i}`)
    const { dropped, queued } = tracing.stats()
    expect(dropped).toBe(300)
    expect(queued).toBe(1_800)
  })

  it('keeps what a span was that never ended', async () => {
    const { dispatcher } = start()
    const op = dispatcher.startOperation({ agentName: 'long' })
    // So much is delivered meanwhile that what tells of the start is written anew.
    for (let i = 0; i < 700; i++) await runAgent(dispatcher)
    await tracing?.forceFlush({ timeoutMs: 20_000 })
    const [own] = readdirSync(folder)
    const segments = readdirSync(join(folder, own as string)).filter((name) => name.endsWith('.spans'))
    const records = segments.flatMap((name) => [...readRecords(join(folder, own as string, name))])
    const told = records.filter(({ kind, bytes }) => kind === 's' && bytes.includes('invoke_agent long'))
    expect(told).not.toEqual([])
    expect(bytesOnDisk()).toBeLessThan(400_000)
    await op.complete()
  })

  it.each([[1], [1_048_575], ['1 GiB'], [Number.NaN]])('refuses %j as a limit', (maxSpoolBytes) => {
    expect(() => start({ maxSpoolBytes } as StartTracingOptions)).toThrow(
      /`maxSpoolBytes` to be a number >= 1048576, got/,
    )
  })

  it('refuses a folder that is a file', () => {
    const file = join(folder, 'file')
    appendFileSync(file, '')
    expect(() => start({ spoolDir: file })).toThrow(/Cannot write spans to `spoolDir`/)
    expect(existsSync(file)).toBe(true)
  })
})
