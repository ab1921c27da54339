/** Where in a run the words of a search are: a span, and what stands around the word. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { InTurns } from '../model/in-turns.ts'
import type { Snippet } from '../model/snippet.ts'
import { MAX_CHUNK_SPANS } from '../otlp/incoming.ts'
import { documentOf, placeOf } from './chunk.ts'
import { spanText } from './searchable-text.ts'
import type { SpanReader } from './span-reader.ts'

/** What was typed, as the index reads it. */
export interface SearchedWords {
  /** For FTS5. */
  match: string
  words: readonly string[]
  /** Whether the last word is the beginning of one. */
  isOpen: boolean
}

const BEFORE_CHARS = 40
const AFTER_CHARS = 120

export class Snippets {
  readonly #spans: SpanReader
  readonly #chunksOf: StatementSync
  readonly #firstIn: StatementSync

  constructor(db: DatabaseSync, spans: SpanReader) {
    this.#spans = spans
    this.#chunksOf = db.prepare('SELECT id FROM chunk WHERE run = ? ORDER BY id')
    this.#firstIn = db.prepare(
      'SELECT rowid AS document FROM text WHERE text MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT 1',
    )
  }

  /** `undefined` where the words are in no span of the run that can be read: in a log, or cut off. */
  *of(run: number, searched: SearchedWords): InTurns<Snippet | undefined> {
    for (const { id } of this.#chunksOf.all(run) as { id: number }[]) {
      yield
      const found = this.#firstIn.get(
        searched.match,
        documentOf(id, 0),
        documentOf(id, MAX_CHUNK_SPANS - 1),
      ) as { document: number } | undefined
      const snippet = found && this.#at(found.document, searched)
      if (snippet) return snippet
    }
    return undefined
  }

  #at(document: number, searched: SearchedWords): Snippet | undefined {
    const { chunk, index } = placeOf(document)
    const span = this.#spans.chunk(chunk)?.span(index)
    if (!span) return undefined
    const around = textAround(spanText(span), searched)
    return around && { spanId: span.spanId, name: String(span.name ?? ''), ...around }
  }
}

/** Around the longest of the words: it says most. */
export function textAround(
  text: string,
  { words, isOpen }: Pick<SearchedWords, 'words' | 'isOpen'>,
): Pick<Snippet, 'before' | 'match' | 'after'> | undefined {
  const longest = words.reduce((best, word) => (word.length > best.length ? word : best), '')
  const mayGoOn = isOpen && words.at(-1) === longest
  for (const { 0: token, index } of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    if (token.length < longest.length) continue
    const folded = token.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
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
