/** Whether a span, or a text, holds every word of a query. */
import type { Chunk } from './chunk.ts'
import { mayHold } from './may-hold.ts'
import { SpanWords } from './span-words.ts'
import { gramsOf, type WordQuery, WordScanner } from './words.ts'

export class WordMatch {
  readonly #words: SpanWords
  readonly #patterns: readonly RegExp[]
  /** Words between spaces, and pieces without them. */
  readonly #wanted: readonly { bytes: Buffer; mayGoOn: boolean }[]
  readonly #pieces: readonly string[]
  readonly #found: Uint8Array
  readonly #foundPieces: Uint8Array
  #left = 0

  constructor(query: WordQuery) {
    const { bytes, isOpen, pieces, words } = query
    const grams = new Set(pieces.flatMap((piece) => gramsOf(piece, false)))
    this.#patterns = mayHold(query)
    this.#wanted = bytes
      .map((word, at) => ({ bytes: word, mayGoOn: isOpen && at === bytes.length - 1 }))
      .filter((_, at) => !grams.has(words[at]!))
    this.#pieces = pieces
    this.#found = new Uint8Array(this.#wanted.length)
    this.#foundPieces = new Uint8Array(pieces.length)
    const scanner = new WordScanner(
      (_, length) => this.#look(scanner.word, length),
      (piece) => this.#lookIn(piece),
    )
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
    this.#foundPieces.fill(0)
    this.#left = this.#found.length + this.#foundPieces.length
  }

  #look(word: Uint8Array, length: number): void {
    for (const [at, { bytes, mayGoOn }] of this.#wanted.entries()) {
      if (this.#found[at] === 1 || (mayGoOn ? length < bytes.length : length !== bytes.length)) continue
      if (!beginsWith(word, bytes)) continue
      this.#found[at] = 1
      this.#left--
    }
  }

  #lookIn(piece: string): void {
    for (const [at, wanted] of this.#pieces.entries()) {
      if (this.#foundPieces[at] === 1 || !piece.includes(wanted)) continue
      this.#foundPieces[at] = 1
      this.#left--
    }
  }
}

function beginsWith(word: Uint8Array, wanted: Uint8Array): boolean {
  for (let at = 0; at < wanted.length; at++) if (word[at] !== wanted[at]) return false
  return true
}
