/** Where in a run the words of a search are: a span, and what stands around the word. */
import type { OtlpKeyValue, OtlpSpan } from '../../internal/otlp/types.ts'
import { NAMES } from '../model/attributes.ts'
import type { InTurns } from '../model/in-turns.ts'
import type { Snippet } from '../model/snippet.ts'
import { listOf } from '../otlp/plain.ts'
import { spanTexts } from './searchable-text.ts'
import type { SpanReader } from './span-reader.ts'
import type { WordSearch } from './word-search.ts'
import { foldedWord, MAX_WORD_BYTES, type WordQuery } from './words.ts'

/** A row of the list has room for some fifty letters: with more before it the word would be out of sight. */
const BEFORE_CHARS = 24
const AFTER_CHARS = 120
/** Spans of a run that are looked at for one in which the word was said. */
const MOST_SPANS = 6
/** Of JSON, so far from a word the beginning and the end of its text are looked for. */
const LOOKED_CHARS = 400

export class Snippets {
  readonly #spans: SpanReader
  readonly #search: WordSearch

  constructor(spans: SpanReader, search: WordSearch) {
    this.#spans = spans
    this.#search = search
  }

  /**
   * `undefined` where the words are in no span of the run that can be read: in a log, or cut off. What was said goes before
   * what a tool is described by: that is the same in each run of an agent.
   */
  *of(run: number, query: WordQuery): InTurns<Snippet | undefined> {
    let described: Snippet | undefined
    for (const found of yield* this.#search.firstIn(run, query, MOST_SPANS)) {
      const span = this.#spans.chunk(found.chunk)?.span(found.index)
      if (!span) continue
      const name = { spanId: span.spanId, name: String(span.name ?? '') }
      const [tools, said] = parted(listOf(span.attributes))
      const around = inTexts({ ...span, attributes: said }, query)
      if (around) return { ...name, ...around }
      const other = described ? undefined : inTexts({ ...span, attributes: tools }, query)
      if (other) described = { ...name, name: `${name.name}, tools offered`, ...other }
    }
    return described
  }
}

function parted(pairs: readonly OtlpKeyValue[]): [tools: OtlpKeyValue[], said: OtlpKeyValue[]] {
  const isTool = (pair: OtlpKeyValue) => NAMES.toolDefinitions.keys.includes(pair?.key ?? '')
  return [pairs.filter(isTool), pairs.filter((pair) => !isTool(pair))]
}

function inTexts(span: OtlpSpan, query: WordQuery) {
  for (const text of spanTexts(span)) {
    const around = textAround(text, query)
    if (around) return around
  }
  return undefined
}

type Around = Pick<WordQuery, 'words' | 'isOpen' | 'pieces'>

/** Around the longest of what was typed: it says most. */
export function textAround(
  text: string,
  query: Around,
): Pick<Snippet, 'before' | 'match' | 'after'> | undefined {
  const place = placeIn(text, query)
  if (!place) return undefined
  const { index, match } = place
  const end = index + match.length
  const [first, last] = /^\s*[[{]/.test(text) ? stringAround(text, index, end) : [0, text.length]
  const from = Math.max(first, index - BEFORE_CHARS)
  const to = Math.min(last, end + AFTER_CHARS)
  return {
    before: `${from > first ? '…' : ''}${readable(text.slice(from, index)).trimStart()}`,
    match,
    after: `${readable(text.slice(end, to)).trimEnd()}${to < last ? '…' : ''}`,
  }
}

function placeIn(
  text: string,
  { words, isOpen, pieces }: Around,
): { index: number; match: string } | undefined {
  const longestOf = (all: readonly string[]) =>
    all.reduce((best, word) => (word.length > best.length ? word : best), '')
  const piece = longestOf(pieces)
  if (piece !== '') return placeOf(text, piece)
  const longest = longestOf(words)
  const isCut = Buffer.byteLength(longest) > MAX_WORD_BYTES - 4
  const mayGoOn = isCut || (isOpen && words.at(-1) === longest)
  for (const { 0: token, index } of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    // A syllable of Hangul is up to three letters.
    if (token.length * 3 < longest.length) continue
    const folded = foldedWord(token)
    if (mayGoOn ? folded.startsWith(longest) : folded === longest) return { index, match: token }
  }
  return undefined
}

/** Of what has no spaces between its words: as it is written in the text, where its characters may be one for two. */
function placeOf(text: string, piece: string): { index: number; match: string } | undefined {
  for (const form of [piece, piece.normalize('NFC')]) {
    const index = text.indexOf(form)
    if (index >= 0) return { index, match: form }
  }
  return undefined
}

/** Of JSON, the text that holds it: brackets and keys around it say nothing. What looks like an end of it may cut it short. */
function stringAround(text: string, index: number, end: number): [first: number, last: number] {
  const from = Math.max(0, index - LOOKED_CHARS)
  const begun = [...text.slice(from, index).matchAll(/(?:":|[[,])\s*"/g)].at(-1)
  const ended = /"\s*(?:[,:]\s*["{[\d]|[}\]])/.exec(text.slice(end, end + LOOKED_CHARS))
  return [begun ? from + begun.index + begun[0].length : 0, ended ? end + ended.index : text.length]
}

/** On one line, without half of a character. */
function readable(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '').replace(/\s+/g, ' ')
}
