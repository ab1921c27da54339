/** Every word a person may search by. */

import type { OtlpAnyValue, OtlpKeyValue, OtlpLogRecord, OtlpSpan } from '../../internal/otlp/types.ts'
import { listOf } from '../otlp/plain.ts'
import { withoutNumbers } from './words.ts'

/** Of one span, at most this many characters can be found by searching; the rest is shown, not searched. */
const INDEXED_CHARS = 256 * 1024
const MAX_DEPTH = 64

/** A span's name, its ids, its texts, and those of its events. */
export function spanText(span: OtlpSpan): string {
  return spanTexts(span).join('\n')
}

/** The same, each by itself. */
export function spanTexts(span: OtlpSpan): string[] {
  const texts = new Texts([span.traceId, span.spanId])
  texts.add(String(span.name ?? ''))
  texts.add(String(span.status?.message ?? ''))
  texts.addPairs(span.attributes, 0)
  for (const event of listOf(span.events)) {
    texts.add(String(event.name ?? ''))
    texts.addPairs(event.attributes, 0)
  }
  return texts.all
}

export function logText(log: OtlpLogRecord): string {
  const texts = new Texts([String(log.eventName ?? '')])
  texts.addValue(log.body, 0)
  texts.addPairs(log.attributes, 0)
  return texts.all.join('\n')
}

class Texts {
  readonly all: string[]
  #left = INDEXED_CHARS

  constructor(texts: string[]) {
    this.all = texts
  }

  add(text: string): void {
    if (this.#left <= 0) return
    const part = text.length > this.#left ? text.slice(0, this.#left) : text
    this.all.push(part.includes('\\') && /^\s*[[{]/.test(part) ? withoutEscapes(part) : part)
    this.#left -= text.length
  }

  addPairs(pairs: OtlpKeyValue[] | undefined, depth: number): void {
    if (depth > MAX_DEPTH) return
    for (const pair of listOf(pairs)) this.addValue(pair?.value, depth)
  }

  addValue(value: OtlpAnyValue | undefined, depth: number): void {
    if (!value || depth > MAX_DEPTH) return
    if (typeof value.stringValue === 'string') this.add(value.stringValue)
    else if (value.intValue !== undefined && value.intValue !== null) this.add(String(value.intValue))
    else if (value.arrayValue)
      for (const item of listOf(value.arrayValue.values)) this.addValue(item, depth + 1)
    else if (value.kvlistValue) this.addPairs(value.kvlistValue.values, depth + 1)
  }
}

/** Of JSON: the word after a line break is not the letter of its escape and the word. */
function withoutEscapes(json: string): string {
  return withoutNumbers(json).replace(/\\(.)/g, (pair, char: string) =>
    'nrt'.includes(char) ? ' ' : char === '"' ? '"' : pair,
  )
}
