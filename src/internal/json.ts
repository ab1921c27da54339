import { errorMessage } from './errors.ts'
import { isError } from './realms.ts'
import { sha256 } from './sha256.ts'

/** `JSON.stringify` that never throws: cycles and BigInts become strings. Undefined and functions become `''`. */
export function safeStringify(value: unknown): string {
  try {
    return wholeJson(value)
  } catch (error) {
    return JSON.stringify(`[not serializable: ${error instanceof Error ? error.message : 'unknown'}]`)
  }
}

/**
 * The same, where somebody decides by what it says: it is the whole value, or nothing.
 *
 * @throws RangeError for a value that is nested too deeply, and what a getter of it throws.
 */
export function wholeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return stringifyHostile(value)
  }
}

/** What a text says as JSON; where it is none, something else. */
export function jsonIn(text: string, otherwise?: unknown): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return otherwise
  }
}

function stringifyHostile(value: unknown): string {
  const path: object[] = []
  const text = JSON.stringify(value, function (this: unknown, _key, item: unknown) {
    if (typeof item === 'bigint') return item.toString()
    if (typeof item !== 'object' || item === null) return item
    while (path.length > 0 && path.at(-1) !== this) path.pop()
    if (path.includes(item)) return '[Circular]'
    path.push(item)
    return item
  })
  return text ?? ''
}

/**
 * What a model is told of a tool's result: text as it is, an error by its message, of bytes how many there are, anything
 * else as JSON, nothing as the empty string. Never throws.
 */
export function toContent(result: unknown): string {
  if (typeof result === 'string') return result
  if (isError(result)) return `Error: ${errorMessage(result)}`
  const told = withoutBytes(result)
  return typeof told === 'string' ? told : safeStringify(told)
}

/** The MCP and the plain convention of a result that reports a failure. */
export function saysFailure(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { isError?: unknown }).isError === true
}

/**
 * The value, or a copy of what leads to them, in which bytes are a short text, however deep they are: as JSON each byte
 * would take four, and a second per ten megabytes. Never throws.
 */
export function withoutBytes(value: unknown): unknown {
  try {
    return holdsBytes(value) ? described(value, new Map()) : value
  } catch (error) {
    return error instanceof RangeError ? '[nested too deeply, and holds binary data]' : value
  }
}

/** How deep is looked without keeping account of what was seen. */
const PLAIN_DEPTH = 8
/** At how many objects. */
const PLAIN_OBJECTS = 1_000
/** Of what goes on beyond it, nothing is said: a value may make objects without end, and a list may have places without items. */
const MOST_OBJECTS = 1_000_000
const MOST_PLACES = 2 ** 25

let objectsLeft = 0

/** Most values hold none: nothing is copied for them, and no depth is too much. */
function holdsBytes(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  objectsLeft = PLAIN_OBJECTS
  return holdsBytesWithin(value, PLAIN_DEPTH) ?? holdsBytesSomewhere(value)
}

/** Undefined for what is deeper, or more, which it may be by holding itself. */
function holdsBytesWithin(value: object, depth: number): boolean | undefined {
  if (isBytes(value)) return true
  if (depth === 0 || --objectsLeft < 0) return undefined
  if (tellsItself(value)) return false
  const items = itemsOf(value)
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    if (typeof item !== 'object' || item === null) continue
    const holds = holdsBytesWithin(item, depth - 1)
    if (holds !== false) return holds
  }
  return false
}

function holdsBytesSomewhere(value: object): boolean {
  const seen = new Set<object>()
  const waiting: object[] = [value]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (isBytes(next)) return true
    if (seen.has(next) || tellsItself(next)) continue
    if (seen.size >= MOST_OBJECTS) return false
    seen.add(next)
    for (const item of itemsOf(next)) if (typeof item === 'object' && item !== null) waiting.push(item)
  }
  return false
}

function itemsOf(value: object): readonly unknown[] {
  if (!Array.isArray(value)) return Object.values(value)
  return value.length > MOST_PLACES ? [] : value
}

/** What was copied is not copied again: an object may be in many places, and in itself. */
function described(value: unknown, known: Map<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (isBytes(value)) return bytesText(value)
  const before = known.get(value)
  if (before !== undefined || tellsItself(value)) return before ?? value
  known.set(value, '[Circular]')
  const copy = Array.isArray(value)
    ? value.map((item) => described(item, known))
    : Object.fromEntries(Object.entries(value).map(([name, item]) => [name, described(item, known)]))
  known.set(value, copy)
  return copy
}

/** Dates and the like say in JSON what they want to. */
function tellsItself(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function'
}

/** What stands for bytes where they would be spelt out. */
export function bytesText({ byteLength }: ArrayBufferLike | ArrayBufferView): string {
  return `[${byteLength} bytes of binary data]`
}

/** Never throws, also for a proxy that does not say whose it is. */
export function isBytes(value: unknown): value is ArrayBufferLike | ArrayBufferView {
  try {
    return ArrayBuffer.isView(value) || value instanceof ArrayBuffer
  } catch {
    return false
  }
}

/** JSON with the keys of every object in code point order, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return canonical(safeStringify(value))
}

function canonical(text: string): string {
  return JSON.stringify(sortKeys(JSON.parse(text || 'null')))
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item)]))
}

/**
 * SHA-256 of the canonical JSON, in hex: what binds an approval to the arguments that were shown.
 *
 * @throws what `wholeJson` throws: values that cannot be told apart have no digest.
 */
export function digestOf(value: unknown): string {
  return sha256(canonical(wholeJson(value)))
}

/** Whether a value comes back from JSON as it went in: plain objects, lists, texts, finite numbers, booleans, null. */
export function canBeJson(value: unknown): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return false
  if (Array.isArray(value)) return value.every(canBeJson)
  const prototype = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && Object.values(value).every(canBeJson)
}
