/** A place in bytes of protobuf that moves on, for whoever reads them without making objects of all that is there. */
export class ByteCursor {
  protected bytes: Buffer = NOTHING
  protected at = 0

  protected begin(bytes: Buffer, at: number): void {
    this.bytes = bytes
    this.at = at
  }

  /** As a number; what is above 2^53 loses its lowest bits. */
  protected varint(end: number): number {
    if (this.at < end) {
      const byte = this.bytes[this.at]!
      if (byte < 128) {
        this.at++
        return byte
      }
    }
    let result = 0
    let scale = 1
    for (let count = 0; count < 10; count++) {
      if (this.at >= end)
        throw new RangeError(`Malformed protobuf: it ends inside a field, at byte ${this.at}.`)
      const byte = this.bytes[this.at++]!
      result += (byte & 0x7f) * scale
      if (byte < 128) return result
      scale *= 128
    }
    throw new RangeError(`Malformed protobuf: a number longer than ten bytes at byte ${this.at}.`)
  }

  /** Enters a length-delimited field: where it ends. */
  protected field(end: number): number {
    const length = this.varint(end)
    if (length > end - this.at) this.#passesEnd(length)
    return this.at + length
  }

  /** Moves past so many bytes; gives where they begin. */
  protected take(length: number, end: number): number {
    const start = this.at
    if (length > end - start) this.#passesEnd(length)
    this.at = start + length
    return start
  }

  protected skip(tag: number, end: number): void {
    const wire = tag & 7
    if (wire === 0) this.varint(end)
    else if (wire === 1) this.take(8, end)
    else if (wire === 2) this.at = this.field(end)
    else if (wire === 5) this.take(4, end)
    else throw new RangeError(`Malformed protobuf: unknown wire type ${wire} at byte ${this.at}.`)
  }

  #passesEnd(length: number): never {
    throw new RangeError(`Malformed protobuf: a field of ${length} bytes at byte ${this.at} passes the end.`)
  }
}

const NOTHING = Buffer.alloc(0)
