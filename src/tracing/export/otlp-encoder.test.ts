import type { Span, Tracer } from '@opentelemetry/api'
import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { otlpEncoder } from './otlp-encoder.ts'

async function spansOf(make: (tracer: Tracer) => Span[]): Promise<ReadableSpan[]> {
  const exporter = new InMemorySpanExporter()
  const resource = resourceFromAttributes({ 'service.name': 'bot "1"', list: ['a', 'b'] })
  const provider = new TracerProvider({ resource, spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  for (const span of make(provider.getTracer('scope', '1.2'))) span.end()
  await provider.forceFlush()
  return exporter.getFinishedSpans()
}

/** Fields that have their default may be left out, and a number of 64 bits may be a string. */
const bare = (request: unknown): unknown =>
  JSON.parse(JSON.stringify(request), (key, value) => {
    if ((/^dropped/.test(key) && value === 0) || (/^(links|events)$/.test(key) && value.length === 0))
      return undefined
    return key === 'attributes' && value.length === 0 ? undefined : value
  })

const parsed = (bytes: Uint8Array) => bare(JSON.parse(new TextDecoder().decode(bytes)))

const json = otlpEncoder('http/json')

describe('an OTLP encoder', () => {
  it('writes the same JSON as the SDK', async () => {
    const remote = {
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    }
    const traceState = createTraceState('vendor=1')
    const spans = await spansOf((tracer) => {
      const plain = tracer.startSpan('plain', {
        kind: SpanKind.CLIENT,
        attributes: { n: 1, d: 1.5, b: true, list: [1, 2] },
      })
      plain.setStatus({ code: SpanStatusCode.ERROR, message: 'broke\n"badly"' })
      plain.addEvent('event', { at: 'once' }).addEvent('bare')
      const parent = trace.setSpanContext(ROOT_CONTEXT, { ...remote, traceState })
      const links = [
        { context: { ...remote, traceState }, attributes: { why: 'resumed' } },
        { context: remote },
      ]
      return [plain, tracer.startSpan('child', { links, startTime: [0, 5] }, parent)]
    })
    expect(parsed(json.encodeRequest(spans))).toEqual(parsed(JsonTraceSerializer.serializeRequest(spans)!))
  })

  it('writes any attribute as the SDK does', async () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.boolean(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
      fc.array(fc.string({ unit: 'grapheme' })),
    )
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string({ minLength: 1 }), value), async (attributes) => {
        const spans = await spansOf((tracer) => [tracer.startSpan('any', { attributes })])
        const theirs = JSON.stringify(parsed(JsonTraceSerializer.serializeRequest(spans)!))
        // Integers beyond 2^53 it calls integers, which no collector can read.
        const wide = theirs.replaceAll(/"intValue":(-?\d[\d.e+]*)/g, (text, number) =>
          Number.isSafeInteger(Number(number)) ? text : `"doubleValue":${number}`,
        )
        expect(parsed(json.encodeRequest(spans))).toEqual(JSON.parse(wide))
      }),
      { numRuns: 100 },
    )
  })

  it('writes what JSON has no text for', async () => {
    const attributes = { nan: Number.NaN, far: Number.NEGATIVE_INFINITY, lone: 'a\ud800b' }
    const spans = await spansOf((tracer) => [tracer.startSpan('odd', { attributes })])
    const text = new TextDecoder().decode(json.encodeRequest(spans))
    expect(text).toContain('{"key":"nan","value":{"doubleValue":"NaN"}}')
    expect(text).toContain('{"key":"far","value":{"doubleValue":"-Infinity"}}')
    expect(text).toContain('{"key":"lone","value":{"stringValue":"a\ufffdb"}}')
  })

  it('writes the same protobuf as the SDK', async () => {
    const spans = await spansOf((tracer) => [
      tracer.startSpan('a', { attributes: { n: 1 } }),
      tracer.startSpan('b'),
    ])
    const protobuf = otlpEncoder('http/protobuf')
    expect(protobuf.contentType).toBe('application/x-protobuf')
    expect(protobuf.encodeRequest(spans)).toEqual(ProtobufTraceSerializer.serializeRequest(spans))
  })
})
