/**
 * Walks a protobuf span once, without building anything: whether it can be decoded later, its trace and its start.
 * What passes here never throws in `decodeSpan`: both go by the same table.
 */

import { ANY_VALUE, KEY_VALUE, type Message, SPAN, tagOf } from '../../internal/otlp/messages.ts'
import { fixed64UsAt, MAX_DEPTH, tooDeep } from '../../internal/otlp/protobuf-reader.ts'
import { badSpanId, badTraceId } from './ids.ts'
import { assertSize, MAX_FIELDS } from './limits.ts'

const KEY = tagOf(KEY_VALUE, 'key')
const VALUE = tagOf(KEY_VALUE, 'value')
const STRING = tagOf(ANY_VALUE, 'stringValue')
/** Fields of an attribute that is a text. */
const TEXT_FIELDS = 3

export class SpanCheck {
  readonly #bytes: Buffer
  #at = 0
  #fields = 0
  /** Where the 16 bytes of the trace id are. */
  traceAt = 0
  startUs = 0
  /** Whether it names no parent. */
  isRoot = true

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Throws what is wrong with the span. */
  check(start: number, end: number): void {
    this.#begin(start, end)
    this.traceAt = -1
    this.startUs = 0
    this.isRoot = true
    let spanAt = -1
    while (this.#at < end) {
      const tag = this.#tag(end)
      switch (SPAN.names[tag]) {
        case 'traceId':
          this.traceAt = this.#id(end, 16, badTraceId)
          break
        case 'spanId':
          spanAt = this.#id(end, 8, badSpanId)
          break
        case 'parentSpanId': {
          const stop = this.#field(end)
          this.isRoot = stop === this.#at
          this.#at = stop
          break
        }
        case 'startTimeUnixNano':
          this.startUs = fixed64UsAt(this.#bytes, this.#take(8, end))
          break
        case 'attributes':
          this.#attribute(this.#field(end))
          break
        default:
          this.#pass(tag, end, SPAN, 0)
      }
    }
    if (this.traceAt < 0) throw badTraceId('')
    if (spanAt < 0) throw badSpanId('')
  }

  /** Whether this span's trace id is the one at `other`. */
  isTraceAt(other: number): boolean {
    const bytes = this.#bytes
    for (let index = 15; index >= 0; index--) {
      if (bytes[this.traceAt + index] !== bytes[other + index]) return false
    }
    return true
  }

  /** Throws what would be thrown by reading it, or by its being too much. */
  checkMessage(start: number, end: number, message: Message): void {
    this.#begin(start, end)
    this.#walk(end, message, 0)
  }

  #begin(start: number, end: number): void {
    assertSize(end - start)
    this.#at = start
    this.#fields = 0
  }

  /** Most are a key and a text, which is seen without going by the table. */
  #attribute(end: number): void {
    const start = this.#at
    if (this.#fields + TEXT_FIELDS <= MAX_FIELDS && this.#isText(end)) this.#fields += TEXT_FIELDS
    else {
      this.#at = start
      this.#walk(end, KEY_VALUE, 1)
    }
  }

  #isText(end: number): boolean {
    if (!this.#isNext(KEY, end)) return false
    this.#at = this.#field(end)
    if (!this.#isNext(VALUE, end) || this.#field(end) !== end) return false
    if (!this.#isNext(STRING, end) || this.#field(end) !== end) return false
    this.#at = end
    return true
  }

  /** Whether this tag is next; then it is behind us. */
  #isNext(tag: number, end: number): boolean {
    if (this.#at >= end || this.#bytes[this.#at] !== tag) return false
    this.#at++
    return true
  }

  #walk(end: number, message: Message, depth: number): void {
    if (depth > MAX_DEPTH) throw tooDeep()
    while (this.#at < end) this.#pass(this.#tag(end), end, message, depth)
  }

  #pass(tag: number, end: number, message: Message, depth: number): void {
    const of = message.byTag[tag]?.of
    if (of) this.#walk(this.#field(end), of(), depth + 1)
    else this.#skip(tag, end)
  }

  #id(end: number, length: number, bad: (id: string) => Error): number {
    const stop = this.#field(end)
    const start = this.#at
    this.#at = stop
    if (stop - start === length) {
      for (let index = stop - 1; index >= start; index--) if (this.#bytes[index] !== 0) return start
    }
    throw bad(this.#bytes.toString('hex', start, Math.min(stop, start + 64)))
  }

  #tag(end: number): number {
    const tag = this.#varint(end)
    if (++this.#fields > MAX_FIELDS) throw new RangeError(`Too much: more than ${MAX_FIELDS} fields in one.`)
    if (tag < 8) throw new RangeError(`Malformed protobuf: field number 0 at byte ${this.#at}.`)
    return tag
  }

  /** Enters a length-delimited field: where it ends. */
  #field(end: number): number {
    const length = this.#varint(end)
    if (length > end - this.#at) throw this.#tooLong(length)
    return this.#at + length
  }

  #skip(tag: number, end: number): void {
    switch (tag & 7) {
      case 0:
        this.#varint(end)
        return
      case 1:
        this.#take(8, end)
        return
      case 2:
        this.#at = this.#field(end)
        return
      case 5:
        this.#take(4, end)
        return
      default:
        throw new RangeError(`Malformed protobuf: unknown wire type ${tag & 7} at byte ${this.#at}.`)
    }
  }

  #varint(end: number): number {
    if (this.#at < end) {
      const byte = this.#bytes[this.#at]!
      if (byte < 128) {
        this.#at++
        return byte
      }
    }
    let result = 0
    let scale = 1
    for (let count = 0; count < 10; count++) {
      if (this.#at >= end)
        throw new RangeError(`Malformed protobuf: it ends inside a field, at byte ${this.#at}.`)
      const byte = this.#bytes[this.#at++]!
      result += (byte & 0x7f) * scale
      if (byte < 128) return result
      scale *= 128
    }
    throw new RangeError(`Malformed protobuf: a number longer than ten bytes at byte ${this.#at}.`)
  }

  #take(length: number, end: number): number {
    const start = this.#at
    if (length > end - start) throw this.#tooLong(length)
    this.#at = start + length
    return start
  }

  #tooLong(length: number): RangeError {
    return new RangeError(
      `Malformed protobuf: a field of ${length} bytes at byte ${this.#at} passes the end.`,
    )
  }
}
