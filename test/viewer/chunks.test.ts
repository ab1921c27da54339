/** Spans are kept packed, as they came; what a person sees does not depend on how they were sent. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { context, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import type { Viewer } from 'hookspan/viewer'
import { expect, it } from 'vitest'
import { fromColumns, type RowColumns } from '../../src/viewer/model/columns.ts'
import { finish } from '../../src/viewer/model/in-turns.ts'
import { databaseFile, start } from './start.ts'
import { getJson, id, otlp, post, type TestSpan, TRACE } from './support.ts'

/** What the real exporter sends for the spans that `make` ends: the body of one request. */
async function protobufOf(make: (start: (name: string, parent?: Span) => Span) => void): Promise<Buffer> {
  const bodies: Buffer[] = []
  const server = createServer(async (request, response) => {
    bodies.push(await buffer(request))
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const exporter = new OTLPTraceExporter({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  })
  const options = { maxExportBatchSize: 20_000, maxQueueSize: 20_000 }
  const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter, ...options })] })
  const tracer = provider.getTracer('test')
  make((name, parent) =>
    tracer.startSpan(
      name,
      { attributes: { text: `word of ${name}`, list: ['a', 1], 'gen_ai.operation.name': 'execute_tool' } },
      parent ? trace.setSpan(context.active(), parent) : ROOT_CONTEXT,
    ),
  )
  await provider.forceFlush()
  await provider.shutdown()
  server.close()
  expect(bodies).toHaveLength(1)
  return bodies[0]!
}

const PROTOBUF = { headers: { 'content-type': 'application/x-protobuf' } }
const namesOf = async (viewer: Viewer, traceId: string) => {
  const { columns } = await getJson<{ columns: RowColumns }>(viewer, `/api/runs/${traceId}`)
  return fromColumns(columns).map((row) => row.name)
}

it('counts a tool call once of which two spans tell that come in one request', async () => {
  const viewer = await start()
  const body = await protobufOf((begin) => {
    const called = (parent?: Span) =>
      begin('execute_tool wipe', parent).setAttribute('gen_ai.tool.call.id', 'c1')
    const root = begin('root')
    root.setAttribute('gen_ai.operation.name', 'invoke_agent')
    const outer = called(root)
    called(outer).end()
    outer.end()
    root.end()
  })
  await post(viewer, body, PROTOBUF)
  const { runs } = await getJson<{ runs: { toolCalls: number }[] }>(viewer, '/api/runs')
  expect(runs).toMatchObject([{ toolCalls: 1 }])
})

it('shows of a tool that only reported a failure what it gave, of any other tool no result', async () => {
  const viewer = await start()
  let root: Span | undefined
  const body = await protobufOf((begin) => {
    root = begin('root')
    const ends = (name: string, result: string, message?: string) => {
      const span = begin(name, root)
      span.setAttribute('gen_ai.tool.call.result', result)
      if (message !== undefined) span.setStatus({ code: 2, message })
      span.end()
    }
    ends('pay', '{"content":"Error: the card was declined"}', 'the tool reported a failure')
    ends('book', 'half of it', 'timed out')
    ends('find', 'all of it')
    root.end()
  })
  expect((await post(viewer, body, PROTOBUF)).status).toBe(200)
  const { columns } = await getJson<{ columns: RowColumns }>(
    viewer,
    `/api/runs/${root!.spanContext().traceId}`,
  )
  const texts = new Map(fromColumns(columns).map((row) => [row.name, row.errorText]))
  expect(Object.fromEntries(texts)).toEqual({
    root: '',
    pay: 'Error: the card was declined',
    book: 'timed out',
    find: '',
  })
})

it('tells the runs of one request apart, however their spans alternate and however many they are', async () => {
  const viewer = await start()
  const roots: Span[] = []
  const body = await protobufOf((begin) => {
    roots.push(begin('root 0'), begin('root 1'))
    for (let number = 0; number < 6_000; number++)
      begin(`span ${number}`, roots[number % 3 === 0 ? 0 : 1]).end()
    for (const root of roots) root.end()
  })
  expect((await post(viewer, body, PROTOBUF)).status).toBe(200)
  const [first, second] = roots.map((root) => root.spanContext())
  expect((await namesOf(viewer, first!.traceId)).length).toBe(2_001)
  const names = await namesOf(viewer, second!.traceId)
  expect(names.length).toBe(4_001)
  expect(new Set(names)).toContain('span 5999')
  while (viewer.store.work(50));
  const found = viewer.store.search('"span 5998"', 10)
  expect(found.hits.map((hit) => [hit.traceId, hit.name])).toEqual([[second!.traceId, 'span 5998']])
  const { span } = await getJson<{ span: { name: string; attributes: object } }>(
    viewer,
    `/api/runs/${second!.traceId}/spans/${found.hits[0]!.spanId}`,
  )
  expect(span).toMatchObject({ name: 'span 5998', attributes: { text: 'word of span 5998', list: ['a', 1] } })
})

it('opens, lists, searches and exports whatever it took of a damaged request', async () => {
  const viewer = await start()
  let root: Span | undefined
  const whole = await protobufOf((begin) => {
    root = begin('root')
    for (let number = 0; number < 5; number++) begin(`span ${number}`, root).end()
    root.end()
  })
  let taken = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      async (damages) => {
        const body = Buffer.from(whole)
        for (const [at, byte] of damages) body[at] = byte
        const response = await post(viewer, body, PROTOBUF)
        expect([200, 400]).toContain(response.status)
        if (response.status === 200) taken++
        const { runs } = viewer.store.listRuns('', { limit: 50, offset: 0 })
        for (const { traceId } of runs) {
          viewer.store.run(traceId)
          expect([...viewer.store.records(traceId)].length).toBeGreaterThan(0)
          finish(viewer.store.exportingRun(traceId))
          viewer.store.removeRun(traceId)
        }
        while (viewer.store.work(50));
      },
    ),
    { numRuns: 300 },
  )
  expect(taken).toBeGreaterThan(100)
})

it('keeps large requests apart that arrive at the same time', async () => {
  const viewer = await start()
  const text = (request: number) => `request${request} `.repeat(20_000)
  const send = (request: number) => {
    const spans = [{ ...SPAN, traceId: id(request + 1).repeat(2), attributes: { text: text(request) } }]
    const body = Buffer.from(JSON.stringify(otlp(spans)))
    return request % 3 === 0
      ? post(viewer, gzipSync(body), { headers: { 'content-encoding': 'gzip' } })
      : post(viewer, body)
  }
  for (let round = 0; round < 5; round++) {
    const requests = Array.from({ length: 12 }, (_, at) => round * 12 + at)
    await Promise.all(requests.map(send))
    for (const request of requests) {
      const [span] = [...viewer.store.records(id(request + 1).repeat(2))]
      expect(span?.attributes.text).toBe(text(request))
    }
  }
})

const SPAN: TestSpan = { spanId: id(1), name: 'root', start: 0, end: 10 }
const snapshot = (note: string): TestSpan => ({
  ...SPAN,
  attributes: { 'hookspan.span.state': 'started', note },
})

it('keeps no start snapshot once its span has ended, nor a span that came again', async () => {
  const viewer = await start()
  const size = () => viewer.store.counts().spans
  await post(viewer, otlp([snapshot('x'.repeat(1000))]))
  for (let time = 0; time < 5; time++) await post(viewer, otlp([SPAN]))
  await post(viewer, otlp([snapshot('late')]))
  viewer.store.work(1000)
  expect(await namesOf(viewer, TRACE)).toEqual(['root'])
  viewer.store.sweep()
  expect(viewer.store.search('late', 5).hits).toEqual([])
  expect(size()).toBe(1)
})

it('finds what came after the newest run was removed and the viewer was started again', async () => {
  const db = databaseFile()
  const first = await start({ db })
  await post(first, otlp([{ ...SPAN, attributes: { note: 'before' } }]))
  expect(first.store.search('before', 5).hits).toHaveLength(1)
  first.store.removeRun(TRACE)
  await first.close()
  const second = await start({ db })
  await post(second, otlp([{ ...SPAN, traceId: 'b'.repeat(32), attributes: { note: 'after' } }]))
  expect(second.store.search('before', 5).hits).toEqual([])
  expect(second.store.search('after', 5).hits).toMatchObject([{ traceId: 'b'.repeat(32), name: 'root' }])
})

it('finds a span, and its run, by the words of its logs, and no longer when the run is gone', async () => {
  const viewer = await start()
  await post(viewer, otlp([SPAN]))
  const record = { traceId: TRACE, spanId: id(1), body: { stringValue: 'the fox jumps' } }
  const logs = { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }
  await post(viewer, logs, { path: '/v1/logs' })
  expect(viewer.store.search('fox', 5).hits).toMatchObject([{ spanId: id(1), name: 'root' }])
  expect(viewer.store.listRuns('fox', { limit: 5, offset: 0 }).total).toBe(1)
  viewer.store.removeRun(TRACE)
  expect(viewer.store.search('fox', 5).hits).toEqual([])
})

it('still lists every run when one claims times and tokens beyond what a number can hold', async () => {
  const viewer = await start()
  const body = otlp([
    { ...SPAN, attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 2 ** 60 } },
  ])
  body.resourceSpans[0]!.scopeSpans[0]!.spans[0]!.startTimeUnixNano = '18446744073709551615'
  await post(viewer, body)
  await post(viewer, otlp([{ ...SPAN, traceId: 'b'.repeat(32) }]))
  expect(viewer.store.listRuns('', { limit: 5, offset: 0 }).total).toBe(2)
  expect(await namesOf(viewer, TRACE)).toEqual(['root'])
})
