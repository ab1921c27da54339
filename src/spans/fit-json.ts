import { bytesAtLeast, fits, isModest, jsonWithin, namesOf, withNamesKept } from '../internal/json-within.ts'

/** A JSON text within its budget, and how much of the value it does not hold. */
export interface FittedJson {
  readonly text: string
  readonly cutBytes: number
}

/** Below this a cut string says nothing any more. */
const SHORTEST_STRING = 32
/** What a string may hold, by what a list or an object may: they shrink together, and a budget is met by all. */
const BYTES_PER_ITEM = 16
const FEWEST_ITEMS = 4
/** Of a list, so many are looked at to tell what its items are. */
const COMPARED_ITEMS = 1_000

/**
 * JSON of `value` in at most `maxBytes` UTF-8 bytes, always valid. Long strings, lists and objects are shortened; what
 * was cut is said in the text itself. Of what is far too much no more is looked at than is needed to say so.
 *
 * With a `marker`, which builds the item that stands for what the list lost, `value` is a conversation: it loses its
 * oldest items first, except its first one.
 */
export function fitJson(value: unknown, maxBytes: number, marker?: (cut: string) => unknown): FittedJson {
  return withNamesKept(() => fitted(value, maxBytes, marker))
}

function fitted(value: unknown, maxBytes: number, marker?: (cut: string) => unknown): FittedJson {
  const modest = isModest(value) ? stringify(value) : undefined
  const whole = modest === undefined ? jsonWithin(value, maxBytes) : modest
  if (whole !== undefined && fits(whole, maxBytes)) return { text: whole, cutBytes: 0 }
  const bytes = whole === undefined ? Math.max(bytesAtLeast(value), maxBytes + 1) : byteLength(whole)
  const text =
    (Array.isArray(value) && marker !== undefined ? dropOldest(value, maxBytes, bytes, marker) : undefined) ??
    shorten(value, maxBytes, marker !== undefined) ??
    nothingOf(value, `${whole === undefined ? 'over ' : ''}${bytes} bytes did not fit into ${maxBytes}`)
  return { text, cutBytes: Math.max(bytes - byteLength(text), 1) }
}

/** At most `maxBytes` UTF-8 bytes of a text, never cut inside a character, with a note of what is missing. */
export function fitText(text: string, maxBytes: number): { text: string; cutBytes: number } {
  if (fits(text, maxBytes)) return { text, cutBytes: 0 }
  const bytes = byteLength(text)
  const note = `… [${bytes - maxBytes} bytes cut]`
  const kept = headBytes(text, Math.max(maxBytes - byteLength(note), 0))
  return { text: kept + note, cutBytes: bytes - byteLength(kept) }
}

/** Of the first item (the system prompt), the last one (what the model was asked now), and what fits before it. */
function dropOldest(
  list: readonly unknown[],
  maxBytes: number,
  bytes: number,
  marker: (cut: string) => unknown,
): string | undefined {
  if (list.length < 3) return undefined
  const spare = 200
  const first = jsonWithin(list[0], maxBytes)
  if (first === undefined) return undefined
  let left = maxBytes - spare - byteLength(first) - 2
  const kept: string[] = []
  for (let i = list.length - 1; i > 0; i--) {
    const text = jsonWithin(list[i], Math.max(left, 0))
    if (text === undefined) break
    left -= byteLength(text) + 1
    if (left < 0) break
    kept.unshift(text)
  }
  const dropped = list.length - 1 - kept.length
  if (kept.length === 0 || dropped === 0) return undefined
  const cutBytes = Math.max(bytes - (maxBytes - spare - left), 1)
  const note = stringify(marker(`${dropped} messages, ${cutBytes} bytes cut`))
  const text = `[${[first, note, ...kept].join(',')}]`
  return byteLength(text) <= maxBytes ? text : undefined
}

/** Every item of the list itself is kept with `keepsItems`. */
function shorten(value: unknown, maxBytes: number, keepsItems: boolean): string | undefined {
  for (let limit = maxBytes; limit >= SHORTEST_STRING; limit = Math.floor(limit / 2)) {
    const maxItems = Math.max(Math.floor(limit / BYTES_PER_ITEM), FEWEST_ITEMS)
    const text = jsonWithin(value, maxBytes, {
      text: (text) => fitText(text, limit).text,
      list: (list) => (keepsItems && list === value ? list : headOfList(list, maxItems)),
      object: (object) => headOfObject(object, maxItems),
    })
    if (text !== undefined) return text
  }
  return undefined
}

function headOfList(list: readonly unknown[], maxItems: number): readonly unknown[] {
  if (list.length <= maxItems) return list
  return [...list.slice(0, maxItems), noteLike(list, `${list.length - maxItems} of ${list.length} items`)]
}

/** What stands for all of a value. A list stays one. */
function nothingOf(value: unknown, cut: string): string {
  return JSON.stringify(Array.isArray(value) ? [noteLike(value, cut)] : { hookspan_cut: cut })
}

/** A note of what was cut, of the shape of the items beside it: backends read messages and parts by the conventions' schemas. */
function noteLike(list: readonly unknown[], cut: string): object {
  const note = { hookspan_cut: cut }
  const part = { type: 'hookspan_cut', ...note }
  // An empty place is no item: `every` does not look at it, and goes through four thousand million of them.
  const items = [...list.slice(0, COMPARED_ITEMS), ...list.slice(-1)]
  if (items.every(isMessage)) return { role: items[items.length - 1]?.role, parts: [part] }
  return items.every(isPart) ? part : note
}

const isPart = (item: unknown): boolean => typeof (item as { type?: unknown } | null)?.type === 'string'

const isMessage = (item: unknown): item is { role: string } => {
  const { role, parts } = (item ?? {}) as { role?: unknown; parts?: unknown }
  return typeof role === 'string' && Array.isArray(parts)
}

function headOfObject(object: object, maxItems: number): object {
  const names = namesOf(object)
  if (names.length <= maxItems) return object
  const head = names.slice(0, maxItems).map((name) => [name, (object as Record<string, unknown>)[name]])
  const cut = { hookspan_cut: `${names.length - maxItems} of ${names.length} fields` }
  return Object.fromEntries([...head, ...Object.entries(cut)])
}

function stringify(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

function headBytes(text: string, maxBytes: number): string {
  // No UTF-16 unit takes less than one byte, so this never has to look at more than it keeps.
  let head = text.slice(0, maxBytes)
  while (byteLength(head) > maxBytes) head = head.slice(0, Math.floor(head.length * 0.9))
  // A lone surrogate at the end would become a replacement character.
  return /[\uD800-\uDBFF]$/.test(head) ? head.slice(0, -1) : head
}
