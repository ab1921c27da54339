import type { Attributes, AttributeValue, HrTime, SpanContext } from '@opentelemetry/api'
import { createTraceState } from '@opentelemetry/api'
import type { SpanText } from './otlp-json.ts'
import { TAIL } from './otlp-json.ts'
import type { ReadableSpan } from './types.ts'

interface KeyValue {
  readonly key: string
  readonly value: AnyValue
}

interface AnyValue {
  readonly stringValue?: string
  readonly boolValue?: boolean
  readonly intValue?: number | string
  readonly doubleValue?: number | string
  readonly bytesValue?: string
  readonly arrayValue?: { readonly values: readonly AnyValue[] }
  readonly kvlistValue?: { readonly values: readonly KeyValue[] }
}

interface OtlpContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceState?: string
  readonly flags: number
}

interface OtlpSpan extends OtlpContext {
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly KeyValue[]
  readonly events?: readonly OtlpEvent[]
  readonly links?: readonly (OtlpContext & OtlpAttributes)[]
  readonly status: { readonly code: number; readonly message?: string }
  readonly droppedAttributesCount?: number
  readonly droppedEventsCount?: number
  readonly droppedLinksCount?: number
}

interface OtlpAttributes {
  readonly attributes: readonly KeyValue[]
  readonly droppedAttributesCount?: number
}

interface OtlpEvent extends OtlpAttributes {
  readonly name: string
  readonly timeUnixNano: string
}

interface OtlpHead {
  readonly resourceSpans: readonly [
    {
      readonly resource: { readonly attributes: readonly KeyValue[] }
      readonly schemaUrl?: string
      readonly scopeSpans: readonly [
        {
          readonly scope: { readonly name: string; readonly version?: string } & Partial<OtlpAttributes>
          readonly schemaUrl?: string
        },
      ]
    },
  ]
}

type Shared = Pick<ReadableSpan, 'resource' | 'instrumentationScope'>

/** Bit 9 of OTLP's flags: the parent is in another process. */
const REMOTE = 0x200
const HEADS_KEPT = 100
const shared = new Map<string, Shared>()

/**
 * The span of a text that `spanText` wrote, for exporters that want objects.
 *
 * @throws SyntaxError when the text is no JSON.
 */
export function spanOfText({ head, json }: SpanText): ReadableSpan {
  const span = JSON.parse(typeof json === 'string' ? json : Buffer.from(json).toString()) as OtlpSpan
  const context = contextOf(span)
  const startTime = timeOf(span.startTimeUnixNano)
  const endTime = timeOf(span.endTimeUnixNano)
  return {
    name: span.name,
    kind: span.kind - 1,
    spanContext: () => context,
    ...(span.parentSpanId !== undefined && { parentSpanContext: parentOf(span, span.parentSpanId) }),
    startTime,
    endTime,
    status: span.status,
    attributes: attributesOf(span.attributes),
    links: (span.links ?? []).map((link) => ({
      context: { ...contextOf(link), isRemote: (link.flags & REMOTE) !== 0 },
      attributes: attributesOf(link.attributes),
      droppedAttributesCount: link.droppedAttributesCount ?? 0,
    })),
    events: (span.events ?? []).map((event) => ({
      name: event.name,
      time: timeOf(event.timeUnixNano),
      attributes: attributesOf(event.attributes),
      droppedAttributesCount: event.droppedAttributesCount ?? 0,
    })),
    duration: between(startTime, endTime),
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
    known = readHead(head)
    if (shared.size >= HEADS_KEPT) shared.clear()
    shared.set(head, known)
  }
  return known
}

function readHead(head: string): Shared {
  const { resourceSpans } = JSON.parse(head + TAIL) as OtlpHead
  const [{ resource, schemaUrl, scopeSpans }] = resourceSpans
  const [{ scope, schemaUrl: scopeSchemaUrl }] = scopeSpans
  const told = { attributes: attributesOf(resource.attributes), schemaUrl, asyncAttributesPending: false }
  return {
    resource: told,
    instrumentationScope: {
      ...scope,
      ...(scope.attributes && { attributes: attributesOf(scope.attributes) }),
      ...(scopeSchemaUrl !== undefined && { schemaUrl: scopeSchemaUrl }),
    },
  }
}

function contextOf({ traceId, spanId, flags, traceState }: OtlpContext): SpanContext {
  return {
    traceId,
    spanId,
    traceFlags: flags & 0xff,
    ...(traceState !== undefined && { traceState: createTraceState(traceState) }),
  }
}

function parentOf({ traceId, flags }: OtlpSpan, spanId: string): SpanContext {
  return { traceId, spanId, traceFlags: flags & 0xff, isRemote: (flags & REMOTE) !== 0 }
}

function timeOf(nanos: string): HrTime {
  return [Number(nanos.slice(0, -9)), Number(nanos.slice(-9))]
}

function between([fromSeconds, fromNanos]: HrTime, [toSeconds, toNanos]: HrTime): HrTime {
  const nanos = toNanos - fromNanos
  return nanos < 0 ? [toSeconds - fromSeconds - 1, nanos + 1e9] : [toSeconds - fromSeconds, nanos]
}

function attributesOf(list: readonly KeyValue[]): Attributes {
  return Object.fromEntries(list.map(({ key, value }) => [key, plainOf(value) as AttributeValue]))
}

function plainOf(value: AnyValue): unknown {
  if (value.stringValue !== undefined) return value.stringValue
  if (value.boolValue !== undefined) return value.boolValue
  if (value.intValue !== undefined) return Number(value.intValue)
  if (value.doubleValue !== undefined) return Number(value.doubleValue)
  if (value.bytesValue !== undefined) return Buffer.from(value.bytesValue, 'base64')
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(plainOf)
  if (value.kvlistValue !== undefined) return attributesOf(value.kvlistValue.values)
  return undefined
}
