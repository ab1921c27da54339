import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { getJson, id, otlp, post, TRACE } from './support.ts'

let viewer: Viewer
beforeEach(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
})
afterEach(() => viewer.close())

interface RunReply {
  summary: { traceId: string; agent: string; spans: number; inputTokens: number; status: string }
  columns: { keys: string[]; rows: unknown[][] }
}

it('keeps the connection of an exporter for longer than it waits between two batches', async () => {
  const { headers } = await post(viewer, otlp([]))
  expect(headers.get('keep-alive')).toBe('timeout=65')
})

describe.each([
  ['protobuf', ProtobufExporter],
  ['JSON', JsonExporter],
])('OTLP over HTTP as %s, sent by the real exporter', (_name, Exporter) => {
  it.each(['none', 'gzip'] as const)('keeps every part of a span (compression: %s)', async (compression) => {
    const exporter = new Exporter({
      url: `${viewer.otlpEndpoint}/v1/traces`,
      compression: compression as never,
    })
    const provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': 'support-bot' }),
      spanProcessors: [new SimpleSpanProcessor({ exporter })],
    })
    const tracer = provider.getTracer('scope', '1.2.3')
    const parent = tracer.startSpan('invoke_agent support', {
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'support' },
    })
    const child = tracer.startSpan(
      'execute_tool grüße 🦜',
      {
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'grüße',
          list: ['a', 'b'],
          number: -7,
          share: 0.25,
          yes: true,
        },
        links: [{ context: parent.spanContext(), attributes: { why: 'because' } }],
      },
      trace.setSpan(context.active(), parent),
    )
    child.addEvent('thought', { depth: 3 })
    child.setStatus({ code: SpanStatusCode.ERROR, message: 'no luck' })
    child.end()
    parent.end()
    await provider.forceFlush()

    const { traceId } = parent.spanContext()
    const run = await getJson<RunReply>(viewer, `/api/runs/${traceId}`)
    expect(run.summary).toMatchObject({ agent: 'support', spans: 2 })
    const { span } = await getJson<{ span: Record<string, unknown> }>(
      viewer,
      `/api/runs/${traceId}/spans/${child.spanContext().spanId}`,
    )
    expect(span).toMatchObject({
      name: 'execute_tool grüße 🦜',
      parentSpanId: parent.spanContext().spanId,
      attributes: { list: ['a', 'b'], number: -7, share: 0.25, yes: true },
      events: [{ name: 'thought', attributes: { depth: 3 } }],
      links: [{ traceId, spanId: parent.spanContext().spanId, attributes: { why: 'because' } }],
      status: { code: 2, message: 'no luck' },
      resource: { 'service.name': 'support-bot' },
      scope: { name: 'scope', version: '1.2.3' },
    })
  })
})

it('shows a log that belongs to a span as an event of that span', async () => {
  await post(viewer, otlp([{ spanId: id(1), name: 'work' }]))
  const provider = new LoggerProvider({
    processors: [
      new SimpleLogRecordProcessor({
        exporter: new OTLPLogExporter({ url: `${viewer.otlpEndpoint}/v1/logs` }),
      }),
    ],
  })
  const spanContext = { traceId: TRACE, spanId: id(1), traceFlags: 1 }
  provider.getLogger('test').emit({
    body: 'the fox jumps',
    severityText: 'WARN',
    context: trace.setSpanContext(context.active(), spanContext),
  })
  await provider.forceFlush()
  await provider.shutdown()
  const { span } = await getJson<{ span: { events: { attributes: object }[] } }>(
    viewer,
    `/api/runs/${TRACE}/spans/${id(1)}`,
  )
  expect(span.events.map((event) => event.attributes)).toEqual([
    { 'log.body': 'the fox jumps', 'log.severity': 'WARN' },
  ])
})

it('keeps integers beyond 2^53 exact, and gives them back as they came', async () => {
  const traces = otlp([{ spanId: id(1) }])
  traces.resourceSpans[0]!.scopeSpans[0]!.spans[0]!.attributes = [
    { key: 'big', value: { intValue: '9007199254740993' } },
  ]
  await post(viewer, traces)
  const { span } = await getJson<{ span: { attributes: object } }>(
    viewer,
    `/api/runs/${TRACE}/spans/${id(1)}`,
  )
  expect(span.attributes).toEqual({ big: '9007199254740993' })
  const exported = await (await fetch(`${viewer.url}/api/runs/${TRACE}/export.json`)).text()
  expect(exported).toContain('{"intValue":"9007199254740993"}')
})

it('announces itself, so that our tracing can tell it from another backend', async () => {
  expect(await getJson(viewer, '/v1/hookspan')).toEqual({
    name: 'hookspan-viewer',
    version: expect.any(String),
    uiUrl: viewer.url,
  })
})

describe('what cannot be taken', () => {
  it('rejects one malformed span of a request, says so, and keeps the others', async () => {
    const response = await post(
      viewer,
      otlp([{ spanId: id(1) }, { spanId: 'xyz' }, { spanId: id(3), parentSpanId: id(1) }]),
    )
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      partialSuccess: { rejectedSpans: '1', errorMessage: expect.stringContaining('span id of 8 bytes') },
    })
    expect((await getJson<RunReply>(viewer, `/api/runs/${TRACE}`)).summary.spans).toBe(2)
  })

  it('answers malformed bodies with the protocol’s status, in the encoding of the request', async () => {
    const json = await post(viewer, '{"resourceSpans": [')
    expect([json.status, await json.json()]).toEqual([
      400,
      { code: 3, message: expect.stringContaining('Expected OTLP/JSON') },
    ])
    const protobuf = await post(viewer, new Uint8Array([0x0a, 0xff, 0x01]), {
      headers: { 'content-type': 'application/x-protobuf' },
    })
    expect([protobuf.status, protobuf.headers.get('content-type')]).toEqual([400, 'application/x-protobuf'])
    const status = Buffer.from(await protobuf.arrayBuffer())
    expect([status[0], status[1]]).toEqual([0x08, 3])
    expect(status.toString('utf8')).toContain('Malformed protobuf')
  })

  it('answers 415 to other media types and 405 to other methods', async () => {
    expect((await post(viewer, 'x', { headers: { 'content-type': 'text/plain' } })).status).toBe(415)
    expect((await fetch(`${viewer.url}/v1/traces`)).status).toBe(405)
  })
})
