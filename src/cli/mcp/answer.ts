/** Answers that fit: entries as far as there is room, and a cursor for the rest. */

import { createHash } from 'node:crypto'
import { jsonIn } from '../../internal/json.ts'
import { asList } from '../../wire/reading.ts'
import { UsageError } from '../failure.ts'

/** What was asked, as far as it decides which part is answered. */
export interface Asked {
  /** The question without its cursor: a cursor is good for this one only. */
  readonly of: string
  readonly cursor: string | undefined
  readonly maxChars: number
}

export interface Answer {
  readonly text: string
}

/** A part of a longer list. */
export interface Part {
  /** From `at` on; as many as could be had at once. */
  readonly entries: readonly unknown[]
  readonly at: number
  readonly total: number
  /** Put into the cursor, and given back with it. */
  readonly kept?: string | undefined
}

export interface Place {
  readonly at: number
  readonly kept?: string
}

/** Where to go on. @throws UsageError for what is no cursor of this question. */
export function placeOf({ cursor, of }: Asked): Place {
  if (cursor === undefined) return { at: 0 }
  const [at, kept, mark] = asList(jsonIn(Buffer.from(cursor, 'base64url').toString()))
  if (mark !== markOf(of) || !Number.isSafeInteger(at) || (at as number) < 0) {
    throw new UsageError(
      `Expected \`cursor\` to be the nextCursor of an answer to the same arguments, got \`${cursor.slice(0, 100)}\`. Leave it out to begin anew.`,
    )
  }
  return { at: at as number, ...(typeof kept === 'string' && { kept }) }
}

function cursorTo({ of }: Asked, { at, kept }: Place): string {
  return Buffer.from(JSON.stringify([at, kept ?? null, markOf(of)])).toString('base64url')
}

function markOf(question: string): string {
  return createHash('sha256').update(question).digest('base64url').slice(0, 8)
}

/** What the cursor and the fields around the entries take. */
const FRAME_CHARS = 300

/**
 * `head`, and below `name` the entries that fit, a line each; at least one of them, itself cut where it has to be. Beyond
 * them it says how many are left, and the cursor.
 */
export function listAnswer(asked: Asked, head: object, name: string, part: Part): Answer {
  const start = JSON.stringify(head).slice(1, -1)
  let room = asked.maxChars - start.length - name.length - FRAME_CHARS
  const lines: string[] = []
  for (const entry of part.entries) {
    const line = JSON.stringify(entry)
    if (line.length > room && lines.length > 0) break
    lines.push(line.length > room ? JSON.stringify(cutEntry(line, room)) : line)
    room -= line.length + 2
  }
  const at = part.at + lines.length
  const left = Math.max(0, part.total - at)
  const end = left > 0 ? { left, nextCursor: cursorTo(asked, { at, ...keptOf(part) }) } : {}
  const list = `${JSON.stringify(name)}:[${lines.length > 0 ? `\n${lines.join(',\n')}\n` : ''}]`
  return { text: `{${[start, list, JSON.stringify(end).slice(1, -1)].filter(Boolean).join(',')}}` }
}

function keptOf({ kept }: Part): { kept?: string } {
  return kept === undefined ? {} : { kept }
}

/** As text: what of an entry fits is no JSON. Quoted once more it may grow to twice as much. */
function cutEntry(line: string, room: number): object {
  const chars = Math.max(100, Math.floor(room / 2) - 100)
  return { cut: line.slice(0, chars), leftOutChars: line.length - chars, whole: 'ask with a larger maxChars' }
}

/** Lines of text, as far as they fit; at the end how to have the others. */
export function linesAnswer(asked: Asked, head: readonly string[], lines: readonly string[]): Answer {
  const { at } = placeOf(asked)
  const shown = at === 0 ? [...head] : []
  let room = asked.maxChars - shown.reduce((sum, line) => sum + line.length + 1, 0) - FRAME_CHARS
  let next = at
  for (; next < lines.length; next++) {
    const line = lines[next]!
    if (line.length > room && next > at) break
    shown.push(line.length > room ? `${line.slice(0, Math.max(100, room))}… (cut)` : line)
    room -= line.length + 1
  }
  if (next < lines.length)
    shown.push('', `${lines.length - next} more; nextCursor: ${cursorTo(asked, { at: next })}`)
  return { text: shown.join('\n') }
}

/** A text from where the cursor is on, as far as it fits; at the end how to have the rest. */
export function textAnswer(asked: Asked, whole: string): Answer {
  const { at } = placeOf(asked)
  const to = at + Math.max(100, asked.maxChars - FRAME_CHARS)
  // A character is not cut in two.
  const end = /[\uD800-\uDBFF]/.test(whole[to - 1] ?? '') && to < whole.length ? to - 1 : to
  const left = whole.length - end
  const rest = left > 0 ? `\n\n${left} more characters; nextCursor: ${cursorTo(asked, { at: end })}` : ''
  return { text: whole.slice(at, end) + rest }
}

/** With every text in it at most so long, and said by how much it was longer. */
export function shortened(value: unknown, textChars: number): unknown {
  if (typeof value === 'string') {
    const left = value.length - textChars
    return left > 0 ? `${value.slice(0, textChars)}… (${left} more characters)` : value
  }
  if (Array.isArray(value)) return value.map((one) => shortened(one, textChars))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shortened(one, textChars)]))
}
