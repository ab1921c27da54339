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

/**
 * JSON of `value` in at most `maxBytes` UTF-8 bytes, always valid. Long strings, lists and objects are shortened; what
 * was cut is said in the text itself.
 *
 * With a `marker`, which builds the item that stands for what the list lost, `value` is a conversation: it loses its
 * oldest items first, except its first one.
 */
export function fitJson(value: unknown, maxBytes: number, marker?: (cut: string) => unknown): FittedJson {
  const whole = stringify(value)
  if (fits(whole, maxBytes)) return { text: whole, cutBytes: 0 }
  const bytes = byteLength(whole)
  const fitted =
    (Array.isArray(value) && marker !== undefined ? dropOldest(value, maxBytes, bytes, marker) : undefined) ??
    shorten(value, maxBytes, marker !== undefined) ??
    nothingOf(value, `${bytes} bytes did not fit into ${maxBytes}`)
  return { text: fitted, cutBytes: Math.max(bytes - byteLength(fitted), 1) }
}

/** At most `maxBytes` UTF-8 bytes of a text, never cut inside a character, with a note of what is missing. */
export function fitText(text: string, maxBytes: number): { text: string; cutBytes: number } {
  if (fits(text, maxBytes)) return { text, cutBytes: 0 }
  const bytes = byteLength(text)
  const note = `… [${bytes - maxBytes} bytes cut]`
  const kept = headBytes(text, Math.max(maxBytes - byteLength(note), 0))
  return { text: kept + note, cutBytes: bytes - byteLength(kept) }
}

/** No UTF-16 unit takes more than three bytes, so most texts need not be counted. */
export function fits(text: string, maxBytes: number): boolean {
  return text.length * 3 <= maxBytes || byteLength(text) <= maxBytes
}

function dropOldest(
  list: readonly unknown[],
  maxBytes: number,
  bytes: number,
  marker: (cut: string) => unknown,
): string | undefined {
  if (list.length < 3) return undefined
  const sizes = list.map((item) => byteLength(stringify(item)) + 1)
  const spare = 200
  let left = bytes + spare
  let dropped = 0
  // The first item (the system prompt) and the last one (what the model was asked now) stay.
  while (left > maxBytes && dropped < list.length - 2) left -= sizes[++dropped] as number
  if (left > maxBytes) return undefined
  const note = marker(`${dropped} messages, ${bytes + spare - left} bytes cut`)
  const text = stringify([list[0], note, ...list.slice(1 + dropped)])
  return byteLength(text) <= maxBytes ? text : undefined
}

/** Every item of the list itself is kept with `keepsItems`. */
function shorten(value: unknown, maxBytes: number, keepsItems: boolean): string | undefined {
  for (let limit = maxBytes; limit >= SHORTEST_STRING; limit = Math.floor(limit / 2)) {
    const maxItems = Math.max(Math.floor(limit / BYTES_PER_ITEM), FEWEST_ITEMS)
    const text = JSON.stringify(value, (_key, item: unknown) => {
      if (typeof item === 'string') return fitText(item, limit).text
      if (typeof item !== 'object' || item === null || (keepsItems && item === value)) return item
      return Array.isArray(item) ? headOfList(item, maxItems) : headOfObject(item, maxItems)
    })
    if (byteLength(text) <= maxBytes) return text
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
  if (list.every(isMessage)) return { role: list[list.length - 1]?.role, parts: [part] }
  return list.every(isPart) ? part : note
}

const isPart = (item: unknown): boolean => typeof (item as { type?: unknown } | null)?.type === 'string'

const isMessage = (item: unknown): item is { role: string } => {
  const { role, parts } = (item ?? {}) as { role?: unknown; parts?: unknown }
  return typeof role === 'string' && Array.isArray(parts)
}

function headOfObject(object: object, maxItems: number): object {
  const entries = Object.entries(object)
  if (entries.length <= maxItems) return object
  const cut = { hookspan_cut: `${entries.length - maxItems} of ${entries.length} fields` }
  return Object.fromEntries([...entries.slice(0, maxItems), ...Object.entries(cut)])
}

function stringify(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

function headBytes(text: string, maxBytes: number): string {
  // No UTF-16 unit takes less than one byte, so this never has to look at more than it keeps.
  let head = text.slice(0, maxBytes)
  while (byteLength(head) > maxBytes) head = head.slice(0, Math.floor(head.length * 0.9))
  // A lone surrogate at the end would become a replacement character.
  return /[\uD800-\uDBFF]$/.test(head) ? head.slice(0, -1) : head
}
