/**
 * Walks a protobuf span once, without building anything: whether it can be decoded later, its trace and its start, and where in it
 * is what its row is made of. What passes here never throws in `decodeSpan`: both go by the same table.
 */

import {
  ANY_VALUE,
  EVENT,
  KEY_VALUE,
  type Message,
  SPAN,
  STATUS,
  tagOf,
} from '../../internal/otlp/messages.ts'
import { fixed64UsAt, MAX_DEPTH, tooDeep } from '../../internal/otlp/protobuf-reader.ts'
import { viewOf } from './byte-texts.ts'
import { ByteCursor } from './cursor.ts'
import { badSpanId, badTraceId } from './ids.ts'
import { assertSize, MAX_FIELDS } from './limits.ts'
import { ROW_KEYS } from './row-keys.ts'
import {
  END_AT,
  EVENT_VALUE,
  ID_AT,
  NAME_AT,
  NAME_END,
  PARENT_AT,
  type SpanNotes,
  START_AT,
  STATUS_VALUE,
} from './span-notes.ts'

const KEY = tagOf(KEY_VALUE, 'key')
const VALUE = tagOf(KEY_VALUE, 'value')
const STRING = tagOf(ANY_VALUE, 'stringValue')
const INTEGER = tagOf(ANY_VALUE, 'intValue')
/** Fields of an attribute that is a text or a whole number. */
const PLAIN_FIELDS = 3

export class SpanCheck extends ByteCursor {
  #view: DataView
  #fields = 0
  /** Where the 16 bytes of the trace id are. */
  traceAt = 0
  startUs = 0
  /** Whether it names no parent. */
  isRoot = true

  constructor(bytes: Buffer) {
    super()
    this.bytes = bytes
    this.#view = viewOf(bytes)
  }

  /** Goes on with other bytes. */
  of(bytes: Buffer): void {
    if (bytes === this.bytes) return
    this.bytes = bytes
    this.#view = viewOf(bytes)
  }

  /** Throws what is wrong with the span; gives where the notes of it begin. */
  check(start: number, end: number, notes: SpanNotes): number {
    this.#begin(start, end)
    const noted = notes.begin(start, end)
    this.traceAt = -1
    this.startUs = 0
    this.isRoot = true
    let spanAt = -1
    while (this.at < end) {
      const tag = this.#tag(end)
      switch (SPAN.names[tag]) {
        case 'attributes':
          this.#attribute(this.field(end), notes)
          break
        case 'traceId':
          this.traceAt = this.#id(end, 16, badTraceId)
          break
        case 'spanId':
          spanAt = this.#id(end, 8, badSpanId)
          notes.numbers[noted + ID_AT] = spanAt
          break
        case 'parentSpanId': {
          const stop = this.field(end)
          this.isRoot = stop === this.at
          notes.numbers[noted + PARENT_AT] = stop - this.at === 8 ? this.at : -1
          this.at = stop
          break
        }
        case 'name': {
          const stop = this.field(end)
          notes.numbers[noted + NAME_AT] = this.at
          notes.numbers[noted + NAME_END] = stop
          this.at = stop
          break
        }
        case 'startTimeUnixNano': {
          const at = this.take(8, end)
          notes.numbers[noted + START_AT] = at
          this.startUs = fixed64UsAt(this.bytes, at)
          break
        }
        case 'endTimeUnixNano':
          notes.numbers[noted + END_AT] = this.take(8, end)
          break
        case 'events':
          this.#noted(end, EVENT_VALUE, EVENT, notes)
          break
        case 'status':
          this.#noted(end, STATUS_VALUE, STATUS, notes)
          break
        default:
          this.#pass(tag, end, SPAN, 0)
      }
    }
    if (this.traceAt < 0) throw badTraceId('')
    if (spanAt < 0) throw badSpanId('')
    notes.keep()
    return noted
  }

  /** Whether this span's trace id is the one at `other`. */
  isTraceAt(other: number): boolean {
    const { bytes, traceAt } = this
    for (let index = 15; index >= 0; index--)
      if (bytes[traceAt + index] !== bytes[other + index]) return false
    return true
  }

  /** Throws what would be thrown by reading it, or by its being too much. */
  checkMessage(start: number, end: number, message: Message): void {
    this.#begin(start, end)
    this.#walk(end, message, 0)
  }

  #begin(start: number, end: number): void {
    assertSize(end - start)
    this.begin(this.bytes, start)
    this.#fields = 0
  }

  #noted(end: number, which: number, message: Message, notes: SpanNotes): void {
    const stop = this.field(end)
    notes.add(which, this.at, stop)
    this.#walk(stop, message, 1)
  }

  /** Most are a key and a text, or a number, which is seen without going by the table. */
  #attribute(end: number, notes: SpanNotes): void {
    const start = this.at
    if (this.#fields + PLAIN_FIELDS <= MAX_FIELDS && this.#isPlain(end, notes)) {
      this.#fields += PLAIN_FIELDS
      return
    }
    this.at = start
    this.#walk(end, KEY_VALUE, 1)
    this.at = start
    this.#noteOther(end, notes)
    this.at = end
  }

  #isPlain(end: number, notes: SpanNotes): boolean {
    if (!this.#isNext(KEY, end)) return false
    const keyEnd = this.field(end)
    const keyAt = this.at
    this.at = keyEnd
    if (!this.#isNext(VALUE, end) || this.field(end) !== end) return false
    const valueAt = this.at
    if (this.#isNext(STRING, end)) this.at = this.field(end)
    else if (this.#isNext(INTEGER, end)) this.varint(end)
    else return false
    if (this.at !== end) return false
    this.#note(keyAt, keyEnd, valueAt, end, notes)
    return true
  }

  /** Keys come first in what every encoder writes; a value before its key is not noted. */
  #noteOther(end: number, notes: SpanNotes): void {
    if (!this.#isNext(KEY, end)) return
    const keyEnd = this.field(end)
    const keyAt = this.at
    this.at = keyEnd
    if (!this.#isNext(VALUE, end)) return
    const valueEnd = this.field(end)
    if (this.at < valueEnd) this.#note(keyAt, keyEnd, this.at, valueEnd, notes)
  }

  #note(keyAt: number, keyEnd: number, valueAt: number, valueEnd: number, notes: SpanNotes): void {
    const number = ROW_KEYS.get(this.bytes, this.#view, keyAt, keyEnd)
    if (number !== undefined) notes.add(number, valueAt, valueEnd)
  }

  /** Whether this tag is next; then it is behind us. */
  #isNext(tag: number, end: number): boolean {
    if (this.at >= end || this.bytes[this.at] !== tag) return false
    this.at++
    return true
  }

  #walk(end: number, message: Message, depth: number): void {
    if (depth > MAX_DEPTH) throw tooDeep()
    while (this.at < end) this.#pass(this.#tag(end), end, message, depth)
  }

  #pass(tag: number, end: number, message: Message, depth: number): void {
    const of = message.byTag[tag]?.of
    if (of) this.#walk(this.field(end), of(), depth + 1)
    else this.skip(tag, end)
  }

  #id(end: number, length: number, bad: (id: string) => Error): number {
    const { bytes } = this
    const stop = this.field(end)
    const start = this.at
    this.at = stop
    if (stop - start === length) {
      for (let index = stop - 1; index >= start; index--) if (bytes[index] !== 0) return start
    }
    throw bad(bytes.toString('hex', start, Math.min(stop, start + 64)))
  }

  #tag(end: number): number {
    const tag = this.varint(end)
    if (++this.#fields > MAX_FIELDS) throw new RangeError(`Too much: more than ${MAX_FIELDS} fields in one.`)
    if (tag < 8) throw new RangeError(`Malformed protobuf: field number 0 at byte ${this.at}.`)
    return tag
  }
}
