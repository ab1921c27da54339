/**
 * Walks a protobuf span once, without building anything: whether it can be decoded later, its trace and its start.
 * What passes here never throws in `decodeSpan`; both know the same fields.
 */
import { ANY_VALUE, ARRAY_VALUE, EVENT, KEY_VALUE, LINK, SPAN } from './decode-protobuf.ts'
import { badSpanId, badTraceId } from './ids.ts'
import { fixed64UsAt, MAX_DEPTH, tooDeep } from './protobuf-reader.ts'

export class SpanCheck {
  readonly #bytes: Buffer
  #at = 0
  /** Where the 16 bytes of the trace id are. */
  traceAt = 0
  startUs = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Throws what is wrong with the span. */
  check(start: number, end: number): void {
    this.#at = start
    this.traceAt = -1
    this.startUs = 0
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
        case 'startTimeUnixNano':
          this.startUs = fixed64UsAt(this.#bytes, this.#take(8, end))
          break
        case 'attributes':
          this.#pair(this.#field(end), 1)
          break
        case 'events':
          this.#holder(this.#field(end), EVENT.names)
          break
        case 'links':
          this.#holder(this.#field(end), LINK.names)
          break
        case 'status':
          this.#plain(this.#field(end))
          break
        default:
          this.#skip(tag, end)
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

  #pair(end: number, depth: number): void {
    while (this.#at < end) {
      const tag = this.#tag(end)
      if (KEY_VALUE.names[tag] === 'value') this.#value(this.#field(end), depth + 1)
      else this.#skip(tag, end)
    }
  }

  #value(end: number, depth: number): void {
    if (depth >= MAX_DEPTH) throw tooDeep()
    while (this.#at < end) {
      const tag = this.#tag(end)
      if (ANY_VALUE.names[tag] === 'arrayValue') this.#list(this.#field(end), false, depth + 1)
      else if (ANY_VALUE.names[tag] === 'kvlistValue') this.#list(this.#field(end), true, depth + 1)
      else this.#skip(tag, end)
    }
  }

  #list(end: number, ofPairs: boolean, depth: number): void {
    while (this.#at < end) {
      const tag = this.#tag(end)
      if (ARRAY_VALUE.names[tag] !== 'values') this.#skip(tag, end)
      else if (ofPairs) this.#pair(this.#field(end), depth + 1)
      else this.#value(this.#field(end), depth + 1)
    }
  }

  /** Of an event or a link, with the names of its fields. */
  #holder(end: number, names: readonly (string | undefined)[]): void {
    while (this.#at < end) {
      const tag = this.#tag(end)
      if (names[tag] === 'attributes') this.#pair(this.#field(end), 2)
      else this.#skip(tag, end)
    }
  }

  #plain(end: number): void {
    while (this.#at < end) this.#skip(this.#tag(end), end)
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
