import type { Attributes, AttributeValue, HrTime, SpanContext } from '@opentelemetry/api'
import { createTraceState } from '@opentelemetry/api'
import { decodeResourceItems, decodeSpan } from '../../internal/otlp/messages.ts'
import { ProtobufReader } from '../../internal/otlp/protobuf-reader.ts'
import type { OtlpAnyValue, OtlpKeyValue, OtlpLink, OtlpSpan } from '../../internal/otlp/types.ts'
import { durationOf } from '../light/span-times.ts'
import { SCOPE_SPANS } from './otlp-protobuf.ts'
import type { SpanBytes } from './span-bytes.ts'
import type { ReadableSpan } from './types.ts'

type Shared = Pick<ReadableSpan, 'resource' | 'instrumentationScope'>

/** Bit 9 of OTLP's flags: the parent is in another process. */
const REMOTE = 0x200
const HEADS_KEPT = 100
const shared = new Map<string, Shared>()

/** @throws RangeError when they are not those of a span: the disk changed them. */
export function readSpanBytes(bytes: Uint8Array): OtlpSpan {
  const reader = new ProtobufReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  if (reader.tag() !== SCOPE_SPANS.spans) throw new RangeError('Not a span.')
  const span = decodeSpan(reader.message())
  const isWhole = reader.done && span.traceId?.length === 32 && span.spanId?.length === 16
  if (!isWhole) throw new RangeError('Not a span: more than one, or without ids.')
  return span
}

/** @throws RangeError when it is none that `headOf` wrote. */
export function readHead(head: string): ReturnType<typeof decodeResourceItems> {
  return decodeResourceItems(new ProtobufReader(Buffer.from(head, 'latin1')))
}

/**
 * The span of what `spanBytes` wrote, for exporters that want objects.
 *
 * @throws RangeError when the bytes are not those of a span.
 */
export function spanOfBytes({ head, bytes }: SpanBytes): ReadableSpan {
  const span = readSpanBytes(bytes)
  const { kind = 0, name = '', parentSpanId, status = {} } = span
  const context = contextOf(span)
  const startTime = timeOf(span.startTimeUnixNano)
  const endTime = timeOf(span.endTimeUnixNano)
  return {
    name,
    kind: Number(kind) - 1,
    spanContext: () => context,
    ...(parentSpanId && { parentSpanContext: parentOf(span, parentSpanId) }),
    startTime,
    endTime,
    status: { code: Number(status.code ?? 0), ...(status.message && { message: status.message }) },
    attributes: attributesOf(span.attributes),
    links: (span.links ?? []).map((link) => ({
      context: { ...contextOf(link), isRemote: ((link.flags ?? 0) & REMOTE) !== 0 },
      attributes: attributesOf(link.attributes),
      droppedAttributesCount: link.droppedAttributesCount ?? 0,
    })),
    events: (span.events ?? []).map((event) => ({
      name: event.name ?? '',
      time: timeOf(event.timeUnixNano),
      attributes: attributesOf(event.attributes),
      droppedAttributesCount: event.droppedAttributesCount ?? 0,
    })),
    duration: durationOf(startTime, endTime),
    ended: true,
    ...sharedOf(head),
    droppedAttributesCount: span.droppedAttributesCount ?? 0,
    droppedEventsCount: span.droppedEventsCount ?? 0,
    droppedLinksCount: span.droppedLinksCount ?? 0,
  }
}

/** One object for all spans of a resource and scope: exporters group by them. */
function sharedOf(head: string): Shared {
  let known = shared.get(head)
  if (known === undefined) {
    known = resourceAndScopeOf(head)
    if (shared.size >= HEADS_KEPT) shared.clear()
    shared.set(head, known)
  }
  return known
}

function resourceAndScopeOf(head: string): Shared {
  const { resource, schemaUrl, scopes } = readHead(head)
  const [{ scope = {}, schemaUrl: scopeSchemaUrl } = {}] = scopes
  const { name = '', attributes, ...rest } = scope
  const told = { attributes: attributesOf(resource?.attributes), schemaUrl, asyncAttributesPending: false }
  return {
    resource: told,
    instrumentationScope: {
      name,
      ...rest,
      ...(attributes?.length && { attributes: attributesOf(attributes) }),
      ...(scopeSchemaUrl !== undefined && { schemaUrl: scopeSchemaUrl }),
    },
  }
}

function contextOf({ traceId, spanId, flags = 0, traceState }: OtlpSpan | OtlpLink): SpanContext {
  return {
    traceId,
    spanId,
    traceFlags: flags & 0xff,
    ...(traceState !== undefined && { traceState: createTraceState(traceState) }),
  }
}

function parentOf({ traceId, flags = 0 }: OtlpSpan, spanId: string): SpanContext {
  return { traceId, spanId, traceFlags: flags & 0xff, isRemote: (flags & REMOTE) !== 0 }
}

function timeOf(nanos: string | number = 0): HrTime {
  const digits = String(nanos)
  return [Number(digits.slice(0, -9)), Number(digits.slice(-9))]
}

function attributesOf(list: readonly OtlpKeyValue[] = []): Attributes {
  return Object.fromEntries(list.map(({ key, value = {} }) => [key, plainOf(value) as AttributeValue]))
}

function plainOf(value: OtlpAnyValue): unknown {
  if (value.stringValue !== undefined) return value.stringValue
  if (value.boolValue !== undefined) return value.boolValue
  if (value.intValue !== undefined) return Number(value.intValue)
  if (value.doubleValue !== undefined) return Number(value.doubleValue)
  if (value.bytesValue !== undefined) return Buffer.from(value.bytesValue, 'base64')
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(plainOf)
  if (value.kvlistValue !== undefined) return attributesOf(value.kvlistValue.values)
  return undefined
}
