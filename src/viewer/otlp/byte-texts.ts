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
  readonly #slots: ({ bytes: Buffer; text: string } | undefined)[] = new Array(1024)

  get(bytes: Buffer, start: number, end: number): string {
    if (end - start > MOST_BYTES) return bytes.toString('utf8', start, end)
    const slot = slotOf(bytes, start, end)
    const recent = this.#slots[slot]
    if (recent && isAt(bytes, start, end, recent.bytes)) return recent.text
    const text = bytes.toString('utf8', start, end)
    // A copy: the bytes are part of a chunk, which must not be kept for it.
    this.#slots[slot] = { bytes: Buffer.from(bytes.subarray(start, end)), text }
    return text
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
