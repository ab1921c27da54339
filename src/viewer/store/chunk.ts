/** Spans as the store keeps them: those of one request and one run together, packed as they came. */

import { decodeSpan } from '../otlp/decode-protobuf.ts'
import { MAX_CHUNK_SPANS } from '../otlp/incoming.ts'
import { ProtobufReader } from '../otlp/protobuf-reader.ts'
import { readJsonSpan, readSpan, type SpanFacts } from '../otlp/read-span.ts'
import type { OtlpSpan } from '../otlp/types.ts'

/** Protobuf, or the text of an array of OTLP/JSON spans. */
export type ChunkBody = Uint8Array | string

export interface Chunk {
  readonly length: number
  /** What lists and rows show of a span. */
  facts(index: number): SpanFacts
  /** The whole span. */
  span(index: number): OtlpSpan
}

export function openChunk(body: ChunkBody): Chunk {
  return typeof body === 'string' ? new JsonChunk(body) : new ProtobufChunk(body)
}

/** The number by which the text index knows a span; a log's is its own id, negative. */
export const documentOf = (chunk: number, index: number): number => chunk * MAX_CHUNK_SPANS + index
export const placeOf = (document: number): { chunk: number; index: number } => ({
  chunk: Math.floor(document / MAX_CHUNK_SPANS),
  index: document % MAX_CHUNK_SPANS,
})

class ProtobufChunk implements Chunk {
  readonly #bytes: Buffer
  /** Start and end of each span. */
  readonly #ranges: number[] = []

  constructor(body: Uint8Array) {
    this.#bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    const reader = new ProtobufReader(this.#bytes)
    while (!reader.done) {
      reader.tag()
      const { pos, end } = reader.message()
      this.#ranges.push(pos, end)
    }
  }

  get length(): number {
    return this.#ranges.length / 2
  }

  facts(index: number): SpanFacts {
    return readSpan(this.#at(index))
  }

  span(index: number): OtlpSpan {
    return decodeSpan(this.#at(index))
  }

  #at(index: number): ProtobufReader {
    return new ProtobufReader(this.#bytes, this.#ranges[index * 2], this.#ranges[index * 2 + 1])
  }
}

class JsonChunk implements Chunk {
  readonly #spans: OtlpSpan[]

  constructor(body: string) {
    this.#spans = JSON.parse(body) as OtlpSpan[]
  }

  get length(): number {
    return this.#spans.length
  }

  facts(index: number): SpanFacts {
    return readJsonSpan(this.#spans[index]!)
  }

  /** A copy: whoever asks may add to it. */
  span(index: number): OtlpSpan {
    return { ...this.#spans[index]! }
  }
}
