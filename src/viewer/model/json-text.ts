/** JSON text judged before it is parsed: what is too deep or too much to walk through never becomes a value. */
import type { InTurns } from './in-turns.ts'

/** Deeper than any message of a model or a tool; recursion that deep is safe everywhere. */
const MAX_DEPTH = 200
/** Of lists, objects and what is in them. A megabyte of an agent's messages has some ten thousand. */
const MAX_VALUES = 250_000
/** Of a text that is JSON in its turn: a longer one is shown as the text it is. */
const MAX_PARSED_CHARS = 12_000_000
const CHARS_AT_ONCE = 1_000_000

const WHITE_SPACE = /[ \n\r\t]*/y
const SPACE = 32
const QUOTE = 34
const COMMA = 44
const OPEN_LIST = 91
const BACKSLASH = 92
const CLOSE_LIST = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/** What the text says, or `undefined` where it is no JSON or more of it than anybody reads. */
export function parseJson(text: string): unknown {
  if (text.length > MAX_PARSED_CHARS) return undefined
  try {
    const scan = new JsonScan(text, 0)
    while (!scan.tooMuch && !scan.goOn(CHARS_AT_ONCE)) {}
    return scan.tooMuch ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Looks for the end of a value. Only brackets and texts are looked at: whether it is JSON, `JSON.parse` says. */
class JsonScan {
  readonly #text: string
  #depth = 0
  #values = 1
  /** Where it is, or after the value's last character. */
  at: number
  /** Why nobody should parse it; empty when nothing speaks against it. */
  tooMuch = ''

  constructor(text: string, start: number) {
    this.#text = text
    this.at = start
  }

  /**
   * Whether the end is found. Looks at so many characters at most, and at the text that is there then.
   *
   * @throws SyntaxError when the text ends before the value does.
   */
  goOn(chars: number): boolean {
    const text = this.#text
    const stop = Math.min(text.length, this.at + chars)
    let depth = this.#depth
    let at = this.at
    let isFound = false
    for (; at < stop && !isFound; at++) {
      const char = text.charCodeAt(at)
      if (char === QUOTE) at = endOfText(text, at)
      else if (char === OPEN_OBJECT || char === OPEN_LIST) {
        this.#values++
        if (++depth > MAX_DEPTH) this.tooMuch ||= `Nested too deeply: more than ${MAX_DEPTH} levels.`
      } else if (char === COMMA) {
        if (depth === 0) return this.#found(at)
        this.#values++
      } else if (char === CLOSE_OBJECT || char === CLOSE_LIST) {
        if (depth === 0) return this.#found(at)
        depth--
      } else continue
      isFound = depth === 0
    }
    this.#depth = depth
    if (at >= text.length && depth > 0) throw new SyntaxError('it ends inside a list or an object')
    if (isFound || at >= text.length) return this.#found(at)
    this.at = at
    this.#judge()
    return false
  }

  #found(at: number): true {
    this.at = at
    this.#judge()
    return true
  }

  #judge(): void {
    if (this.#values > MAX_VALUES) this.tooMuch ||= `Too much: more than ${MAX_VALUES} values in one.`
  }
}

/** Where the text that begins at `start` has its closing quote. */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at - 1
    while (text.charCodeAt(before) === BACKSLASH) before--
    // An odd number of backslashes makes the quote part of the text.
    if ((at - before) % 2 === 1) return at
  }
  throw new SyntaxError('it ends inside a text')
}

/** Where a value is in its text. */
export interface JsonExtent {
  start: number
  /** After its last character. */
  end: number
  /** Why nobody should parse it; empty when nothing speaks against it. */
  tooMuch: string
}

/** Goes through a JSON text without parsing it. */
export class JsonCursor {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Calls `field` for each key of the object that is next; it passes over the value. What is no object has none. */
  *object(field: (key: string) => InTurns<unknown>): InTurns<void> {
    if (!this.#enter('{')) return void (yield* this.value())
    while (this.#hasMore('}')) {
      yield
      if (this.#text.charCodeAt(this.#next()) !== QUOTE) throw this.#unexpected()
      const end = endOfText(this.#text, this.#at) + 1
      const key = JSON.parse(this.#text.slice(this.#at, end)) as string
      this.#at = end
      if (!this.#enter(':')) throw this.#unexpected()
      yield* field(key)
    }
  }

  /** Calls `item` for each item of the list that is next; it passes over it. Says whether it is a list. */
  *list(item: () => InTurns<unknown>): InTurns<boolean> {
    if (!this.#enter('[')) {
      yield* this.value()
      return false
    }
    while (this.#hasMore(']')) {
      yield
      yield* item()
    }
    return true
  }

  /** Passes over the value that is next. */
  *value(): InTurns<JsonExtent> {
    const start = this.#next()
    const scan = new JsonScan(this.#text, start)
    while (!scan.goOn(CHARS_AT_ONCE)) yield
    if (scan.at === start) throw this.#unexpected()
    this.#at = scan.at
    return { start, end: scan.at, tooMuch: scan.tooMuch }
  }

  /** @throws SyntaxError when something is left. */
  end(): void {
    if (this.#next() < this.#text.length) throw this.#unexpected()
  }

  #enter(char: string): boolean {
    if (this.#text[this.#next()] !== char) return false
    this.#at++
    return true
  }

  /** Passes over the comma before the next one, or over the bracket behind the last one. */
  #hasMore(close: string): boolean {
    if (this.#enter(close)) return false
    this.#enter(',')
    return true
  }

  /** Passes over white space. */
  #next(): number {
    if (this.#text.charCodeAt(this.#at) > SPACE) return this.#at
    WHITE_SPACE.lastIndex = this.#at
    WHITE_SPACE.test(this.#text)
    this.#at = WHITE_SPACE.lastIndex
    return this.#at
  }

  #unexpected(): SyntaxError {
    const found = this.#text.slice(this.#at, this.#at + 20)
    return new SyntaxError(found ? `unexpected ${JSON.stringify(found)} at ${this.#at}` : 'it ends early')
  }
}
