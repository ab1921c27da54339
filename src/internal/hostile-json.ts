import { undeceived } from './look-alikes.ts'

/** Deeper JSON than this comes from nobody who means well. */
const MAX_DEPTH = 64

/**
 * Parses JSON from outside.
 *
 * @throws Error in one line for bytes that are no UTF-8, whose text would say something else; for text that is no JSON, is nested too deeply, names an object's prototype, or has a key
 * twice: which of the two counts, readers do not agree on.
 */
export function parseHostileJson(given: string | Uint8Array): unknown {
  const text = typeof given === 'string' ? given : utf8(given)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error(`it is not JSON: ${undeceived(JSON.stringify(text.slice(0, 60)))}`)
  }
  assertHarmless(value)
  const twice = repeatedKey(text)
  if (twice !== undefined) throw new Error(`it has the key ${twice} twice in one object`)
  return value
}

/** By what browsers have, too: the viewer's page reads what was edited with this. */
function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Error('it is not UTF-8')
  }
}

/** The first key that an object of a text has twice, in quotes. The text is known to be JSON. */
export function repeatedKey(text: string): string | undefined {
  /** The keys of each object that is open; a list has none. */
  const open: (Set<string> | undefined)[] = []
  const tokens = /["[\]{}]/g
  for (let token = tokens.exec(text); token !== null; token = tokens.exec(text)) {
    const { 0: sign, index } = token
    if (sign === '{') open.push(new Set())
    else if (sign === '[') open.push(undefined)
    else if (sign !== '"') open.pop()
    else {
      tokens.lastIndex = endOfText(text, index)
      const keys = open.at(-1)
      if (keys === undefined || !isKey(text, tokens.lastIndex)) continue
      // The same key may be written in more than one way.
      const key = JSON.stringify(JSON.parse(text.slice(index, tokens.lastIndex)))
      if (keys.has(key)) return key
      keys.add(key)
    }
  }
  return undefined
}

/** Behind the quotes that end the text which begins at `start`. */
function endOfText(text: string, start: number): number {
  let at = start + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function isKey(text: string, end: number): boolean {
  let at = end
  while (/\s/.test(text[at] ?? '')) at++
  return text[at] === ':'
}

/** @throws Error in one line for a value that is nested too deeply or names an object's prototype. */
export function assertHarmless(value: unknown): void {
  const waiting: { item: object; depth: number }[] = []
  if (typeof value === 'object' && value !== null) waiting.push({ item: value, depth: 1 })
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { item, depth } = next
    if (depth > MAX_DEPTH) throw new Error(`it is nested deeper than ${MAX_DEPTH} levels`)
    for (const key of Object.keys(item)) {
      if (key === '__proto__') throw new Error('it has the key "__proto__"')
      const child: unknown = (item as Record<string, unknown>)[key]
      if (typeof child !== 'object' || child === null) continue
      if (key === 'constructor' && Object.hasOwn(child, 'prototype')) {
        throw new Error('it has the keys "constructor.prototype"')
      }
      waiting.push({ item: child, depth: depth + 1 })
    }
  }
}
