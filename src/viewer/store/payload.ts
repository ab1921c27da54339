import { decodeSpan } from '../otlp/decode-protobuf.ts'
import { listOf } from '../otlp/plain.ts'
import { ProtobufReader } from '../otlp/protobuf-reader.ts'
import type { OtlpAnyValue, OtlpKeyValue, OtlpLogRecord, OtlpSpan } from '../otlp/types.ts'

/** Of one span, at most this many characters can be found by searching; the rest is shown, not searched. */
const INDEXED_CHARS = 256 * 1024
const MAX_DEPTH = 64

export type Payload = Uint8Array | string

export function unpackSpan(payload: Payload): OtlpSpan {
  if (typeof payload === 'string') return JSON.parse(payload) as OtlpSpan
  return decodeSpan(new ProtobufReader(Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)))
}

/** Every word a person may search a span by: its name, its texts, and those of its events and logs. */
export function searchableText(span: OtlpSpan, logs: readonly OtlpLogRecord[]): string {
  const texts: string[] = [span.name ?? '', span.status?.message ?? '', span.traceId, span.spanId]
  let length = 0
  const add = (text: string) => {
    if (length >= INDEXED_CHARS) return
    texts.push(text.length > INDEXED_CHARS - length ? text.slice(0, INDEXED_CHARS - length) : text)
    length += text.length
  }
  collect(span.attributes, add, 0)
  for (const event of listOf(span.events)) {
    add(String(event.name ?? ''))
    collect(event.attributes, add, 0)
  }
  for (const log of logs) {
    add(String(log.eventName ?? ''))
    collectValue(log.body, add, 0)
    collect(log.attributes, add, 0)
  }
  return texts.join('\n')
}

function collect(pairs: OtlpKeyValue[] | undefined, add: (text: string) => void, depth: number): void {
  if (depth > MAX_DEPTH) return
  for (const pair of listOf(pairs)) collectValue(pair?.value, add, depth)
}

function collectValue(value: OtlpAnyValue | undefined, add: (text: string) => void, depth: number): void {
  if (!value || depth > MAX_DEPTH) return
  if (typeof value.stringValue === 'string') add(value.stringValue)
  else if (value.intValue !== undefined) add(String(value.intValue))
  else if (value.arrayValue)
    for (const item of listOf(value.arrayValue.values)) collectValue(item, add, depth + 1)
  else if (value.kvlistValue) collect(value.kvlistValue.values, add, depth + 1)
}
