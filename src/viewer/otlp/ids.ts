const ID_16 = /^(?!0{32}$)[0-9a-f]{32}$/
const ID_8 = /^(?!0{16}$)[0-9a-f]{16}$/

export const isTraceId = (id: string): boolean => ID_16.test(id)
export const isSpanId = (id: string): boolean => ID_8.test(id)

export function badTraceId(id: string): TypeError {
  return new TypeError(`Expected a trace id of 16 bytes, not all zero, got "${id.slice(0, 64)}".`)
}

export function badSpanId(id: string): TypeError {
  return new TypeError(`Expected a span id of 8 bytes, not all zero, got "${id.slice(0, 64)}".`)
}

/** OTLP/JSON writes ids in hex; some exporters use protobuf's JSON mapping, which is base64. */
export function jsonId(id: unknown, hexLength: number): string {
  const text = String(id ?? '')
  if (/^[0-9a-f]*$/i.test(text) && text.length === hexLength) return text.toLowerCase()
  if (text.length === Math.ceil(hexLength / 2 / 3) * 4) return Buffer.from(text, 'base64').toString('hex')
  return text
}
