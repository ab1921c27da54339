/** Words with their documents as they are kept: sorted, each by what it does not share with the one before, compressed. */
import { constants, zstdCompressSync } from 'node:zlib'
import type { WordDocument } from './word-builder.ts'
import { MAX_WORD_BYTES } from './words.ts'
import { unpackedZstd } from './zstd.ts'

/** Before they are compressed: a search reads one of them for each word and segment. */
const BLOCK_BYTES = 24 * 1024
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export interface WordBlock {
  first: Uint8Array
  body: Uint8Array
}

/** Blocks of the words of a segment. */
export function* blocksOf(
  words: Iterable<{ word: Uint8Array; documents: Uint32Array }>,
): Generator<WordBlock> {
  const bytes = new Bytes()
  let first: Uint8Array | undefined
  let before: Uint8Array = new Uint8Array()
  for (const { word, documents } of words) {
    if (!first) {
      first = word.slice()
      before = new Uint8Array()
    }
    let shared = 0
    while (shared < before.length && shared < word.length && before[shared] === word[shared]) shared++
    bytes.number(shared)
    bytes.number(word.length - shared)
    bytes.all(word.subarray(shared))
    bytes.number(documents.length)
    let last = 0
    for (const document of documents) {
      bytes.number(document - last)
      last = document
    }
    before = word
    if (bytes.length < BLOCK_BYTES) continue
    yield { first, body: zstdCompressSync(bytes.taken(), FAST) }
    first = undefined
  }
  if (first) yield { first, body: zstdCompressSync(bytes.taken(), FAST) }
}

export interface FoundInBlock {
  /** Places of documents, in any order, some more than once. */
  places: number[]
  /** The words that are looked for may go on in the next block. */
  goesOn: boolean
}

export function findInBlock(body: Uint8Array, wanted: Uint8Array, isBeginning: boolean): FoundInBlock {
  const reading = new Reading(unpackedZstd(body))
  const places: number[] = []
  const word = Buffer.alloc(MAX_WORD_BYTES)
  while (reading.at < reading.bytes.length) {
    const shared = reading.number()
    const more = reading.number()
    reading.bytes.copy(word, shared, reading.at, reading.at + more)
    reading.at += more
    const order = Buffer.compare(word.subarray(0, Math.min(shared + more, wanted.length)), wanted)
    const isIt = order === 0 && (isBeginning || shared + more === wanted.length)
    const documents = reading.number()
    let document = 0
    for (let count = 0; count < documents; count++) {
      document += reading.number()
      if (isIt) places.push(document)
    }
    if (order > 0 || (isIt && !isBeginning)) return { places, goesOn: false }
  }
  return { places, goesOn: true }
}

export function packDocuments(documents: readonly WordDocument[]): Uint8Array {
  const bytes = new Bytes()
  let last = 0
  for (const { id, run, spans } of documents) {
    bytes.signed(id - last)
    bytes.number(run)
    bytes.number(spans)
    last = id
  }
  return zstdCompressSync(bytes.taken(), FAST)
}

export function unpackDocuments(packed: Uint8Array): WordDocument[] {
  const reading = new Reading(unpackedZstd(packed))
  const documents: WordDocument[] = []
  for (let id = 0; reading.at < reading.bytes.length; ) {
    const step = reading.number()
    id += step % 2 === 0 ? step / 2 : -(step + 1) / 2
    documents.push({ id, run: reading.number(), spans: reading.number() })
  }
  return documents
}

class Reading {
  readonly bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  number(): number {
    let byte = this.bytes[this.at++]!
    let value = byte & 0x7f
    for (let scale = 128; byte > 127; scale *= 128) {
      byte = this.bytes[this.at++]!
      value += (byte & 0x7f) * scale
    }
    return value
  }
}

/** Bytes that become more. */
class Bytes {
  #bytes = Buffer.allocUnsafe(BLOCK_BYTES * 2)
  length = 0

  number(value: number): void {
    this.#room(10)
    let rest = value
    for (; rest > 127; rest = Math.floor(rest / 128)) this.#bytes[this.length++] = (rest % 128) | 128
    this.#bytes[this.length++] = rest
  }

  signed(value: number): void {
    this.number(value >= 0 ? value * 2 : -value * 2 - 1)
  }

  all(bytes: Uint8Array): void {
    this.#room(bytes.length)
    this.#bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  /** Until more are added. */
  taken(): Buffer {
    const taken = this.#bytes.subarray(0, this.length)
    this.length = 0
    return taken
  }

  #room(more: number): void {
    if (this.length + more <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe((this.length + more) * 2)
    larger.set(this.#bytes.subarray(0, this.length))
    this.#bytes = larger
  }
}
