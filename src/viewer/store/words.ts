/**
 * Words as the index knows them: letters and digits, lower case, Latin and Greek ones without their accents. Scripts that put no
 * space between words: each character, and each two that stand side by side.
 */

/** Of longer words, what comes first counts. In bytes of UTF-8. */
export const MAX_WORD_BYTES = 64

/** Of each byte: 0 between words, 1 of a character that is not ASCII, otherwise the letter or digit, lower case. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte > 127) return 1
  const char = String.fromCharCode(byte)
  return /[A-Za-z0-9]/.test(char) ? char.toLowerCase().charCodeAt(0) : 0
})
const BACKSLASH = 0x5c
const LETTER_U = 0x75
/** `n`, `r`, `t` and `"` after a backslash in JSON stand between words; so does a backslash. */
const ESCAPED = new Set(Buffer.from('nrt"\\'))
/** A character by its number, as Python writes all that is not ASCII, and Go `<`. Of JSON inside of JSON, too. */
const NUMBERED = /\\+u([0-9a-f]{4})/gi
const RUNS = /[\p{L}\p{N}\p{M}\p{Co}]+/gu
/** Scripts without spaces between words, and what several of them have. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Bopo}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}\p{sc=Tibt}\u3000-\u303f\u3099\u309a\u30fc\uff70\uff9e\uff9f]+/u
const PIECES = new RegExp(`(${UNSPACED.source})`, 'u')
/** Marks by themselves that accent a letter. Those that are vowels in other scripts stay. */
const ACCENTS = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+/g
const SEED = 0x811c9dc5
const PRIME = 0x01000193

/** One run of letters and digits as the index keeps it. */
export function foldedWord(run: string): string {
  return run.toLowerCase().normalize('NFD').replace(ACCENTS, '')
}

/** The pieces of a folded run: what has words without spaces between them, and what has not. */
function piecesOf(folded: string): { piece: string; isUnspaced: boolean }[] {
  if (!UNSPACED.test(folded)) return [{ piece: folded, isUnspaced: false }]
  // What was split by stands in every second place.
  return folded.split(PIECES).map((piece, at) => ({ piece, isUnspaced: at % 2 === 1 }))
}

/** Of a piece without spaces: what to look it up by, which is all of what is kept of it where `isKept`. */
export function gramsOf(piece: string, isKept: boolean): string[] {
  const chars = [...piece]
  const pairs = chars.slice(1).map((char, at) => chars[at]! + char)
  return isKept || pairs.length === 0 ? [...chars, ...pairs] : pairs
}

/** Of JSON: characters that are written by their numbers, as themselves. A backslash is none of them, as others go by it. */
export function withoutNumbers(json: string): string {
  return json.replace(NUMBERED, (_all, number: string) => {
    const code = Number.parseInt(number, 16)
    return code === BACKSLASH ? ' ' : String.fromCharCode(code)
  })
}

/** Finds the words in bytes of UTF-8, without making text of them where they are ASCII. */
export class WordScanner {
  /** The word that was found last, UTF-8: its first `length` bytes. Overwritten by the next one. */
  readonly word: Uint8Array = new Uint8Array(MAX_WORD_BYTES)
  readonly #found: (hash: number, length: number) => void
  readonly #unspaced: (piece: string) => void

  /** @param unspaced is told of what has no spaces between its words, in place of `found`. */
  constructor(found: (hash: number, length: number) => void, unspaced?: (piece: string) => void) {
    this.#found = found
    this.#unspaced =
      unspaced ??
      ((piece) => {
        for (const gram of gramsOf(piece, true)) this.#whole(gram)
      })
  }

  /** `isJson`: what its escapes stand for is between words, and not the letter of an escape. */
  scan(bytes: Buffer, start: number, end: number, isJson = false): void {
    const { word } = this
    let hash = SEED
    let length = 0
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!
      const folded = FOLDED[byte]!
      if (folded > 1) {
        if (length < MAX_WORD_BYTES) {
          word[length] = folded
          hash = Math.imul(hash ^ folded, PRIME)
        }
        length++
        continue
      }
      if (folded === 1) {
        const stop = endOfRun(bytes, at, end)
        if (isJson && isNumbered(bytes, stop, end)) return this.#scanNumbered(bytes, at - length, end)
        this.#scanOthers(bytes, at - length, stop)
        at = stop - 1
        hash = SEED
        length = 0
        continue
      }
      if (isJson && byte === BACKSLASH && isNumbered(bytes, at, end))
        return this.#scanNumbered(bytes, at - length, end)
      if (length > 0) {
        this.#found(hash, length < MAX_WORD_BYTES ? length : MAX_WORD_BYTES)
        hash = SEED
        length = 0
      }
      if (isJson && byte === BACKSLASH && ESCAPED.has(bytes[at + 1]!)) at++
    }
    if (length > 0) this.#found(hash, length < MAX_WORD_BYTES ? length : MAX_WORD_BYTES)
  }

  /** An id, as it is shown: in hexadecimal. */
  hex(bytes: Buffer, start: number, end: number): void {
    const stop = Math.min(end, start + MAX_WORD_BYTES / 2)
    let hash = SEED
    let length = 0
    for (let at = start; at < stop; at++) {
      const byte = bytes[at]!
      const high = HEX[byte >> 4]!
      const low = HEX[byte & 15]!
      this.word[length++] = high
      this.word[length++] = low
      hash = Math.imul(Math.imul(hash ^ high, PRIME) ^ low, PRIME)
    }
    if (length > 0) this.#found(hash, length)
  }

  /** A whole number that is not negative, as its digits. */
  number(value: number): void {
    let length = 1
    for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) length++
    let rest = value
    for (let at = length - 1; at >= 0; at--) {
      this.word[at] = HEX[rest % 10]!
      rest = Math.floor(rest / 10)
    }
    this.#found(hashOf(this.word, length), length)
  }

  text(text: string): void {
    const bytes = Buffer.from(text)
    this.scan(bytes, 0, bytes.length)
  }

  /** The rest of a text in which characters are written by their numbers. */
  #scanNumbered(bytes: Buffer, start: number, end: number): void {
    const rest = Buffer.from(withoutNumbers(bytes.toString('utf8', start, end)))
    this.scan(rest, 0, rest.length, true)
  }

  /** What stands between two ASCII characters that are between words. */
  #scanOthers(bytes: Buffer, start: number, stop: number): void {
    for (const [run] of bytes.toString('utf8', start, stop).matchAll(RUNS)) {
      for (const { piece, isUnspaced } of piecesOf(foldedWord(run))) {
        if (isUnspaced) this.#unspaced(piece)
        else this.#whole(piece)
      }
    }
  }

  #whole(word: string): void {
    const { written } = ENCODER.encodeInto(word.slice(0, MAX_WORD_BYTES), this.word)
    if (written > 0) this.#found(hashOf(this.word, written), written)
  }
}

/** Up to the next ASCII character that is between words. */
function endOfRun(bytes: Buffer, from: number, end: number): number {
  let stop = from
  while (stop < end && FOLDED[bytes[stop]!] !== 0) stop++
  return stop
}

/** Whether there is what `NUMBERED` finds. */
function isNumbered(bytes: Buffer, start: number, end: number): boolean {
  let at = start
  while (bytes[at] === BACKSLASH) at++
  if (at === start || bytes[at] !== LETTER_U || at + 5 > end) return false
  for (let digit = at + 1; digit < at + 5; digit++) if (!HEX_DIGITS.has(bytes[digit]!)) return false
  return true
}

const ENCODER = new TextEncoder()
const HEX = Buffer.from('0123456789abcdef')
const HEX_DIGITS = new Set(Buffer.from('0123456789abcdefABCDEF'))

export function hashOf(word: Uint8Array, length: number): number {
  let hash = SEED
  for (let at = 0; at < length; at++) hash = Math.imul(hash ^ word[at]!, PRIME)
  return hash
}

/** What was typed, as words. */
export interface WordQuery {
  /** What is looked for, each word once, as text. */
  readonly words: readonly string[]
  /** The same, as the index keeps them. */
  readonly bytes: readonly Buffer[]
  /** Whether the last word is the beginning of one. */
  readonly isOpen: boolean
  /** What has no spaces between its words, as it was typed: those of `words` that are its characters are to stand in this order. */
  readonly pieces: readonly string[]
}

/** `undefined` when there is no word in `typed`. Every word must occur, the last one may go on. */
export function wordQuery(typed: string): WordQuery | undefined {
  const words: string[] = []
  const pieces: string[] = []
  const scanner = new WordScanner(
    (_, length) => words.push(Buffer.from(scanner.word.subarray(0, length)).toString()),
    (piece) => {
      pieces.push(piece)
      words.push(...gramsOf(piece, false))
    },
  )
  scanner.text(typed)
  if (words.length === 0) return undefined
  const isOpen = /[\p{L}\p{M}\p{N}\p{Co}]$/u.test(typed)
  // The last one stays the last: it may go on.
  const distinct = [...new Set(words.reverse())].reverse()
  return {
    words: distinct,
    bytes: distinct.map((word) => Buffer.from(word)),
    isOpen,
    pieces: [...new Set(pieces)],
  }
}
