/** Of a packed span, what lists and rows show; the rest stays packed until someone opens the span. */

import {
  ANY_VALUE,
  decodeAnyValue,
  decodeEvent,
  decodeStatus,
  EVENT,
  KEY_VALUE,
  SPAN,
} from '../../internal/otlp/messages.ts'
import { ProtobufReader } from '../../internal/otlp/protobuf-reader.ts'
import type { OtlpAnyValue, OtlpSpan } from '../../internal/otlp/types.ts'
import { GATE_EVENT, READ_FOR_ROWS } from '../model/attributes.ts'
import { digestSpan, type SpanDigest } from '../model/digest.ts'
import type { Attributes, SpanEvent } from '../model/span.ts'
import { isSpanId } from './ids.ts'
import { listOf, nanosToUs, plainEvent, plainValue, statusNumber } from './plain.ts'

/** Of a long value, what is enough for a preview. */
const PREVIEW_BYTES = 1024

export interface SpanFacts {
  spanId: string
  /** Empty for a root. */
  parentSpanId: string
  name: string
  startUs: number
  /** 0 while the span runs. */
  endUs: number
  error: boolean
  digest: SpanDigest
}

export function readSpan(reader: ProtobufReader): SpanFacts {
  const attributes: Attributes = Object.create(null)
  const events: SpanEvent[] = []
  let spanId = ''
  let parentSpanId = ''
  let name = ''
  let startUs = 0
  let endUs = 0
  let status: { code?: number; message?: string } = {}
  while (!reader.done) {
    const tag = reader.tag()
    switch (SPAN.names[tag]) {
      case 'spanId':
        spanId = reader.hex()
        break
      case 'parentSpanId':
        parentSpanId = reader.hex()
        break
      case 'name':
        name = reader.text(PREVIEW_BYTES)
        break
      case 'startTimeUnixNano':
        startUs = reader.fixed64Us()
        break
      case 'endTimeUnixNano':
        endUs = reader.fixed64Us()
        break
      case 'attributes':
        readAttribute(reader.message(), attributes)
        break
      case 'events':
        readEvent(reader.message(), events)
        break
      case 'status':
        status = decodeStatus(reader.message())
        break
      default:
        reader.skip(tag)
    }
  }
  return facts({ spanId, parentSpanId, name, startUs, endUs, attributes, events, status })
}

function readAttribute(reader: ProtobufReader, attributes: Attributes): void {
  if (reader.done || KEY_VALUE.names[reader.tag()] !== 'key') return // Keys come first in what every encoder writes; a value before its key is skipped.
  const key = reader.key()
  if (!READ_FOR_ROWS.has(key) || reader.done || KEY_VALUE.names[reader.tag()] !== 'value') return
  const value = reader.message()
  if (value.done) return
  // The common case, without an object for it: text, of which a preview is enough.
  if (ANY_VALUE.names[value.bytes[value.pos]!] === 'stringValue') {
    value.pos++
    attributes[key] = value.text(PREVIEW_BYTES)
  } else attributes[key] = plainValue(decodeAnyValue(value))
}

function readEvent(reader: ProtobufReader, events: SpanEvent[]): void {
  const start = reader.pos
  while (!reader.done) {
    const tag = reader.tag()
    if (EVENT.names[tag] !== 'name') {
      reader.skip(tag)
      continue
    }
    if (reader.key() === GATE_EVENT) {
      events.push(plainEvent(decodeEvent(new ProtobufReader(reader.bytes, start, reader.end))))
    }
    return
  }
}

/** Of a span as `receiveJsonTraces` stores it. */
export function readJsonSpan(span: OtlpSpan): SpanFacts {
  const attributes: Attributes = Object.create(null)
  for (const pair of listOf(span.attributes)) {
    if (READ_FOR_ROWS.has(pair?.key)) attributes[pair.key] = plainValue(shortened(pair.value))
  }
  return facts({
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    name: String(span.name ?? '').slice(0, PREVIEW_BYTES),
    startUs: nanosToUs(span.startTimeUnixNano),
    endUs: nanosToUs(span.endTimeUnixNano),
    attributes,
    events: listOf(span.events)
      .filter((event) => event?.name === GATE_EVENT)
      .map(plainEvent),
    status: { code: statusNumber(span.status?.code), message: String(span.status?.message ?? '') },
  })
}

function shortened(value: OtlpAnyValue | undefined): OtlpAnyValue | undefined {
  return typeof value?.stringValue === 'string'
    ? { stringValue: value.stringValue.slice(0, PREVIEW_BYTES) }
    : value
}

interface Parts {
  spanId: string
  parentSpanId: string
  name: string
  startUs: number
  endUs: number
  attributes: Attributes
  events: SpanEvent[]
  status: { code?: number; message?: string }
}

function facts({ attributes, events, status, ...span }: Parts): SpanFacts {
  const digest = digestSpan(span.name, attributes, events, {
    code: status.code ?? 0,
    message: status.message ?? '',
  })
  return {
    spanId: span.spanId,
    parentSpanId: isSpanId(span.parentSpanId) && span.parentSpanId !== span.spanId ? span.parentSpanId : '',
    name: span.name,
    startUs: span.startUs,
    // A start snapshot repeats its start as its end, or has none; what has ended never ends before it starts.
    endUs: digest.started || span.endUs === 0 ? 0 : Math.max(span.endUs, span.startUs),
    error: status.code === 2,
    digest,
  }
}
