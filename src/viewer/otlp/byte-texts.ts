/** Texts that come again and again, found by their bytes: quicker than to make each anew, and kept once. */

/** Names of attributes, each known beforehand. */
export class KnownTexts<T> {
  readonly #slots: { view: DataView; value: T }[][] = Array.from({ length: 1024 }, () => [])

  constructor(values: Iterable<readonly [string, T]>) {
    for (const [text, value] of values) {
      const bytes = Buffer.from(text)
      this.#slots[slotOf(bytes, 0, bytes.length)]!.push({ view: viewOf(bytes), value })
    }
  }

  /** `view`: of the same bytes. */
  get(bytes: Buffer, view: DataView, start: number, end: number): T | undefined {
    const length = end - start
    for (const known of this.#slots[slotOf(bytes, start, end)]!)
      if (known.view.byteLength === length && areSame(view, start, known.view, 0, length)) return known.value
    return undefined
  }
}

const MOST_BYTES = 48

/** Short values, such as names of models and tools: each of them likely to come again soon. */
export class RecentTexts {
  readonly #texts: string[] = Array.from({ length: 1024 }, () => '')
  readonly #lengths = new Uint8Array(1024)
  /** Copies: what is read is part of a chunk, which must not be kept for it. */
  readonly #bytes = new Uint8Array(1024 * MOST_BYTES)
  readonly #view = viewOf(this.#bytes)

  /** `view`: of the same bytes. */
  get(bytes: Buffer, view: DataView, start: number, end: number): string {
    const length = end - start
    if (length > MOST_BYTES) return bytes.toString('utf8', start, end)
    const slot = slotOf(bytes, start, end)
    const at = slot * MOST_BYTES
    if (this.#lengths[slot] === length && areSame(view, start, this.#view, at, length))
      return this.#texts[slot]!
    const text = bytes.toString('utf8', start, end)
    this.#texts[slot] = text
    this.#lengths[slot] = length
    for (let index = 0; index < length; index++) this.#bytes[at + index] = bytes[start + index]!
    return text
  }
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function slotOf(bytes: Buffer, start: number, end: number): number {
  const length = end - start
  if (length === 0) return 0
  const middle = bytes[start + (length >> 1)]!
  const last = bytes[end - 1]!
  const beforeLast = bytes[length > 1 ? end - 2 : start]!
  return (length * 37 + bytes[start]! * 5 + middle * 131 + last * 17 + beforeLast * 61) & 1023
}

/** Four bytes at a time; the last four may be among those that were looked at before. */
function areSame(a: DataView, atA: number, b: DataView, atB: number, length: number): boolean {
  if (length < 4) return areFewSame(a, atA, b, atB, length)
  const last = length - 4
  for (let at = 0; at < last; at += 4) if (a.getInt32(atA + at) !== b.getInt32(atB + at)) return false
  return a.getInt32(atA + last) === b.getInt32(atB + last)
}

function areFewSame(a: DataView, atA: number, b: DataView, atB: number, length: number): boolean {
  for (let at = 0; at < length; at++) if (a.getUint8(atA + at) !== b.getUint8(atB + at)) return false
  return true
}
