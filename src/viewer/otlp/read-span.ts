/** Of a packed span, what lists and rows show; the rest stays packed until someone opens the span. */

import {
  ANY_VALUE,
  decodeAnyValue,
  decodeEvent,
  decodeStatus,
  EVENT,
  KEY_VALUE,
  SPAN,
  tagOf,
} from '../../internal/otlp/messages.ts'
import { fixed64UsAt, ProtobufReader } from '../../internal/otlp/protobuf-reader.ts'
import type { OtlpAnyValue, OtlpSpan } from '../../internal/otlp/types.ts'
import { type AttributeSource, GATE_EVENT, NAMES, READ_FOR_ROWS, RowValues } from '../model/attributes.ts'
import { classify, digestSpan, type SpanDigest } from '../model/digest.ts'
import type { Attributes, AttributeValue, SpanCategory, SpanEvent } from '../model/span.ts'
import { KnownTexts, RecentTexts, viewOf } from './byte-texts.ts'
import { ByteCursor } from './cursor.ts'
import { isSpanId } from './ids.ts'
import { LongText } from './long-text.ts'
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

/** `forSums`: without what only rows show of a single call, its id and its arguments, which are texts of their own each. */
export function readSpan(bytes: Buffer, start: number, end: number, forSums = false): SpanFacts {
  return READER.read(bytes, start, end, forSums)
}

const KEY = tagOf(KEY_VALUE, 'key')
const VALUE = tagOf(KEY_VALUE, 'value')
const STRING = tagOf(ANY_VALUE, 'stringValue')
const INTEGER = tagOf(ANY_VALUE, 'intValue')
/** Those read for rows; and whether it is only for those of tools, or of failed tools, which are the long ones. */
const KEYS = new KnownTexts(
  [...READ_FOR_ROWS].map(
    ([key, number]) =>
      [
        key,
        {
          number,
          isArguments: isToolArguments(key),
          isResult: isToolResult(key),
          isId: isCallId(key),
        },
      ] as const,
  ),
)
const TEXTS = new RecentTexts()

function isToolArguments(key: string): boolean {
  return NAMES.toolArguments.keys.includes(key)
}

function isToolResult(key: string): boolean {
  return NAMES.toolResult.keys.includes(key)
}

/** Another one for each call. */
function isCallId(key: string): boolean {
  return NAMES.toolCallId.keys.includes(key)
}

interface Known {
  number: number
  isArguments: boolean
  isResult: boolean
  isId: boolean
}

const NO_EVENTS: readonly SpanEvent[] = []
const NO_STATUS: Parts['status'] = {}

/** Reads one span after the other. */
class FactsReader extends ByteCursor {
  readonly #attributes = new RowValues()
  #events: SpanEvent[] | undefined
  #status = NO_STATUS
  #forSums = false
  readonly #arguments = new LongText()
  readonly #result = new LongText()
  #parent = ''
  readonly #parentBytes = new Uint8Array(8)
  #view = viewOf(this.bytes)

  read(bytes: Buffer, start: number, end: number, forSums: boolean): SpanFacts {
    // One span after the other is of the same chunk.
    if (bytes !== this.bytes) this.#view = viewOf(bytes)
    this.begin(bytes, start)
    this.#forSums = forSums
    this.#attributes.clear()
    this.#arguments.clear()
    this.#result.clear()
    this.#events = undefined
    this.#status = NO_STATUS
    let spanId = ''
    let parentSpanId = ''
    let name = ''
    let startUs = 0
    let endUs = 0
    while (this.at < end) {
      const tag = this.varint(end)
      switch (SPAN.names[tag]) {
        case 'spanId':
          spanId = this.#hex(end)
          break
        case 'parentSpanId':
          parentSpanId = this.#parentHex(end)
          break
        case 'name':
          name = this.#text(this.field(end))
          break
        case 'startTimeUnixNano':
          startUs = fixed64UsAt(bytes, this.take(8, end))
          break
        case 'endTimeUnixNano':
          endUs = fixed64UsAt(bytes, this.take(8, end))
          break
        case 'attributes':
          this.#attribute(this.field(end))
          break
        case 'events':
          this.#event(this.field(end))
          break
        case 'status':
          this.#readStatus(this.field(end))
          break
        default:
          this.skip(tag, end)
      }
    }
    const attributes = this.#attributes
    const category = classify(name, attributes)
    const events = this.#events ?? NO_EVENTS
    const status = this.#status
    if (category === 'tool' && !forSums) this.#arguments.readInto(attributes, bytes)
    if (category === 'tool' && status.code === 2) this.#result.readInto(attributes, bytes)
    return facts({ spanId, parentSpanId, name, startUs, endUs, attributes, events, status, category })
  }

  /** Keys come first in what every encoder writes; a value before its key is skipped. */
  #attribute(end: number): void {
    const { bytes } = this
    const known = this.at < end && this.varint(end) === KEY ? this.#known(this.field(end)) : undefined
    const stop = known && this.at < end && this.varint(end) === VALUE ? this.field(end) : this.at
    if (known && this.at < stop) {
      const tag = bytes[this.at]!
      if (tag === STRING) {
        this.at++
        const textEnd = this.field(stop)
        const previewEnd = Math.min(textEnd, this.at + PREVIEW_BYTES)
        if (known.isArguments) this.#arguments.note(known.number, this.at, previewEnd)
        else if (known.isResult) this.#result.note(known.number, this.at, previewEnd)
        else if (!known.isId || !this.#forSums)
          this.#attributes.set(known.number, this.#valueText(known, previewEnd))
      } else if (!known.isResult) this.#attributes.set(known.number, this.#value(tag, stop))
    }
    this.at = end
  }

  #valueText({ isId }: Known, end: number): string {
    const { bytes, at } = this
    return isId ? bytes.toString('utf8', at, end) : TEXTS.get(bytes, this.#view, at, end)
  }

  /** What is not text. */
  #value(tag: number, end: number): AttributeValue {
    const start = this.at
    if (tag === INTEGER) {
      this.at++
      const value = this.varint(end)
      if (Number.isSafeInteger(value) && this.at === end) return value
    }
    return plainValue(decodeAnyValue(new ProtobufReader(this.bytes, start, end)))
  }

  #known(end: number): Known | undefined {
    const known = KEYS.get(this.bytes, this.#view, this.at, end)
    this.at = end
    return known
  }

  #event(end: number): void {
    const start = this.at
    const reader = new ProtobufReader(this.bytes, start, end)
    while (!reader.done) {
      const tag = reader.tag()
      if (EVENT.names[tag] !== 'name') {
        reader.skip(tag)
        continue
      }
      if (reader.key() === GATE_EVENT) {
        this.#events ??= []
        this.#events.push(plainEvent(decodeEvent(new ProtobufReader(this.bytes, start, end))))
      }
      break
    }
    this.at = end
  }

  #readStatus(end: number): void {
    this.#status = decodeStatus(new ProtobufReader(this.bytes, this.at, end))
    this.at = end
  }

  #hex(end: number): string {
    const stop = this.field(end)
    const hex = this.bytes.toString('hex', this.at, stop)
    this.at = stop
    return hex
  }

  /** Children come beside one another. */
  #parentHex(end: number): string {
    const { bytes } = this
    const stop = this.field(end)
    if (stop - this.at !== 8) {
      this.at = stop
      return ''
    }
    const known = this.#parentBytes
    let isKnown = this.#parent !== ''
    for (let index = 0; index < 8; index++) {
      const byte = bytes[this.at + index]!
      if (known[index] === byte) continue
      known[index] = byte
      isKnown = false
    }
    if (!isKnown) {
      const hex = bytes.toString('hex', this.at, stop)
      this.#parent = isSpanId(hex) ? hex : ''
    }
    this.at = stop
    return this.#parent
  }

  #text(end: number): string {
    const text = TEXTS.get(this.bytes, this.#view, this.at, Math.min(end, this.at + PREVIEW_BYTES))
    this.at = end
    return text
  }
}

const READER = new FactsReader()

/** Of a span as `receiveJsonTraces` stores it. */
export function readJsonSpan(span: OtlpSpan): SpanFacts {
  const attributes: Attributes = Object.create(null)
  const name = String(span.name ?? '').slice(0, PREVIEW_BYTES)
  for (const pair of listOf(span.attributes)) {
    if (READ_FOR_ROWS.has(pair?.key) && (!isToolResult(pair.key) || isText(pair.value)))
      attributes[pair.key] = plainValue(shortened(pair.value))
  }
  return facts({
    spanId: span.spanId,
    parentSpanId: isSpanId(span.parentSpanId ?? '') ? span.parentSpanId! : '',
    name,
    startUs: nanosToUs(span.startTimeUnixNano),
    endUs: nanosToUs(span.endTimeUnixNano),
    attributes,
    events: listOf(span.events)
      .filter((event) => event?.name === GATE_EVENT)
      .map(plainEvent),
    status: { code: statusNumber(span.status?.code), message: String(span.status?.message ?? '') },
    category: classify(name, attributes),
  })
}

function isText(value: OtlpAnyValue | undefined): boolean {
  return typeof value?.stringValue === 'string'
}

function shortened(value: OtlpAnyValue | undefined): OtlpAnyValue | undefined {
  return typeof value?.stringValue === 'string'
    ? { stringValue: value.stringValue.slice(0, PREVIEW_BYTES) }
    : value
}

interface Parts {
  spanId: string
  /** One that can be a span's, or none. */
  parentSpanId: string
  name: string
  startUs: number
  endUs: number
  attributes: AttributeSource
  events: readonly SpanEvent[]
  status: { code?: number; message?: string }
  category: SpanCategory
}

function facts(span: Parts): SpanFacts {
  const { attributes, events, status, category } = span
  const told = { code: status.code ?? 0, message: status.message ?? '' }
  const digest = digestSpan(span.name, attributes, events, told, category)
  return {
    spanId: span.spanId,
    parentSpanId: span.parentSpanId === span.spanId ? '' : span.parentSpanId,
    name: span.name,
    startUs: span.startUs,
    // A start snapshot repeats its start as its end, or has none; what has ended never ends before it starts.
    endUs: digest.started || span.endUs === 0 ? 0 : Math.max(span.endUs, span.startUs),
    error: status.code === 2,
    digest,
  }
}
