/** Messages within one another; protobuf's own readers take no more either. */
export const MAX_DEPTH = 100

export function tooDeep(): RangeError {
  return new RangeError(`Nested too deeply: more than ${MAX_DEPTH} messages within one another.`)
}

/** Reads the protobuf wire format from a buffer, without copying. Throws `RangeError` on bytes that are none. */
export class ProtobufReader {
  readonly bytes: Buffer
  pos: number
  readonly end: number
  readonly #depth: number

  constructor(bytes: Buffer, start = 0, end = bytes.length, depth = 0) {
    if (depth > MAX_DEPTH) throw tooDeep()
    this.bytes = bytes
    this.pos = start
    this.end = end
    this.#depth = depth
  }

  get done(): boolean {
    return this.pos >= this.end
  }

  /** The next field's tag: field number in the upper bits, wire type in the lower three. */
  tag(): number {
    const tag = this.varint()
    if (tag < 8) throw new RangeError(`Malformed protobuf: field number 0 at byte ${this.pos}.`)
    return tag
  }

  /** A varint as a number; what is above 2^53 loses its lowest bits (see `varint64`). */
  varint(): number {
    let byte = this.#next()
    let result = byte & 0x7f
    let scale = 128
    for (let count = 1; byte > 127; count++) {
      if (count === 10)
        throw new RangeError(`Malformed protobuf: a number longer than ten bytes at byte ${this.pos}.`)
      byte = this.#next()
      result += (byte & 0x7f) * scale
      scale *= 128
    }
    return result
  }

  /** A varint as a signed 64-bit integer, in decimal. */
  varint64(): string {
    let result = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#next()
      result |= BigInt(byte & 0x7f) << shift
      if (byte < 128) return BigInt.asIntN(64, result).toString()
    }
    throw new RangeError(`Malformed protobuf: a number longer than ten bytes at byte ${this.pos}.`)
  }

  fixed64(): string {
    return this.bytes.readBigUInt64LE(this.#take(8)).toString()
  }

  double(): number {
    return this.bytes.readDoubleLE(this.#take(8))
  }

  fixed32(): number {
    return this.bytes.readUInt32LE(this.#take(4))
  }

  /** A length-delimited field as a reader over its bytes; this reader moves past it. */
  message(): ProtobufReader {
    const length = this.varint()
    const start = this.#take(length)
    return new ProtobufReader(this.bytes, start, start + length, this.#depth + 1)
  }

  text(maxBytes = Number.POSITIVE_INFINITY): string {
    const length = this.varint()
    const start = this.#take(length)
    return this.bytes.toString('utf8', start, start + Math.min(length, maxBytes))
  }

  /** Short keys are nearly always ASCII, for which this is several times faster than UTF-8. */
  key(): string {
    const length = this.varint()
    const start = this.#take(length)
    return this.bytes.toString('latin1', start, start + length)
  }

  hex(): string {
    const length = this.varint()
    const start = this.#take(length)
    return this.bytes.toString('hex', start, start + length)
  }

  base64(): string {
    const length = this.varint()
    const start = this.#take(length)
    return this.bytes.toString('base64', start, start + length)
  }

  skip(tag: number): void {
    switch (tag & 7) {
      case 0:
        this.varint()
        return
      case 1:
        this.#take(8)
        return
      case 2:
        this.#take(this.varint())
        return
      case 5:
        this.#take(4)
        return
      default:
        throw new RangeError(`Malformed protobuf: unknown wire type ${tag & 7} at byte ${this.pos}.`)
    }
  }

  #next(): number {
    if (this.pos >= this.end)
      throw new RangeError(`Malformed protobuf: it ends inside a field, at byte ${this.pos}.`)
    return this.bytes[this.pos++]!
  }

  #take(length: number): number {
    const start = this.pos
    if (length > this.end - start) {
      throw new RangeError(`Malformed protobuf: a field of ${length} bytes at byte ${start} passes the end.`)
    }
    this.pos = start + length
    return start
  }
}

/**
 * Nanoseconds since 1970 as microseconds: exact to the microsecond, which a double can hold until the year 2255.
 * What claims to be later is that moment: larger numbers could be stored, but not read back.
 */
export function fixed64UsAt(bytes: Buffer, at: number): number {
  const low = bytes.readUInt32LE(at)
  const high = bytes.readUInt32LE(at + 4)
  // high * 2^32 ns, split so that no intermediate leaves the safe integers.
  const wholeUs = high * 4_294_967
  const restNs = high * 296 + low
  return Math.min(Number.MAX_SAFE_INTEGER, wholeUs + Math.floor(restNs / 1000))
}
