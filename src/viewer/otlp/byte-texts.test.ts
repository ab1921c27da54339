import { expect, it } from 'vitest'
import { KnownTexts, RecentTexts, viewOf } from './byte-texts.ts'

/** Of each length, one text, and for each of its places one that has another letter there. */
const TEXTS = Array.from({ length: 60 }, (_, length) => 'a'.repeat(length)).flatMap((text) => [
  text,
  ...Array.from(text, (_, at) => `${text.slice(0, at)}b${text.slice(at + 1)}`),
])

it('texts that differ in one letter, wherever it is, are told apart', () => {
  const known = new KnownTexts(TEXTS.map((text) => [text, text]))
  const recent = new RecentTexts()
  for (const text of [...TEXTS, ...TEXTS.toReversed()]) {
    const bytes = Buffer.from(`x${text}y`)
    const view = viewOf(bytes)
    expect(known.get(bytes, view, 1, bytes.length - 1)).toBe(text)
    expect(recent.get(bytes, view, 1, bytes.length - 1)).toBe(text)
  }
})
