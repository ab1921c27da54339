import { bytesText, isBytes } from './json.ts'

/** What a walk may meet in a value whose JSON is written without a second thought. */
const MODEST_DEPTH = 8
const MODEST_ITEMS = 10_000
const MODEST_UNITS = 1_000_000

/** How many values are looked at to tell how much was left out. */
const COUNTED_VALUES = 20_000

/** Whether a text takes no more than so many UTF-8 bytes. No UTF-16 unit takes less than one byte or more than three. */
export function fits(text: string, maxBytes: number): boolean {
  if (text.length > maxBytes) return false
  return text.length * 3 <= maxBytes || Buffer.byteLength(text, 'utf8') <= maxBytes
}

/** Whether a value is so small that writing all of its JSON costs nothing to speak of; and holds no bytes. */
export function isModest(value: unknown): boolean {
  itemsLeft = MODEST_ITEMS
  unitsLeft = MODEST_UNITS
  return isModestPart(value, MODEST_DEPTH)
}

let itemsLeft = 0
let unitsLeft = 0

function isModestPart(value: unknown, depth: number): boolean {
  if (typeof value === 'string') {
    unitsLeft -= value.length
    return unitsLeft >= 0
  }
  if (typeof value !== 'object' || value === null) return typeof value !== 'bigint'
  if (depth === 0 || isBytes(value)) return false
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return true
  if (Array.isArray(value)) {
    itemsLeft -= value.length
    if (itemsLeft < 0) return false
    for (let i = 0; i < value.length; i++) if (!isModestPart(value[i], depth - 1)) return false
    return true
  }
  const names = namesOf(value)
  itemsLeft -= names.length
  if (itemsLeft < 0) return false
  for (const name of names) if (!isModestPart((value as Fields)[name], depth - 1)) return false
  return true
}

type Fields = Readonly<Record<string, unknown>>

/** From how many fields on the names of an object alone take long to ask for. */
const WIDE = 1_000
let wide: Map<object, readonly string[]> | undefined

/** Its own names, of a wide object once within {@link withNamesKept}. */
export function namesOf(value: object): readonly string[] {
  const known = wide?.get(value)
  if (known !== undefined) return known
  const names = Object.keys(value)
  if (names.length > WIDE) wide?.set(value, names)
  return names
}

/** For who looks at one value several times, in which time nobody changes it. */
export function withNamesKept<T>(look: () => T): T {
  wide = new Map()
  try {
    return look()
  } finally {
    wide = undefined
  }
}

/** What is put in the place of what is too long, before it is looked into. */
export interface Shortening {
  text(text: string): string
  list(list: readonly unknown[]): readonly unknown[]
  object(object: object): object
}

/** Thrown, so that whatever is nested is left at once. */
const OVER = new Error('more than there is room for')

/**
 * JSON of a value, in which bytes are a short text, cycles are told and BigInts are texts. Undefined where it would take
 * more than `maxBytes`: no more of the value is looked at than there is room for.
 *
 * @throws what a getter or `toJSON` of the value throws, and RangeError for what is nested too deeply.
 */
export function jsonWithin(value: unknown, maxBytes: number, shortening?: Shortening): string | undefined {
  try {
    const plain = shortening === undefined && isModest(value)
    const text = JSON.stringify(plain ? value : new Copying(maxBytes, shortening).copy(value, '')) ?? 'null'
    return fits(text, maxBytes) ? text : undefined
  } catch (error) {
    if (error === OVER) return undefined
    throw error
  }
}

class Copying {
  #left: number
  readonly #shortening: Shortening | undefined
  readonly #above = new Set<object>()

  constructor(maxBytes: number, shortening: Shortening | undefined) {
    this.#left = maxBytes
    this.#shortening = shortening
  }

  /** What `JSON.stringify` writes as it would write the value. */
  copy(value: unknown, key: string): unknown {
    if (typeof value === 'string') return this.#text(value)
    if (typeof value === 'bigint') return this.#text(String(value))
    if (typeof value !== 'object' || value === null) {
      this.#spend(1)
      return value
    }
    if (isBytes(value)) return this.#text(bytesText(value))
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON === 'function') return this.#object(toJSON.call(value, key))
    return this.#object(value)
  }

  #object(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return this.copy(value, '')
    if (value instanceof String || value instanceof Number || value instanceof Boolean) return value
    if (this.#above.has(value)) return this.#text('[Circular]')
    this.#spend(2)
    this.#above.add(value)
    const copied = Array.isArray(value) ? this.#list(value) : this.#fields(value)
    this.#above.delete(value)
    return copied
  }

  #list(value: readonly unknown[]): unknown[] {
    const list = this.#shortening?.list(value) ?? value
    const copied: unknown[] = []
    for (let i = 0; i < list.length; i++) copied.push(this.copy(list[i], String(i)))
    return copied
  }

  #fields(value: object): object {
    const fields = (this.#shortening?.object(value) ?? value) as Fields
    const copied: [string, unknown][] = []
    for (const name of namesOf(fields)) {
      const item = fields[name]
      if (item === undefined || typeof item === 'function' || typeof item === 'symbol') continue
      this.#spend(name.length + 3)
      copied.push([name, this.copy(item, name)])
    }
    return Object.fromEntries(copied)
  }

  #text(text: string): string {
    const short = this.#shortening?.text(text) ?? text
    this.#spend(short.length + 2)
    return short
  }

  #spend(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0) throw OVER
  }
}

/** How many bytes the JSON of a value takes at the least: of what is very much, a part is looked at. */
export function bytesAtLeast(value: unknown): number {
  let bytes = 0
  const waiting: unknown[] = [value]
  const seen = new Set<unknown>()
  for (let count = 0; count < COUNTED_VALUES && waiting.length > 0; count++) {
    const next = waiting.pop()
    if (typeof next === 'string') bytes += next.length + 2
    else if (typeof next !== 'object' || next === null || isBytes(next)) bytes += 1
    else if (!seen.has(next)) {
      seen.add(next)
      const keys = Array.isArray(next) ? undefined : namesOf(next)
      const { length } = keys ?? (next as unknown[])
      bytes += length + 2
      for (let i = Math.min(length, COUNTED_VALUES); i-- > 0; ) {
        waiting.push((next as Fields)[keys?.[i] ?? i])
      }
    }
  }
  return bytes
}
