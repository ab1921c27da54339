/**
 * A request body into spans ready to store. Of a protobuf span only what lists show is decoded here; its bytes are
 * kept as they came, and decoded when someone opens the span. One bad span costs that span, not its request.
 */
import { GATE_EVENT, READ_ON_ARRIVAL } from '../model/attributes.ts'
import { digestSpan, type SpanDigest } from '../model/digest.ts'
import type { Attributes, SpanEvent } from '../model/span.ts'
import {
  decodeAnyValue,
  decodeEvent,
  decodeLogRecord,
  decodeResource,
  decodeScope,
  decodeStatus,
} from './decode-protobuf.ts'
import { kindNumber, listOf, nanosToUs, plainEvent, plainValue, statusNumber } from './plain.ts'
import { ProtobufReader } from './protobuf-reader.ts'
import type {
  OtlpAnyValue,
  OtlpLogRecord,
  OtlpLogs,
  OtlpResource,
  OtlpScope,
  OtlpSpan,
  OtlpTraces,
} from './types.ts'

/** Of a long value, what arrives in a preview; the whole value stays in the payload. */
const ARRIVAL_BYTES = 1024

export interface Origin {
  /** Equal for equal resource and scope, to store each once. */
  key: string
  resource: OtlpResource
  scope: OtlpScope
}

export interface IncomingSpan {
  traceId: string
  spanId: string
  parentSpanId: string
  name: string
  kind: number
  startUs: number
  /** 0 while the span runs. */
  endUs: number
  error: boolean
  digest: SpanDigest
  /** Protobuf bytes, or OTLP/JSON text. */
  payload: Uint8Array | string
  origin: Origin
}

export interface IncomingLog {
  traceId: string
  spanId: string
  record: OtlpLogRecord
}

export interface Received<T> {
  items: T[]
  rejected: number
  /** Why the first rejected item was rejected. */
  reason: string
}

export type BodyFormat = 'protobuf' | 'json'

/** Throws only when the request as a whole cannot be read. */
export function receiveTraces(body: Buffer, format: BodyFormat): Received<IncomingSpan> {
  const received: Received<IncomingSpan> = { items: [], rejected: 0, reason: '' }
  if (format === 'protobuf') receiveProtobufTraces(body, received)
  else receiveJsonTraces(parseJson(body) as OtlpTraces, received)
  return received
}

function reject(received: Received<unknown>, error: unknown): void {
  received.rejected++
  received.reason ||= error instanceof Error ? error.message : String(error)
}

function receiveProtobufTraces(body: Buffer, received: Received<IncomingSpan>): void {
  forEachField(new ProtobufReader(body), 10, (resourceSpans) => {
    let resource: OtlpResource = {}
    let resourceKey = ''
    const scopes: ProtobufReader[] = []
    while (!resourceSpans.done) {
      const tag = resourceSpans.tag()
      if (tag === 10) {
        const message = resourceSpans.message()
        resourceKey = body.toString('latin1', message.pos, message.end)
        resource = decodeResource(message)
      } else if (tag === 18) scopes.push(resourceSpans.message())
      else resourceSpans.skip(tag)
    }
    for (const scopeSpans of scopes) receiveProtobufScope(scopeSpans, resource, resourceKey, received)
  })
}

function receiveProtobufScope(
  scopeSpans: ProtobufReader,
  resource: OtlpResource,
  resourceKey: string,
  received: Received<IncomingSpan>,
): void {
  let scope: OtlpScope = {}
  const spans: ProtobufReader[] = []
  while (!scopeSpans.done) {
    const tag = scopeSpans.tag()
    if (tag === 10) scope = decodeScope(scopeSpans.message())
    else if (tag === 18) spans.push(scopeSpans.message())
    else scopeSpans.skip(tag)
  }
  const origin: Origin = {
    key: `${scope.name ?? ''}\0${scope.version ?? ''}\0${resourceKey}`,
    resource,
    scope,
  }
  for (const span of spans) {
    try {
      received.items.push(readArrivingSpan(span, origin))
    } catch (error) {
      reject(received, error)
    }
  }
}

function readArrivingSpan(reader: ProtobufReader, origin: Origin): IncomingSpan {
  const payload = reader.bytes.subarray(reader.pos, reader.end)
  const attributes: Attributes = Object.create(null)
  const events: SpanEvent[] = []
  let traceId = ''
  let spanId = ''
  let parentSpanId = ''
  let name = ''
  let kind = 0
  let startUs = 0
  let endUs = 0
  let status: { code?: number; message?: string } = {}
  while (!reader.done) {
    const tag = reader.tag()
    switch (tag) {
      case 10:
        traceId = reader.hex()
        break
      case 18:
        spanId = reader.hex()
        break
      case 34:
        parentSpanId = reader.hex()
        break
      case 42:
        name = reader.text(ARRIVAL_BYTES)
        break
      case 48:
        kind = reader.varint()
        break
      case 57:
        startUs = reader.fixed64Us()
        break
      case 65:
        endUs = reader.fixed64Us()
        break
      case 74:
        readArrivingAttribute(reader.message(), attributes)
        break
      case 90:
        readArrivingEvent(reader.message(), events)
        break
      case 122:
        status = decodeStatus(reader.message())
        break
      default:
        reader.skip(tag)
    }
  }
  return arrived({
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    startUs,
    endUs,
    attributes,
    events,
    status,
    payload,
    origin,
  })
}

function readArrivingAttribute(reader: ProtobufReader, attributes: Attributes): void {
  if (reader.tag() !== 10) return // Keys come first in what every encoder writes; a value before its key is skipped.
  const key = reader.key()
  if (!READ_ON_ARRIVAL.has(key) || reader.done || reader.tag() !== 18) return
  const value = reader.message()
  if (value.done) return
  // The common case, without an object for it: text, of which a preview is enough.
  if (value.bytes[value.pos] === 10) {
    value.pos++
    attributes[key] = value.text(ARRIVAL_BYTES)
  } else attributes[key] = plainValue(decodeAnyValue(value))
}

function readArrivingEvent(reader: ProtobufReader, events: SpanEvent[]): void {
  const start = reader.pos
  while (!reader.done) {
    const tag = reader.tag()
    if (tag !== 18) {
      reader.skip(tag)
      continue
    }
    if (reader.key() === GATE_EVENT) {
      events.push(plainEvent(decodeEvent(new ProtobufReader(reader.bytes, start, reader.end))))
    }
    return
  }
}

function receiveJsonTraces(body: OtlpTraces, received: Received<IncomingSpan>): void {
  if (!Array.isArray(body?.resourceSpans)) {
    throw new TypeError('Expected OTLP/JSON with a `resourceSpans` array.')
  }
  for (const resourceSpans of body.resourceSpans) {
    const resource = resourceSpans?.resource ?? {}
    for (const scopeSpans of listOf(resourceSpans?.scopeSpans)) {
      const scope = scopeSpans?.scope ?? {}
      const origin: Origin = { key: JSON.stringify([scope, resource]), resource, scope }
      for (const span of listOf(scopeSpans?.spans)) {
        try {
          received.items.push(readJsonSpan(span, origin))
        } catch (error) {
          reject(received, error)
        }
      }
    }
  }
}

function readJsonSpan(span: OtlpSpan, origin: Origin): IncomingSpan {
  if (typeof span !== 'object' || span === null)
    throw new TypeError(`Expected a span, got \`${String(span)}\`.`)
  const attributes: Attributes = Object.create(null)
  for (const pair of listOf(span.attributes)) {
    if (READ_ON_ARRIVAL.has(pair?.key)) attributes[pair.key] = plainValue(shortened(pair.value))
  }
  const exact: OtlpSpan = {
    ...span,
    traceId: jsonId(span.traceId, 32),
    spanId: jsonId(span.spanId, 16),
    parentSpanId: jsonId(span.parentSpanId ?? '', 16),
    name: String(span.name ?? ''),
    kind: kindNumber(span.kind),
    status: { code: statusNumber(span.status?.code), message: String(span.status?.message ?? '') },
  }
  return arrived({
    traceId: exact.traceId,
    spanId: exact.spanId,
    parentSpanId: exact.parentSpanId!,
    name: exact.name!.slice(0, ARRIVAL_BYTES),
    kind: exact.kind as number,
    startUs: nanosToUs(span.startTimeUnixNano),
    endUs: nanosToUs(span.endTimeUnixNano),
    attributes,
    events: listOf(span.events)
      .filter((event) => event?.name === GATE_EVENT)
      .map(plainEvent),
    status: exact.status as { code: number; message: string },
    payload: JSON.stringify(exact),
    origin,
  })
}

function shortened(value: OtlpAnyValue | undefined): OtlpAnyValue | undefined {
  return typeof value?.stringValue === 'string'
    ? { stringValue: value.stringValue.slice(0, ARRIVAL_BYTES) }
    : value
}

/** OTLP/JSON writes ids in hex; some exporters use protobuf's JSON mapping, which is base64. */
function jsonId(id: unknown, hexLength: number): string {
  const text = String(id ?? '')
  if (/^[0-9a-f]*$/i.test(text) && text.length === hexLength) return text.toLowerCase()
  if (text.length === Math.ceil(hexLength / 2 / 3) * 4) return Buffer.from(text, 'base64').toString('hex')
  return text
}

interface ArrivedParts {
  traceId: string
  spanId: string
  parentSpanId: string
  name: string
  kind: number
  startUs: number
  endUs: number
  attributes: Attributes
  events: SpanEvent[]
  status: { code?: number; message?: string }
  payload: Uint8Array | string
  origin: Origin
}

const ID_16 = /^(?!0{32}$)[0-9a-f]{32}$/
const ID_8 = /^(?!0{16}$)[0-9a-f]{16}$/

function arrived(parts: ArrivedParts): IncomingSpan {
  const { attributes, events, status, ...span } = parts
  if (!ID_16.test(span.traceId))
    throw new TypeError(`Expected a trace id of 16 bytes, not all zero, got "${span.traceId.slice(0, 64)}".`)
  if (!ID_8.test(span.spanId))
    throw new TypeError(`Expected a span id of 8 bytes, not all zero, got "${span.spanId.slice(0, 64)}".`)
  if (!ID_8.test(span.parentSpanId) || span.parentSpanId === span.spanId) span.parentSpanId = ''
  const digest = digestSpan(span.name, attributes, events, {
    code: status.code ?? 0,
    message: status.message ?? '',
  })
  // A start snapshot repeats its start as its end, or has none; what has ended never ends before it starts.
  const endUs = digest.started || span.endUs === 0 ? 0 : Math.max(span.endUs, span.startUs)
  return { ...span, endUs, error: status.code === 2, digest }
}

export function receiveLogs(body: Buffer, format: BodyFormat): Received<IncomingLog> {
  const received: Received<IncomingLog> = { items: [], rejected: 0, reason: '' }
  const add = (record: OtlpLogRecord) => {
    const traceId = jsonId(record.traceId, 32)
    const spanId = jsonId(record.spanId, 16)
    if (ID_16.test(traceId) && ID_8.test(spanId)) received.items.push({ traceId, spanId, record })
  }
  if (format === 'json') {
    const logs = parseJson(body) as OtlpLogs
    if (!Array.isArray(logs?.resourceLogs))
      throw new TypeError('Expected OTLP/JSON with a `resourceLogs` array.')
    for (const resource of logs.resourceLogs) {
      for (const scope of listOf(resource?.scopeLogs))
        for (const record of listOf(scope?.logRecords)) add(record)
    }
    return received
  }
  forEachField(new ProtobufReader(body), 10, (resourceLogs) => {
    forEachField(resourceLogs, 18, (scopeLogs) => {
      forEachField(scopeLogs, 18, (record) => {
        try {
          add(decodeLogRecord(record))
        } catch (error) {
          reject(received, error)
        }
      })
    })
  })
  return received
}

function forEachField(
  reader: ProtobufReader,
  wanted: number,
  visit: (message: ProtobufReader) => void,
): void {
  while (!reader.done) {
    const tag = reader.tag()
    if (tag === wanted) visit(reader.message())
    else reader.skip(tag)
  }
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (error) {
    throw new SyntaxError(`Expected OTLP/JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}
