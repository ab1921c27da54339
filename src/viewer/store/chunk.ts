/** Spans as the store keeps them: those of one request and one run together, packed as they came. */
import { constants, zstdCompressSync } from 'node:zlib'

import { decodeSpan } from '../../internal/otlp/messages.ts'
import { ProtobufReader } from '../../internal/otlp/protobuf-reader.ts'
import type { OtlpSpan } from '../../internal/otlp/types.ts'
import { MAX_CHUNK_SPANS } from '../otlp/incoming.ts'
import { readJsonSpan, readSpan, type SpanFacts } from '../otlp/read-span.ts'
import { spanText } from './searchable-text.ts'
import type { SpanWords } from './span-words.ts'
import { unpackedZstd } from './zstd.ts'

/** Protobuf, or the text of an array of OTLP/JSON spans; or either of them compressed. */
export type ChunkBody = Uint8Array | string

/** Below this, compressing costs more than writing the bytes. */
const COMPRESSED_FROM_BYTES = 512
const BRACKET = '['.charCodeAt(0)
const ZSTD_MAGIC = 0xfd2fb528
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/**
 * As the chunk is stored. Prompts and results repeat themselves a lot, from one model call to the next all the more:
 * compressing them costs less than writing them.
 */
export function packChunk(body: ChunkBody): ChunkBody {
  return body.length < COMPRESSED_FROM_BYTES ? body : zstdCompressSync(body, FAST)
}

export interface Chunk {
  /** How many spans. */
  readonly length: number
  /** How large it is unpacked; in characters where it is JSON. */
  readonly size: number
  /** How much of that a span is; where it is JSON, about. */
  sizeOf(index: number): number
  /**
   * What lists and rows show of a span; `undefined` for one that cannot be read, which costs no other one anything.
   * `forSums`: it may lack what no sum is made of.
   */
  facts(index: number, forSums?: boolean): SpanFacts | undefined
  /** The whole span, or `undefined` likewise. */
  span(index: number): OtlpSpan | undefined
  /** Has `words` look through the span, as far as it can be read. */
  scan(index: number, words: SpanWords): void
  /** False where none of its spans has what `patterns` stand for; see `mayHold`. */
  mayHold(patterns: readonly RegExp[]): boolean
}

export function openChunk(body: ChunkBody): Chunk {
  const bytes = unless(() => unpacked(body)) ?? Buffer.alloc(0)
  // No protobuf span begins like an array does.
  return bytes[0] === BRACKET ? new JsonChunk(bytes.toString()) : new ProtobufChunk(bytes)
}

function areAllIn(text: string, patterns: readonly RegExp[]): boolean {
  return patterns.every((pattern) => pattern.test(text))
}

/** What is taken in can be read; what an older version took, or a disk changed, perhaps not. */
export function unless<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

function unpacked(body: ChunkBody): Buffer {
  if (typeof body === 'string') return Buffer.from(body)
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return bytes.length < 4 || bytes.readUInt32LE() !== ZSTD_MAGIC ? bytes : unpackedZstd(bytes)
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

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    const reader = new ProtobufReader(bytes)
    unless(() => {
      while (!reader.done) {
        reader.tag()
        const { pos, end } = reader.message()
        this.#ranges.push(pos, end)
      }
    })
  }

  get length(): number {
    return this.#ranges.length / 2
  }

  get size(): number {
    return this.#bytes.length
  }

  sizeOf(index: number): number {
    return this.#ranges[index * 2 + 1]! - this.#ranges[index * 2]!
  }

  facts(index: number, forSums?: boolean): SpanFacts | undefined {
    return unless(() =>
      readSpan(this.#bytes, this.#ranges[index * 2]!, this.#ranges[index * 2 + 1]!, forSums),
    )
  }

  span(index: number): OtlpSpan | undefined {
    return unless(() => decodeSpan(this.#at(index)))
  }

  scan(index: number, words: SpanWords): void {
    unless(() => words.scan(this.#bytes, this.#ranges[index * 2]!, this.#ranges[index * 2 + 1]!))
  }

  mayHold(patterns: readonly RegExp[]): boolean {
    return patterns.length === 0 || areAllIn(this.#bytes.toString('latin1'), patterns)
  }

  #at(index: number): ProtobufReader {
    return new ProtobufReader(this.#bytes, this.#ranges[index * 2], this.#ranges[index * 2 + 1])
  }
}

class JsonChunk implements Chunk {
  readonly #spans: readonly OtlpSpan[]
  readonly size: number

  constructor(body: string) {
    this.size = body.length
    this.#spans = unless(() => JSON.parse(body) as OtlpSpan[]) ?? []
  }

  /** Not told: letters may be written as escapes, and reading it was the most of the work. */
  mayHold(): boolean {
    return true
  }

  get length(): number {
    return this.#spans.length
  }

  sizeOf(): number {
    return this.size / this.length
  }

  facts(index: number): SpanFacts | undefined {
    return unless(() => readJsonSpan(this.#spans[index]!))
  }

  /** A copy: whoever asks may add to it. */
  span(index: number): OtlpSpan | undefined {
    return { ...this.#spans[index]! }
  }

  scan(index: number, words: SpanWords): void {
    unless(() => words.scanText(spanText(this.#spans[index]!)))
  }
}
