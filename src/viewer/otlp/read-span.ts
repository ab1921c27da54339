/** Of a packed span, what lists and rows show; the rest stays packed until someone opens the span. */

import {
  ANY_VALUE,
  decodeAnyValue,
  decodeEvent,
  decodeStatus,
  EVENT,
  tagOf,
} from '../../internal/otlp/messages.ts'
import { fixed64UsAt, ProtobufReader } from '../../internal/otlp/protobuf-reader.ts'
import type { OtlpAnyValue, OtlpSpan } from '../../internal/otlp/types.ts'
import {
  type AttributeSource,
  EXCEPTION_EVENT,
  GATE_EVENT,
  READ_FOR_ROWS,
  RowValues,
} from '../model/attributes.ts'
import { classify, digestSpan, type SpanDigest } from '../model/digest.ts'
import type { Attributes, AttributeValue, SpanCategory, SpanEvent } from '../model/span.ts'
import { RecentTexts, viewOf } from './byte-texts.ts'
import { ByteCursor } from './cursor.ts'
import { isSpanId } from './ids.ts'
import { LongText } from './long-text.ts'
import { listOf, nanosToUs, plainEvent, plainValue, statusNumber } from './plain.ts'
import { isToolResult, ROW_KEY_LIST } from './row-keys.ts'
import { SpanCheck } from './span-check.ts'
import {
  END_AT,
  EVENT_VALUE,
  ID_AT,
  NAME_AT,
  NAME_END,
  PARENT_AT,
  SpanNotes,
  START_AT,
  STATUS_VALUE,
  VALUE_SIZE,
  VALUES,
  VALUES_END,
} from './span-notes.ts'

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
  /** The end as it was sent: of a span that runs, since when it is as it is told, if that is told. */
  sentEndUs: number
  error: boolean
  digest: SpanDigest
}

/** `forSums`: without what only rows show of a single call, its arguments, which are a text of their own each. */
export function readSpan(bytes: Buffer, start: number, end: number, forSums = false): SpanFacts {
  CHECK.of(bytes)
  NOTES.clear()
  const noted = CHECK.check(start, end, NOTES)
  return READER.read(bytes, NOTES.numbers, noted, forSums)
}

/** Likewise, of a span that was checked, and noted from `noted` on. */
export function readNoted(bytes: Buffer, numbers: Int32Array, noted: number, forSums: boolean): SpanFacts {
  return READER.read(bytes, numbers, noted, forSums)
}

const STRING = tagOf(ANY_VALUE, 'stringValue')
const INTEGER = tagOf(ANY_VALUE, 'intValue')
const TEXTS = new RecentTexts()
const NO_EVENTS: readonly SpanEvent[] = []
const NO_STATUS: Parts['status'] = {}

/** Reads one span after the other. */
class FactsReader extends ByteCursor {
  readonly #attributes = new RowValues()
  #events: SpanEvent[] | undefined
  /** Where the last exception is: read where the status of the span says nothing, which comes behind it. */
  #exceptionAt = -1
  #exceptionEnd = -1
  #status = NO_STATUS
  readonly #arguments = new LongText()
  readonly #result = new LongText()
  #parent = ''
  readonly #parentBytes = new Uint8Array(8)
  #view = viewOf(this.bytes)

  read(bytes: Buffer, numbers: Int32Array, noted: number, forSums: boolean): SpanFacts {
    // One span after the other is of the same chunk.
    if (bytes !== this.bytes) this.#view = viewOf(bytes)
    this.begin(bytes, 0)
    this.#attributes.clear()
    this.#arguments.clear()
    this.#result.clear()
    this.#events = undefined
    this.#exceptionAt = -1
    this.#status = NO_STATUS
    const valuesEnd = numbers[noted + VALUES_END]!
    for (let at = noted + VALUES; at < valuesEnd; at += VALUE_SIZE)
      this.#noted(numbers[at]!, numbers[at + 1]!, numbers[at + 2]!)
    const idAt = numbers[noted + ID_AT]!
    const nameAt = numbers[noted + NAME_AT]!
    const endAt = numbers[noted + END_AT]!
    const startAt = numbers[noted + START_AT]!
    const attributes = this.#attributes
    const name = nameAt < 0 ? '' : this.#text(nameAt, numbers[noted + NAME_END]!)
    const category = classify(name, attributes)
    const status = this.#status
    if (category === 'tool' && !forSums) this.#arguments.readInto(attributes, bytes)
    if (isUntold(status) && this.#exceptionAt >= 0) this.#keepEvent(this.#exceptionAt, this.#exceptionEnd)
    if (category === 'tool' && status.code === 2) this.#result.readInto(attributes, bytes)
    return facts({
      spanId: bytes.toString('hex', idAt, idAt + 8),
      parentSpanId: this.#parentHex(numbers[noted + PARENT_AT]!),
      name,
      startUs: startAt < 0 ? 0 : fixed64UsAt(bytes, startAt),
      endUs: endAt < 0 ? 0 : fixed64UsAt(bytes, endAt),
      attributes,
      events: this.#events ?? NO_EVENTS,
      status,
      category,
    })
  }

  #noted(which: number, start: number, end: number): void {
    if (which >= 0) this.#attribute(which, start, end)
    else if (which === EVENT_VALUE) this.#event(start, end)
    else if (which === STATUS_VALUE) this.#status = decodeStatus(new ProtobufReader(this.bytes, start, end))
  }

  #attribute(number: number, start: number, end: number): void {
    const { bytes } = this
    const { isArguments, isResult, isId } = ROW_KEY_LIST[number]!
    const tag = bytes[start]!
    this.at = start
    if (tag === STRING) {
      this.at++
      const textEnd = this.field(end)
      const previewEnd = Math.min(textEnd, this.at + PREVIEW_BYTES)
      if (isArguments) this.#arguments.note(number, this.at, previewEnd)
      else if (isResult) this.#result.note(number, this.at, previewEnd)
      else if (!isId) this.#attributes.set(number, TEXTS.get(bytes, this.#view, this.at, previewEnd))
      else this.#attributes.set(number, bytes.toString('utf8', this.at, previewEnd))
    } else if (!isResult) this.#attributes.set(number, this.#value(tag, end))
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

  #event(start: number, end: number): void {
    const reader = new ProtobufReader(this.bytes, start, end)
    while (!reader.done) {
      const tag = reader.tag()
      if (EVENT.names[tag] !== 'name') {
        reader.skip(tag)
        continue
      }
      const name = reader.key()
      if (name === GATE_EVENT) this.#keepEvent(start, end)
      else if (name === EXCEPTION_EVENT) {
        this.#exceptionAt = start
        this.#exceptionEnd = end
      }
      break
    }
  }

  #keepEvent(start: number, end: number): void {
    this.#events ??= []
    this.#events.push(plainEvent(decodeEvent(new ProtobufReader(this.bytes, start, end))))
  }

  /** Children come beside one another. */
  #parentHex(at: number): string {
    if (at < 0) return ''
    const { bytes } = this
    const known = this.#parentBytes
    let isKnown = this.#parent !== ''
    for (let index = 0; index < 8; index++) {
      const byte = bytes[at + index]!
      if (known[index] === byte) continue
      known[index] = byte
      isKnown = false
    }
    if (!isKnown) {
      const hex = bytes.toString('hex', at, at + 8)
      this.#parent = isSpanId(hex) ? hex : ''
    }
    return this.#parent
  }

  #text(start: number, end: number): string {
    return TEXTS.get(this.bytes, this.#view, start, Math.min(end, start + PREVIEW_BYTES))
  }
}

const CHECK = new SpanCheck(Buffer.alloc(0))
const NOTES = new SpanNotes(0)
const READER = new FactsReader()

/** Of a span as `receiveJsonTraces` stores it. */
export function readJsonSpan(span: OtlpSpan): SpanFacts {
  const attributes: Attributes = Object.create(null)
  const name = String(span.name ?? '').slice(0, PREVIEW_BYTES)
  for (const pair of listOf(span.attributes)) {
    if (READ_FOR_ROWS.has(pair?.key) && (!isToolResult(pair.key) || isText(pair.value)))
      attributes[pair.key] = plainValue(shortened(pair.value))
  }
  const status = { code: statusNumber(span.status?.code), message: String(span.status?.message ?? '') }
  return facts({
    spanId: span.spanId,
    parentSpanId: isSpanId(span.parentSpanId ?? '') ? span.parentSpanId! : '',
    name,
    startUs: nanosToUs(span.startTimeUnixNano),
    endUs: nanosToUs(span.endTimeUnixNano),
    attributes,
    events: listOf(span.events)
      .filter((event) => event?.name === GATE_EVENT || (event?.name === EXCEPTION_EVENT && isUntold(status)))
      .map(plainEvent),
    status,
    category: classify(name, attributes),
  })
}

/** An error of which the status does not say what it is. */
function isUntold({ code, message }: Parts['status']): boolean {
  return code === 2 && !message
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
    // Of a start snapshot the end is another thing; what has ended never ends before it starts.
    endUs: digest.started || span.endUs === 0 ? 0 : Math.max(span.endUs, span.startUs),
    sentEndUs: span.endUs,
    error: status.code === 2,
    digest,
  }
}
