import type { InTurns } from '../model/in-turns.ts'

/** Of a list, so many are written together. */
const AT_ONCE = 32
/** Shorter lists, and objects, are looked into for long ones; so deep. */
const FEW = 4
const MAX_DEPTH = 8
const PIECE_CHARS = 128 * 1024

/** `JSON.stringify(value)`, giving way to others; `change` is applied to every piece of it. */
export function* writingJson(
  value: unknown,
  change: (json: string) => string = (json) => json,
): InTurns<Buffer> {
  const pieces: Buffer[] = []
  let text = ''
  for (const part of partsOf(value, 0)) {
    text += part
    if (text.length < PIECE_CHARS) continue
    pieces.push(Buffer.from(change(text)))
    text = ''
    yield
  }
  pieces.push(Buffer.from(change(text)))
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}

function* partsOf(value: unknown, depth: number): Generator<string> {
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH)
    yield JSON.stringify(value) ?? 'null'
  else if (Array.isArray(value)) yield* listParts(value, depth)
  else {
    let before = '{'
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue
      yield `${before}${JSON.stringify(key)}:`
      yield* partsOf(item, depth + 1)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  }
}

function* listParts(list: readonly unknown[], depth: number): Generator<string> {
  yield '['
  const atOnce = list.length > FEW ? AT_ONCE : 1
  for (let from = 0; from < list.length; from += atOnce) {
    if (from > 0) yield ','
    if (list.length > FEW) yield JSON.stringify(list.slice(from, from + AT_ONCE)).slice(1, -1)
    else yield* partsOf(list[from], depth + 1)
  }
  yield ']'
}
