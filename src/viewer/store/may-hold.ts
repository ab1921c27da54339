/** Which packed spans may hold the words of a query, told from their bytes: several times as fast as finding their words. */
import type { WordQuery } from './words.ts'

/** What the index takes for an unaccented letter: accented Latin ones, and signs such as that of the Kelvin. */
const ACCENTED = '[\\xc3-\\xc9][\\x80-\\xbf]|\\xe1[\\xb8-\\xbb][\\x80-\\xbf]|\\xe2\\x84[\\x80-\\xbf]'
/** In JSON, whatever it is. */
const NUMBERED = '\\\\+u[0-9a-fA-F]{4}'
/** Accents by themselves, which it leaves out. */
const ACCENTS = `(?:[\\xcc\\xcd][\\x80-\\xbf]|\\xe1[\\xaa\\xab\\xb7][\\x80-\\xbf]|\\xe2\\x83[\\x80-\\xbf]|\\xef\\xb8[\\x80-\\xbf]|${NUMBERED})*`

/**
 * Each matches, in the bytes of spans read as Latin-1, wherever one of the words may be. None for numbers, which are kept as
 * numbers, nor for other alphabets, which have their own rules for upper and lower case.
 */
export function mayHold({ words }: WordQuery): RegExp[] {
  return words.filter((word) => /^[a-z0-9]*[a-z][a-z0-9]*$/.test(word)).map(patternOf)
}

function patternOf(word: string): RegExp {
  const letters = [...word].map((letter) =>
    /\d/.test(letter)
      ? `(?:${letter}|${NUMBERED})`
      : `(?:[${letter}${letter.toUpperCase()}]|${ACCENTED}|${NUMBERED})`,
  )
  const asText = letters.join(ACCENTS)
  // Ids are kept as bytes, and found by their hexadecimal digits.
  return new RegExp(/[g-z]/.test(word) ? asText : `${asText}|${idOf(word)}`)
}

/** The bytes of an id that begins with these digits. */
function idOf(digits: string): string {
  const bytes = [...digits.matchAll(/../g)].map(([pair]) => `\\x${pair}`)
  const half = digits.length % 2 === 1 ? digits.at(-1)! : undefined
  return `${bytes.join('')}${half ? `[\\x${half}0-\\x${half}f]` : ''}`
}
