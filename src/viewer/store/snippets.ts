/** Where in a run the words of a search are: a span, and what stands around the word. */
import type { InTurns } from '../model/in-turns.ts'
import type { Snippet } from '../model/snippet.ts'
import { spanText } from './searchable-text.ts'
import type { SpanReader } from './span-reader.ts'
import type { WordSearch } from './word-search.ts'
import { foldedWord, MAX_WORD_BYTES, type WordQuery } from './words.ts'

const BEFORE_CHARS = 40
const AFTER_CHARS = 120

export class Snippets {
  readonly #spans: SpanReader
  readonly #search: WordSearch

  constructor(spans: SpanReader, search: WordSearch) {
    this.#spans = spans
    this.#search = search
  }

  /** `undefined` where the words are in no span of the run that can be read: in a log, or cut off. */
  *of(run: number, query: WordQuery): InTurns<Snippet | undefined> {
    const found = yield* this.#search.firstIn(run, query)
    const span = found && this.#spans.chunk(found.chunk)?.span(found.index)
    if (!span) return undefined
    const around = textAround(spanText(span), query)
    return around && { spanId: span.spanId, name: String(span.name ?? ''), ...around }
  }
}

/** Around the longest of the words: it says most. */
export function textAround(
  text: string,
  { words, isOpen }: Pick<WordQuery, 'words' | 'isOpen'>,
): Pick<Snippet, 'before' | 'match' | 'after'> | undefined {
  const longest = words.reduce((best, word) => (word.length > best.length ? word : best), '')
  const isCut = Buffer.byteLength(longest) > MAX_WORD_BYTES - 4
  const mayGoOn = isCut || (isOpen && words.at(-1) === longest)
  for (const { 0: token, index } of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    // A syllable of Hangul is up to three letters.
    if (token.length * 3 < longest.length) continue
    const folded = foldedWord(token)
    if (mayGoOn ? !folded.startsWith(longest) : folded !== longest) continue
    const end = index + token.length
    const before = readable(text.slice(Math.max(0, index - BEFORE_CHARS), index))
    const after = readable(text.slice(end, end + AFTER_CHARS))
    return {
      before: `${index > BEFORE_CHARS ? '…' : ''}${before.trimStart()}`,
      match: token,
      after: `${after.trimEnd()}${end + AFTER_CHARS < text.length ? '…' : ''}`,
    }
  }
  return undefined
}

/** On one line, without half of a character. */
function readable(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '').replace(/\s+/g, ' ')
}
