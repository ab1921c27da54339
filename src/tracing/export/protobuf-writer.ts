/** How the bytes after a tag are to be read. */
export const WIRE = { varint: 0, fixed64: 1, length: 2, fixed32: 5 } as const

/** A field's number and wire type in one, for fields below 16 a single byte. */
export function tagOf(field: number, wire: keyof typeof WIRE): number {
  return (field << 3) | WIRE[wire]
}

const TWO_32 = 2 ** 32
/** Below this a loop over a text is faster than the call that writes it. */
const SHORT_TEXT = 24

/** Writes the protobuf wire format into a buffer that grows, and is used again. */
export class ProtobufWriter {
  readonly #size: number
  #bytes: Buffer
  at = 0

  /** @param size Bytes that are expected. */
  constructor(size = 128) {
    this.#size = size
    this.#bytes = Buffer.allocUnsafe(size)
  }

  /** Not a copy: good until more is written. */
  written(start: number, end: number): Uint8Array {
    const { buffer, byteOffset } = this.#bytes
    return new Uint8Array(buffer, byteOffset + start, end - start)
  }

  /** A copy. */
  copy(start: number, end: number): Buffer {
    const copy = Buffer.allocUnsafe(end - start)
    this.#bytes.copy(copy, 0, start, end)
    return copy
  }

  /** Begins again, with the same memory unless it is more than that. */
  reset(keepBytes: number): void {
    this.at = 0
    if (this.#bytes.length > keepBytes) this.#bytes = Buffer.allocUnsafe(this.#size)
  }

  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.at++] = value
  }

  varint(value: number): void {
    this.#reserve(10)
    if (value >= 0 && value < TWO_32) this.at = putVarint(this.#bytes, this.at, value)
    else this.#varint64(value)
  }

  /** Negative numbers take ten bytes, in two's complement. */
  #varint64(value: number): void {
    const [low, high] = halvesOf(value)
    let rest = low
    let upper = high
    while (upper > 0 || rest > 127) {
      this.#bytes[this.at++] = (rest & 0x7f) | 0x80
      rest = ((rest >>> 7) | (upper << 25)) >>> 0
      upper >>>= 7
    }
    this.#bytes[this.at++] = rest
  }

  /** A field that is a varint, most of which are small. */
  count(tag: number, value: number): void {
    this.#reserve(11)
    this.#bytes[this.at++] = tag
    if ((value & 0x7f) === value) this.#bytes[this.at++] = value
    else this.varint(value)
  }

  fixed32(value: number): void {
    this.#reserve(4)
    this.at = put32(this.#bytes, this.at, value)
  }

  fixed64(tag: number, low: number, high: number): void {
    this.#reserve(9)
    this.#bytes[this.at++] = tag
    this.at = put32(this.#bytes, put32(this.#bytes, this.at, low), high)
  }

  double(value: number): void {
    this.#reserve(8)
    this.at = this.#bytes.writeDoubleLE(value, this.at)
  }

  bytes(value: Uint8Array): void {
    this.varint(value.length)
    this.raw(value)
  }

  raw(value: Uint8Array): void {
    this.#reserve(value.length)
    this.#bytes.set(value, this.at)
    this.at += value.length
  }

  /** Some bytes of others. */
  part(value: Buffer, start: number, end: number): void {
    this.#reserve(end - start)
    value.copy(this.#bytes, this.at, start, end)
    this.at += end - start
  }

  /** Two hex digits to a byte. */
  hex(tag: number, digits: string): void {
    const length = digits.length >> 1
    this.#reserve(length + 11)
    this.count(tag, length)
    const bytes = this.#bytes
    let { at } = this
    for (let i = 0; i < 2 * length; i += 2) {
      bytes[at++] = (nibble(digits.charCodeAt(i)) << 4) | nibble(digits.charCodeAt(i + 1))
    }
    this.at = at
  }

  /** Its length in UTF-8, and it. */
  text(value: string): void {
    this.#reserve(5 + 3 * value.length)
    const start = this.at + sizeOfVarint(value.length)
    const length = this.#putText(value, start)
    this.#moveTo(this.at + sizeOfVarint(length), start, length)
    this.at = putVarint(this.#bytes, this.at, length) + length
  }

  /**
   * The commonest thing in a span, all at once: a field that is a key with a text, each of which is a message in the
   * other. `key` is the key's field as it is written.
   */
  textAttribute(tag: number, key: Uint8Array, valueTag: number, textTag: number, value: string): void {
    this.#reserve(24 + key.length + 3 * value.length)
    const guess = this.at + headOf(key.length, value.length)
    const length = this.#putText(value, guess)
    this.#moveTo(this.at + headOf(key.length, length), guess, length)
    const bytes = this.#bytes
    const inner = 1 + sizeOfVarint(length) + length
    let at = this.at
    bytes[at++] = tag
    at = putVarint(bytes, at, key.length + 1 + sizeOfVarint(inner) + inner)
    for (let i = 0; i < key.length; i++) bytes[at++] = key[i] as number
    bytes[at++] = valueTag
    at = putVarint(bytes, at, inner)
    bytes[at++] = textTag
    this.at = putVarint(bytes, at, length) + length
  }

  /** The same for a value that is a varint below 2^28. */
  varintAttribute(tag: number, key: Uint8Array, valueTag: number, varintTag: number, value: number): void {
    this.#reserve(16 + key.length)
    const inner = 1 + sizeOfVarint(value)
    const bytes = this.#bytes
    let { at } = this
    bytes[at++] = tag
    at = putVarint(bytes, at, key.length + 2 + inner)
    for (let i = 0; i < key.length; i++) bytes[at++] = key[i] as number
    bytes[at++] = valueTag
    bytes[at++] = inner
    bytes[at++] = varintTag
    this.at = putVarint(bytes, at, value)
  }

  /** Begins what is written with its length before it; the length is expected to take so many bytes. */
  open(sizeOfLength = 1): number {
    this.#reserve(sizeOfLength)
    this.at += sizeOfLength
    return this.at
  }

  /** Ends what `open` began, which gave `start`. */
  close(start: number, sizeOfLength = 1): void {
    this.#reserve(4)
    const length = this.at - start
    const moved = start - sizeOfLength + sizeOfVarint(length)
    this.#moveTo(moved, start, length)
    putVarint(this.#bytes, start - sizeOfLength, length)
    this.at = moved + length
  }

  /** How many bytes it takes, which are written at `start`. */
  #putText(value: string, start: number): number {
    const { length } = value
    if (length > SHORT_TEXT) return this.#bytes.write(value, start)
    const bytes = this.#bytes
    for (let i = 0; i < length; i++) {
      const unit = value.charCodeAt(i)
      if (unit > 127) return bytes.write(value, start)
      bytes[start + i] = unit
    }
    return length
  }

  #moveTo(target: number, start: number, length: number): void {
    if (target !== start) this.#bytes.copyWithin(target, start, start + length)
  }

  #reserve(more: number): void {
    if (this.at + more <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.at + more))
    this.#bytes.copy(larger, 0, 0, this.at)
    this.#bytes = larger
  }
}

/** What stands before the text of an attribute: two tags and lengths, the key, a tag and a length. */
function headOf(key: number, length: number): number {
  const inner = 1 + sizeOfVarint(length) + length
  const head = key + 1 + sizeOfVarint(inner)
  return 1 + sizeOfVarint(head + inner) + head + 1 + sizeOfVarint(length)
}

function put32(bytes: Uint8Array, start: number, value: number): number {
  let at = start
  bytes[at++] = value
  bytes[at++] = value >>> 8
  bytes[at++] = value >>> 16
  bytes[at++] = value >>> 24
  return at
}

function putVarint(bytes: Uint8Array, start: number, value: number): number {
  let at = start
  let rest = value
  while (rest > 127) {
    bytes[at++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  bytes[at++] = rest
  return at
}

export function sizeOfVarint(value: number): number {
  if (value < 2 ** 7) return 1
  if (value < 2 ** 14) return 2
  if (value < 2 ** 21) return 3
  return value < 2 ** 28 ? 4 : 5
}

/** The lower and the upper 32 bits of an integer of 64. */
function halvesOf(value: number): readonly [low: number, high: number] {
  const size = Math.abs(value)
  const low = size >>> 0
  const high = (size / TWO_32) >>> 0
  if (value >= 0) return [low, high]
  const negated = (~low + 1) >>> 0
  return [negated, ((negated === 0 ? 1 : 0) + ~high) >>> 0]
}

/** Of a hex digit, without a branch: which digit comes is never foreseen. */
function nibble(code: number): number {
  return (code & 15) + (code >> 6) * 9
}
