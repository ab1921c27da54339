import { shape } from './expect.ts'

const isGlob = (value: unknown) => typeof value === 'string' && value !== ''
const isList = (value: unknown): value is unknown[] => Array.isArray(value) && value.every(isGlob)

export const GLOBS = shape('globs', (value) => isGlob(value) || (isList(value) && value.length > 0))
export const GLOB_LIST = shape('a list of tool names or globs', isList)

/**
 * Whether a glob of `*` (any run of characters) and `?` (one character) matches the whole text. Runs in
 * O(pattern x text) at worst: no pattern can stall the process.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let p = 0
  let t = 0
  let star = -1
  let mark = 0
  while (t < text.length) {
    if (p < pattern.length && pattern[p] === '*') {
      star = p++
      mark = t
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++
      t++
    } else if (star >= 0) {
      p = star + 1
      t = ++mark
    } else {
      return false
    }
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}
