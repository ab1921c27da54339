/** Words of documents that came lately, in memory: which of them are in which. */
import { hashOf } from './words.ts'

/** Something that words are in: a chunk of spans, or a log, whose number is negative. */
export interface WordDocument {
  readonly id: number
  readonly run: number
  readonly spans: number
}

export class WordBuilder {
  readonly documents: WordDocument[] = []
  /** Bytes that were looked through. */
  bytes = 0
  #letters = new Uint8Array(1 << 16)
  #lettersEnd = 0
  // Of each word: where its letters are, its hash, and the last document that has it.
  #starts = new Uint32Array(1 << 12)
  #hashes = new Int32Array(1 << 12)
  #lasts = new Uint32Array(1 << 12)
  #count = 0
  /** Words by their hash: one more than their number, 0 for none. */
  #table = new Uint32Array(1 << 13)
  // Which word is in which document, in the order of documents.
  #pairWords = new Uint32Array(1 << 14)
  #pairDocuments = new Uint32Array(1 << 14)
  #pairs = 0

  get words(): number {
    return this.#count
  }

  begin(document: WordDocument): void {
    this.documents.push(document)
  }

  /** A word of the document that was begun last. */
  add(word: Uint8Array, hash: number, length: number): void {
    const number = this.#find(word, hash, length) ?? this.#insert(word, hash, length)
    const document = this.documents.length
    if (this.#lasts[number] === document) return
    this.#lasts[number] = document
    if (this.#pairs === this.#pairWords.length) {
      this.#pairWords = larger(this.#pairWords)
      this.#pairDocuments = larger(this.#pairDocuments)
    }
    this.#pairWords[this.#pairs] = number
    this.#pairDocuments[this.#pairs++] = document - 1
  }

  /** The documents with a word, or with a word that begins so, by their place in `documents`. */
  find(word: Uint8Array, isBeginning: boolean): number[] {
    if (!isBeginning) {
      const number = this.#find(word, hashOf(word, word.length), word.length)
      return number === undefined ? [] : this.#documentsOf((other) => other === number)
    }
    const wanted = new Uint8Array(this.#count)
    for (let number = 0; number < this.#count; number++) {
      const start = this.#starts[number]!
      if (this.#end(number) - start >= word.length && this.#isAt(start, word, word.length)) wanted[number] = 1
    }
    return this.#documentsOf((number) => wanted[number] === 1)
  }

  /** Each word with its documents, by their places, in the order of the words' bytes. */
  *sorted(): Generator<{ word: Uint8Array; documents: Uint32Array }> {
    const byWord = this.#pairsByWord()
    for (const number of this.#order()) {
      yield {
        word: this.#letters.subarray(this.#starts[number]!, this.#end(number)),
        documents: byWord(number),
      }
    }
  }

  #documentsOf(isWanted: (number: number) => boolean): number[] {
    const found: number[] = []
    for (let pair = 0; pair < this.#pairs; pair++) {
      const document = this.#pairDocuments[pair]!
      if (isWanted(this.#pairWords[pair]!) && found.at(-1) !== document) found.push(document)
    }
    return found
  }

  #find(word: Uint8Array, hash: number, length: number): number | undefined {
    const mask = this.#table.length - 1
    for (let slot = mixed(hash) & mask; ; slot = (slot + 1) & mask) {
      const number = this.#table[slot]! - 1
      if (number < 0) return undefined
      if (this.#hashes[number] !== hash) continue
      const start = this.#starts[number]!
      if (this.#end(number) - start === length && this.#isAt(start, word, length)) return number
    }
  }

  #insert(word: Uint8Array, hash: number, length: number): number {
    const number = this.#count++
    if (number === this.#starts.length) {
      this.#starts = larger(this.#starts)
      this.#lasts = larger(this.#lasts)
      this.#hashes = larger(this.#hashes)
    }
    while (this.#lettersEnd + length > this.#letters.length) this.#letters = larger(this.#letters)
    this.#starts[number] = this.#lettersEnd
    this.#hashes[number] = hash
    for (let at = 0; at < length; at++) this.#letters[this.#lettersEnd++] = word[at]!
    if (this.#count * 2 > this.#table.length) this.#rehash()
    else this.#place(number)
    return number
  }

  #rehash(): void {
    this.#table = new Uint32Array(this.#table.length * 2)
    for (let number = 0; number < this.#count; number++) this.#place(number)
  }

  #place(number: number): void {
    const mask = this.#table.length - 1
    let slot = mixed(this.#hashes[number]!) & mask
    while (this.#table[slot] !== 0) slot = (slot + 1) & mask
    this.#table[slot] = number + 1
  }

  #isAt(start: number, word: Uint8Array, length: number): boolean {
    for (let at = 0; at < length; at++) if (this.#letters[start + at] !== word[at]) return false
    return true
  }

  #end(number: number): number {
    return number + 1 < this.#count ? this.#starts[number + 1]! : this.#lettersEnd
  }

  /** Sorted by their first four bytes as numbers, which is quick, and then those that begin alike among themselves. */
  #order(): Uint32Array {
    const SCALE = 2 ** 21
    const keys = new Float64Array(this.#count)
    for (let number = 0; number < this.#count; number++)
      keys[number] = this.#beginning(number) * SCALE + number
    keys.sort()
    const order = Uint32Array.from(keys, (key) => key % SCALE)
    for (let from = 0; from < order.length; ) {
      const beginning = Math.floor(keys[from]! / SCALE)
      let to = from + 1
      while (to < order.length && Math.floor(keys[to]! / SCALE) === beginning) to++
      if (to - from > 1) order.subarray(from, to).sort((a, b) => this.#compare(a, b))
      from = to
    }
    return order
  }

  #beginning(number: number): number {
    const start = this.#starts[number]!
    const length = this.#end(number) - start
    let value = 0
    for (let at = 0; at < 4; at++) value = value * 256 + (at < length ? this.#letters[start + at]! : 0)
    return value
  }

  #compare(a: number, b: number): number {
    let at = this.#starts[a]!
    let other = this.#starts[b]!
    const end = this.#end(a)
    const otherEnd = this.#end(b)
    for (; at < end && other < otherEnd; at++, other++) {
      const difference = this.#letters[at]! - this.#letters[other]!
      if (difference !== 0) return difference
    }
    return end - at - (otherEnd - other)
  }

  #pairsByWord(): (number: number) => Uint32Array {
    const ends = new Uint32Array(this.#count + 1)
    for (let pair = 0; pair < this.#pairs; pair++) ends[this.#pairWords[pair]! + 1]!++
    for (let number = 0; number < this.#count; number++) ends[number + 1]! += ends[number]!
    const next = ends.slice()
    const documents = new Uint32Array(this.#pairs)
    for (let pair = 0; pair < this.#pairs; pair++)
      documents[next[this.#pairWords[pair]!]!++] = this.#pairDocuments[pair]!
    return (number) => documents.subarray(ends[number]!, ends[number + 1]!)
  }
}

/** So many words fit the keys by which they are sorted. */
export const MAX_WORDS = 2 ** 20

function mixed(hash: number): number {
  return (hash ^ (hash >>> 15)) >>> 0
}

function larger<T extends Uint8Array | Uint32Array | Int32Array>(array: T): T {
  const twice = new (array.constructor as new (length: number) => T)(array.length * 2)
  twice.set(array)
  return twice
}
