import type { HrTime } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import fc from 'fast-check'
import type { ReadableSpan } from '../../src/tracing/export/types.ts'

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
/** Any span that an SDK may hand over, of one of a few resources and scopes. */
export const anySpan: fc.Arbitrary<ReadableSpan> = fc
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
