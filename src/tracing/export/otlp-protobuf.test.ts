import type { HrTime } from '@opentelemetry/api'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { protobufRequest } from './otlp-protobuf.ts'
import type { ReadableSpan } from './types.ts'

const lengths = [0, 1, 24, 25, 41, 42, 43, 62, 63, 115, 127, 128, 300, 5_000, 16_384, 70_000]
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc
    .tuple(fc.constantFrom('a', 'ä', '漢', '🙂', '\ud800'), fc.constantFrom(...lengths), fc.nat(3))
    .map(([unit, length, more]) => unit.repeat(length) + 'b'.repeat(more)),
)
const number = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(0, -0, -1, 127, 128, 2 ** 31, 2 ** 32, -(2 ** 32), 2 ** 53, -(2 ** 63), 2 ** 63, 2 ** 64),
)
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    anyText,
    number,
    fc.boolean(),
    fc.constantFrom(null, undefined),
    fc.uint8Array({ maxLength: 200 }),
    fc.array(tie('value'), { maxLength: 40 }),
    fc.dictionary(anyText, tie('value'), { maxKeys: 4 }),
  ),
}))
const attributes = fc.dictionary(anyText, fc.oneof(anyText, value), { maxKeys: 6 })
const time = fc.tuple(fc.nat(2 ** 33), fc.nat(999_999_999)) as fc.Arbitrary<HrTime>
const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF'), minLength: length, maxLength: length })
const traceState = fc.option(
  anyText.map((text) => ({ serialize: () => text })),
  { nil: undefined },
)
const spanContext = fc.record({
  traceId: hex(32),
  spanId: hex(16),
  traceFlags: fc.nat(255),
  isRemote: fc.constantFrom(true, false, undefined),
  traceState,
})
const dropped = fc.constantFrom(0, 0, 3, 200)
const event = fc.record(
  { name: anyText, time, attributes, droppedAttributesCount: dropped },
  { requiredKeys: ['name', 'time'] },
)
const link = fc.record(
  { context: spanContext, attributes, droppedAttributesCount: dropped },
  { requiredKeys: ['context'] },
)
const scopes = [
  { name: 'a' },
  { name: 'ä', version: '1', schemaUrl: 'https://schema.invalid', attributes: { n: 1 } },
  { name: 'b', attributes: {}, droppedAttributesCount: 4 },
]
const resources = [
  resourceFromAttributes({ 'service.name': 'x', list: ['a', 'b'] }),
  resourceFromAttributes({ long: 'y'.repeat(500) }, { schemaUrl: 'https://resource.invalid' }),
]
const span = fc
  .record({
    name: anyText,
    kind: fc.nat(4),
    context: spanContext,
    parentSpanContext: fc.option(spanContext, { nil: undefined }),
    startTime: time,
    endTime: time,
    status: fc.record({ code: fc.nat(2), message: fc.option(anyText, { nil: undefined }) }),
    attributes,
    events: fc.array(event, { maxLength: 3 }),
    links: fc.array(link, { maxLength: 3 }),
    droppedAttributesCount: dropped,
    droppedEventsCount: dropped,
    droppedLinksCount: dropped,
    resource: fc.constantFrom(...resources),
    instrumentationScope: fc.constantFrom(...scopes),
  })
  .map(({ context, ...rest }) => ({ ...rest, spanContext: () => context }) as unknown as ReadableSpan)

describe('protobufRequest', () => {
  it('writes any spans byte for byte as the SDK does', () => {
    const property = fc.property(fc.array(span, { maxLength: 4 }), (spans) => {
      const theirs = ProtobufTraceSerializer.serializeRequest(spans as never) as Uint8Array
      expect(Buffer.compare(protobufRequest(spans), theirs)).toBe(0)
    })
    fc.assert(property, { numRuns: 150 })
  })

  it('writes a request again after one that was larger than what is kept of the memory', () => {
    const [small, large] = [
      fc.sample(span, { numRuns: 1, seed: 1 }),
      fc.sample(span, { numRuns: 1, seed: 2 }),
    ]
    const huge = large.map((one) => ({ ...one, attributes: { text: 'ä'.repeat(5_000_000) } }))
    const before = Buffer.from(protobufRequest(small))
    const theirs = ProtobufTraceSerializer.serializeRequest(huge as never) as Uint8Array
    expect(Buffer.compare(protobufRequest(huge), theirs)).toBe(0)
    expect(Buffer.compare(protobufRequest(small), before)).toBe(0)
  })
})
