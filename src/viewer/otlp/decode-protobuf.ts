/** OTLP protobuf messages into their JSON form, whole and exact. Field numbers are those of opentelemetry-proto 1.x. */
import type { ProtobufReader } from './protobuf-reader.ts'
import type {
  OtlpAnyValue,
  OtlpEvent,
  OtlpKeyValue,
  OtlpLink,
  OtlpLogRecord,
  OtlpResource,
  OtlpScope,
  OtlpSpan,
} from './types.ts'

/** Values nested deeper than this are left out: no instrumentation writes them and they would overflow the stack. */
export const MAX_VALUE_DEPTH = 64

export function decodeSpan(reader: ProtobufReader): OtlpSpan {
  const span: OtlpSpan = { traceId: '', spanId: '', attributes: [], events: [], links: [] }
  while (!reader.done) {
    const tag = reader.tag()
    switch (tag) {
      case 10:
        span.traceId = reader.hex()
        break
      case 18:
        span.spanId = reader.hex()
        break
      case 26:
        span.traceState = reader.text()
        break
      case 34:
        span.parentSpanId = reader.hex()
        break
      case 42:
        span.name = reader.text()
        break
      case 48:
        span.kind = reader.varint()
        break
      case 57:
        span.startTimeUnixNano = reader.fixed64()
        break
      case 65:
        span.endTimeUnixNano = reader.fixed64()
        break
      case 74:
        span.attributes!.push(decodeKeyValue(reader.message()))
        break
      case 80:
        span.droppedAttributesCount = reader.varint()
        break
      case 90:
        span.events!.push(decodeEvent(reader.message()))
        break
      case 96:
        span.droppedEventsCount = reader.varint()
        break
      case 106:
        span.links!.push(decodeLink(reader.message()))
        break
      case 112:
        span.droppedLinksCount = reader.varint()
        break
      case 122:
        span.status = decodeStatus(reader.message())
        break
      case 133:
        span.flags = reader.fixed32()
        break
      default:
        reader.skip(tag)
    }
  }
  return span
}

export function decodeLogRecord(reader: ProtobufReader): OtlpLogRecord {
  const record: OtlpLogRecord = { attributes: [] }
  while (!reader.done) {
    const tag = reader.tag()
    switch (tag) {
      case 9:
        record.timeUnixNano = reader.fixed64()
        break
      case 16:
        record.severityNumber = reader.varint()
        break
      case 26:
        record.severityText = reader.text()
        break
      case 42:
        record.body = decodeAnyValue(reader.message())
        break
      case 50:
        record.attributes!.push(decodeKeyValue(reader.message()))
        break
      case 74:
        record.traceId = reader.hex()
        break
      case 82:
        record.spanId = reader.hex()
        break
      case 89:
        record.observedTimeUnixNano = reader.fixed64()
        break
      case 98:
        record.eventName = reader.text()
        break
      default:
        reader.skip(tag)
    }
  }
  return record
}

export function decodeResource(reader: ProtobufReader): OtlpResource {
  const resource: OtlpResource = { attributes: [] }
  while (!reader.done) {
    const tag = reader.tag()
    if (tag === 10) resource.attributes!.push(decodeKeyValue(reader.message()))
    else reader.skip(tag)
  }
  return resource
}

export function decodeScope(reader: ProtobufReader): OtlpScope {
  const scope: OtlpScope = {}
  while (!reader.done) {
    const tag = reader.tag()
    if (tag === 10) scope.name = reader.text()
    else if (tag === 18) scope.version = reader.text()
    else reader.skip(tag)
  }
  return scope
}

export function decodeEvent(reader: ProtobufReader): OtlpEvent {
  const event: OtlpEvent = { attributes: [] }
  while (!reader.done) {
    const tag = reader.tag()
    switch (tag) {
      case 9:
        event.timeUnixNano = reader.fixed64()
        break
      case 18:
        event.name = reader.text()
        break
      case 26:
        event.attributes!.push(decodeKeyValue(reader.message()))
        break
      case 32:
        event.droppedAttributesCount = reader.varint()
        break
      default:
        reader.skip(tag)
    }
  }
  return event
}

function decodeLink(reader: ProtobufReader): OtlpLink {
  const link: OtlpLink = { traceId: '', spanId: '', attributes: [] }
  while (!reader.done) {
    const tag = reader.tag()
    switch (tag) {
      case 10:
        link.traceId = reader.hex()
        break
      case 18:
        link.spanId = reader.hex()
        break
      case 26:
        link.traceState = reader.text()
        break
      case 34:
        link.attributes!.push(decodeKeyValue(reader.message()))
        break
      case 53:
        link.flags = reader.fixed32()
        break
      default:
        reader.skip(tag)
    }
  }
  return link
}

export function decodeStatus(reader: ProtobufReader): { code?: number; message?: string } {
  const status: { code?: number; message?: string } = {}
  while (!reader.done) {
    const tag = reader.tag()
    if (tag === 18) status.message = reader.text()
    else if (tag === 24) status.code = reader.varint()
    else reader.skip(tag)
  }
  return status
}

export function decodeKeyValue(reader: ProtobufReader, depth = 0): OtlpKeyValue {
  const pair: OtlpKeyValue = { key: '' }
  while (!reader.done) {
    const tag = reader.tag()
    if (tag === 10) pair.key = reader.text()
    else if (tag === 18) pair.value = decodeAnyValue(reader.message(), depth)
    else reader.skip(tag)
  }
  return pair
}

export function decodeAnyValue(reader: ProtobufReader, depth = 0): OtlpAnyValue {
  const value: OtlpAnyValue = {}
  if (depth > MAX_VALUE_DEPTH) return value
  while (!reader.done) {
    const tag = reader.tag()
    switch (tag) {
      case 10:
        value.stringValue = reader.text()
        break
      case 16:
        value.boolValue = reader.varint() !== 0
        break
      case 24:
        value.intValue = reader.varint64()
        break
      case 33:
        value.doubleValue = doubleToJson(reader.double())
        break
      case 42:
        value.arrayValue = { values: decodeList(reader.message(), (item) => decodeAnyValue(item, depth + 1)) }
        break
      case 50:
        value.kvlistValue = {
          values: decodeList(reader.message(), (item) => decodeKeyValue(item, depth + 1)),
        }
        break
      case 58:
        value.bytesValue = reader.base64()
        break
      default:
        reader.skip(tag)
    }
  }
  return value
}

function decodeList<T>(reader: ProtobufReader, item: (reader: ProtobufReader) => T): T[] {
  const items: T[] = []
  while (!reader.done) {
    const tag = reader.tag()
    if (tag === 10) items.push(item(reader.message()))
    else reader.skip(tag)
  }
  return items
}

/** JSON has no NaN and no infinities; OTLP/JSON writes them as text. */
function doubleToJson(value: number): number | string {
  return Number.isFinite(value) ? value : String(value)
}
