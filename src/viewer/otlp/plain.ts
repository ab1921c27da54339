/** OTLP's tagged values into plain ones, which is what everything but the exporter works with. Shared with the page. */

import type {
  OtlpAnyValue,
  OtlpEvent,
  OtlpKeyValue,
  OtlpLogRecord,
  OtlpResource,
  OtlpScope,
  OtlpSpan,
} from '../../internal/otlp/types.ts'
import type { Attributes, AttributeValue, SpanEvent, SpanRecord } from '../model/span.ts'
import { logAsOtlpEvent } from './log-event.ts'

const MAX_DEPTH = 64

export function plainValue(value: OtlpAnyValue | undefined, depth = 0): AttributeValue {
  if (!value || depth > MAX_DEPTH) return null
  const { stringValue, boolValue, intValue, doubleValue, bytesValue } = value
  if (isGiven(stringValue)) return String(stringValue)
  if (isGiven(boolValue)) return Boolean(boolValue)
  if (isGiven(intValue)) return plainInteger(intValue)
  if (isGiven(doubleValue)) return plainDouble(doubleValue)
  if (value.arrayValue) return listOf(value.arrayValue.values).map((item) => plainValue(item, depth + 1))
  if (value.kvlistValue) return plainAttributes(value.kvlistValue.values, depth + 1)
  return isGiven(bytesValue) ? `base64:${bytesValue}` : null
}

/** In OTLP/JSON, `null` is as good as nothing. */
function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null
}

/** Integers beyond 2^53 stay text: rounding them would show a number nobody sent. */
function plainInteger(value: string | number): AttributeValue {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

function plainDouble(value: string | number): AttributeValue {
  const number = Number(value)
  return Number.isFinite(number) ? number : String(value)
}

/** Without a prototype, so that an attribute called `__proto__` is an attribute. */
export function plainAttributes(pairs: OtlpKeyValue[] | undefined, depth = 0): Attributes {
  const attributes: Attributes = Object.create(null)
  for (const pair of listOf(pairs)) {
    if (pair && typeof pair.key === 'string') attributes[pair.key] = plainValue(pair.value, depth)
  }
  return attributes
}

export function plainEvent(event: OtlpEvent): SpanEvent {
  return {
    name: String(event.name ?? ''),
    timeUs: nanosToUs(event.timeUnixNano),
    attributes: plainAttributes(event.attributes),
  }
}

/** A log record that belongs to a span, as one of its events. */
export function logAsEvent(record: OtlpLogRecord): SpanEvent {
  return plainEvent(logAsOtlpEvent(record))
}

export function plainSpan(span: OtlpSpan, resource: OtlpResource = {}, scope: OtlpScope = {}): SpanRecord {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    name: String(span.name ?? ''),
    kind: kindNumber(span.kind),
    startUs: nanosToUs(span.startTimeUnixNano),
    endUs: nanosToUs(span.endTimeUnixNano),
    status: { code: statusNumber(span.status?.code), message: String(span.status?.message ?? '') },
    attributes: plainAttributes(span.attributes),
    events: listOf(span.events).map(plainEvent),
    links: listOf(span.links).map((link) => ({
      traceId: String(link.traceId ?? ''),
      spanId: String(link.spanId ?? ''),
      attributes: plainAttributes(link.attributes),
    })),
    resource: plainAttributes(resource.attributes),
    scope: { name: String(scope.name ?? ''), version: String(scope.version ?? '') },
  }
}

/** Nanoseconds arrive as text; the last three digits are cut, not rounded, so that order is kept. */
export function nanosToUs(nanos: string | number | undefined): number {
  if (nanos === undefined || nanos === null) return 0
  if (typeof nanos === 'number') return Number.isFinite(nanos) ? storableUs(Math.floor(nanos / 1000)) : 0
  return /^\d{4,20}$/.test(nanos) ? storableUs(Number(nanos.slice(0, -3))) : 0
}

/** Larger numbers could be stored, but not read back. */
function storableUs(us: number): number {
  return Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, us))
}

const STATUS_NAMES: Record<string, 0 | 1 | 2> = { STATUS_CODE_OK: 1, STATUS_CODE_ERROR: 2 }
const KIND_NAMES = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER']

export function statusNumber(code: number | string | undefined): 0 | 1 | 2 {
  if (code === 1 || code === 2) return code
  return typeof code === 'string' && Object.hasOwn(STATUS_NAMES, code) ? STATUS_NAMES[code]! : 0
}

export function kindNumber(kind: number | string | undefined): number {
  if (typeof kind === 'number') return kind >= 0 && kind <= 5 ? kind : 0
  return Math.max(0, KIND_NAMES.indexOf(String(kind).replace('SPAN_KIND_', '')))
}

export function listOf<T>(value: T[] | undefined): T[] {
  return Array.isArray(value) ? value : []
}
