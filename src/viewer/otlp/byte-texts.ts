/** Texts that come again and again, found by their bytes: quicker than to make each anew, and kept once. */

/** Names of attributes, each known beforehand. */
export class KnownTexts<T> {
  readonly #slots: { bytes: Buffer; value: T }[][] = Array.from({ length: 1024 }, () => [])

  constructor(values: Iterable<readonly [string, T]>) {
    for (const [text, value] of values) {
      const bytes = Buffer.from(text)
      this.#slots[slotOf(bytes, 0, bytes.length)]!.push({ bytes, value })
    }
  }

  get(bytes: Buffer, start: number, end: number): T | undefined {
    for (const known of this.#slots[slotOf(bytes, start, end)]!)
      if (isAt(bytes, start, end, known.bytes)) return known.value
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

  get(bytes: Buffer, start: number, end: number): string {
    if (end - start > MOST_BYTES) return bytes.toString('utf8', start, end)
    const slot = slotOf(bytes, start, end)
    if (this.#isIn(slot, bytes, start, end)) return this.#texts[slot]!
    const text = bytes.toString('utf8', start, end)
    this.#texts[slot] = text
    this.#lengths[slot] = end - start
    const kept = this.#bytes
    const at = slot * MOST_BYTES - start
    for (let from = start; from < end; from++) kept[at + from] = bytes[from]!
    return text
  }

  #isIn(slot: number, bytes: Buffer, start: number, end: number): boolean {
    if (this.#lengths[slot] !== end - start) return false
    const kept = this.#bytes
    const at = slot * MOST_BYTES - start
    for (let from = start; from < end; from++) if (kept[at + from] !== bytes[from]) return false
    return true
  }
}

function slotOf(bytes: Buffer, start: number, end: number): number {
  const length = end - start
  if (length === 0) return 0
  const middle = bytes[start + (length >> 1)]!
  const last = bytes[end - 1]!
  const beforeLast = bytes[length > 1 ? end - 2 : start]!
  return (length * 37 + bytes[start]! * 5 + middle * 131 + last * 17 + beforeLast * 61) & 1023
}

function isAt(bytes: Buffer, start: number, end: number, known: Buffer): boolean {
  if (end - start !== known.length) return false
  for (let at = 0; at < known.length; at++) if (bytes[start + at] !== known[at]) return false
  return true
}
