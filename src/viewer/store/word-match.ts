/** Whether a span, or a text, holds every word of a query. */
import type { Chunk } from './chunk.ts'
import { mayHold } from './may-hold.ts'
import { SpanWords } from './span-words.ts'
import { type WordQuery, WordScanner } from './words.ts'

export class WordMatch {
  readonly #query: WordQuery
  readonly #words: SpanWords
  readonly #found: Uint8Array
  readonly #patterns: readonly RegExp[]
  #left = 0

  constructor(query: WordQuery) {
    this.#query = query
    this.#patterns = mayHold(query)
    this.#found = new Uint8Array(query.bytes.length)
    const scanner = new WordScanner((_, length) => this.#look(scanner.word, length))
    this.#words = new SpanWords(scanner)
  }

  /** False where it is in none of the spans; told several times as fast as by looking at each. */
  mayBeIn(chunk: Chunk): boolean {
    return chunk.mayHold(this.#patterns)
  }

  isIn(chunk: Chunk, index: number): boolean {
    this.#begin()
    chunk.scan(index, this.#words)
    return this.#left === 0
  }

  isInText(text: string): boolean {
    this.#begin()
    this.#words.scanText(text)
    return this.#left === 0
  }

  #begin(): void {
    this.#found.fill(0)
    this.#left = this.#found.length
  }

  #look(word: Uint8Array, length: number): void {
    const { bytes, isOpen } = this.#query
    for (let at = 0; at < bytes.length; at++) {
      const wanted = bytes[at]!
      const mayGoOn = isOpen && at === bytes.length - 1
      if (this.#found[at] === 1 || (mayGoOn ? length < wanted.length : length !== wanted.length)) continue
      if (!beginsWith(word, wanted)) continue
      this.#found[at] = 1
      this.#left--
    }
  }
}

function beginsWith(word: Uint8Array, wanted: Uint8Array): boolean {
  for (let at = 0; at < wanted.length; at++) if (word[at] !== wanted[at]) return false
  return true
}
