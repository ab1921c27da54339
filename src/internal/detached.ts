import * as types from 'node:util/types'
import { errorMessage } from './errors.ts'
import { safeStringify } from './json.ts'

/** How many objects are copied before shared and circular references are looked for. */
const UNTRACKED_OBJECTS = 100
/** A value may make objects without end, a new one on each read. */
const MAX_OBJECTS = 250_000
const TOO_MANY = `[not copied: more than ${MAX_OBJECTS} objects]`
/** A list of more places has hardly anything in them, and to go through them takes minutes. */
const MAX_PLACES = 2 ** 25

/**
 * A copy of a value, so that whoever gets it can reach nothing of the original: plain objects, lists, Maps, Sets, Dates,
 * bytes, errors and instances of classes, these with their class and their own fields. What an instance keeps where only
 * its own methods see it (`#private` fields, a socket, a promise's value) is not in its copy. Functions and what nobody
 * can change (`Blob`, `AbortSignal`) are kept. A part that cannot be read, or is beyond what is copied, is text that says so.
 * Never throws.
 */
export function detached<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  // A getter may ask for a copy of its own.
  const before = untracked
  untracked = UNTRACKED_OBJECTS
  try {
    // Small trees that can be read are copied without bookkeeping.
    const small = copyOf(value)
    return (untracked >= 0 ? small : copyOfMany(value)) as T
  } catch {
    return copyOfMany(value) as T
  } finally {
    untracked = before
  }
}

/** How many objects may still be copied without bookkeeping. */
let untracked = 0

type Loose = Record<PropertyKey, unknown>
type Inner = (value: object) => unknown

function copyOf(value: object): unknown {
  if (--untracked < 0) return undefined
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype) return copyOfOther(value, prototype)
  const plain: Loose = { ...value }
  for (const key in plain) {
    const item = plain[key]
    if (typeof item === 'object' && item !== null) plain[key] = copyOf(item)
  }
  // The loop does not see them.
  for (const key of Object.getOwnPropertySymbols(plain)) {
    const item = plain[key]
    if (typeof item === 'object' && item !== null) plain[key] = copyOf(item)
  }
  return plain
}

function copyOfOther(value: object, prototype: object | null | undefined): unknown {
  const shell = shellOf(value, prototype)
  if (typeof shell === 'object' && shell !== value) fill(shell, copyOf)
  return shell
}

/** Without recursion, so that no depth is too much, and with cycles and shared parts as they are. */
function copyOfMany(root: object): unknown {
  const seen = new Map<object, unknown>()
  const unfilled: object[] = []
  const inner: Inner = (value) => {
    if (seen.has(value)) return seen.get(value)
    if (seen.size >= MAX_OBJECTS) return TOO_MANY
    const shell = shellOf(value, prototypeOf(value))
    seen.set(value, shell)
    if (typeof shell === 'object' && shell !== value) unfilled.push(shell)
    return shell
  }
  const copy = inner(root)
  for (let i = 0; i < unfilled.length; i++) fill(unfilled[i] as object, inner)
  return copy
}

/** Undefined for a proxy that does not say. */
function prototypeOf(value: object): object | null | undefined {
  try {
    return Object.getPrototypeOf(value)
  } catch {
    return undefined
  }
}

/** A copy whose parts are still the original's. */
function shellOf(value: object, prototype: object | null | undefined): object | string {
  try {
    if (prototype === Object.prototype || prototype === null) return spread(value)
    return Array.isArray(value) ? listOf(value, prototype) : instanceOf(value, prototype)
  } catch (error) {
    return unreadable(error)
  }
}

/** Replaces the parts of a shell by copies. */
function fill(shell: object, inner: Inner): void {
  const copied = (item: unknown) => (typeof item === 'object' && item !== null ? inner(item) : item)
  if (Array.isArray(shell)) {
    for (let i = 0; i < shell.length; i++) {
      const item: unknown = shell[i]
      if (typeof item === 'object' && item !== null) shell[i] = inner(item)
    }
    return
  }
  if (ArrayBuffer.isView(shell)) return
  // Its class may have methods of its own.
  if (types.isMap(shell)) {
    const entries = [...Map.prototype.entries.call(shell)]
    Map.prototype.clear.call(shell)
    for (const [key, item] of entries) Map.prototype.set.call(shell, copied(key), copied(item))
  } else if (types.isSet(shell)) {
    const items = [...Set.prototype.values.call(shell)]
    Set.prototype.clear.call(shell)
    for (const item of items) Set.prototype.add.call(shell, copied(item))
  }
  const fields = shell as Loose
  for (const key of Reflect.ownKeys(fields)) {
    const item = fields[key]
    if (typeof item === 'object' && item !== null) fields[key] = inner(item)
  }
}

/** As `{ ...value }`, but a getter that throws costs only its own field. */
function spread(value: object): Loose {
  try {
    return { ...value } as Loose
  } catch {
    const fields: Loose = {}
    for (const key of Reflect.ownKeys(value)) {
      if (Object.prototype.propertyIsEnumerable.call(value, key)) define(fields, key, read(value, key))
    }
    return fields
  }
}

/** By its places, because a class of lists may have a constructor or an iterator of its own. */
function listOf(value: readonly unknown[], prototype: object | null | undefined): unknown[] | string {
  if (value.length > MAX_PLACES) return `[not copied: a list of ${value.length} places]`
  if (prototype === Array.prototype) return value.slice()
  const list = Array.from({ length: value.length }, (_item, index) => read(value, index))
  return prototype ? Object.setPrototypeOf(list, prototype) : list
}

function instanceOf(value: object, prototype: object | null | undefined): object {
  const bytes = bytesOf(value)
  if (bytes !== undefined) return bytes
  const builtIn = builtInOf(value)
  const copy = builtIn ?? {}
  if (copy === value) return value
  if (prototypeOf(copy) !== prototype) Object.setPrototypeOf(copy, prototype ?? null)
  for (const key of Reflect.ownKeys(value)) {
    const { enumerable = false } = Object.getOwnPropertyDescriptor(value, key) ?? {}
    define(copy, key, read(value, key), enumerable)
  }
  if (builtIn === undefined) guardToJson(copy)
  return copy
}

/** What a class says of itself as JSON may need what is private to it: its copy says what it has instead of throwing. */
function guardToJson(copy: object): void {
  const toJson = read(copy, 'toJSON')
  if (typeof toJson !== 'function') return
  const guarded = function (this: object, key: string): unknown {
    try {
      return toJson.call(this, key)
    } catch {
      return JSON.parse(safeStringify({ ...this }))
    }
  }
  define(copy, 'toJSON', guarded, false)
}

/**
 * What keeps what it holds where a copy of its fields would not have it, of whatever realm. Undefined for what has fields
 * alone; the same for what nobody can change.
 */
function builtInOf(value: object): object | undefined {
  if (types.isDate(value)) return new Date(Date.prototype.getTime.call(value))
  if (types.isMap(value)) return new Map(Map.prototype.entries.call(value))
  if (types.isSet(value)) return new Set(Set.prototype.values.call(value))
  if (types.isRegExp(value)) return new RegExp(value.source, value.flags)
  // An abort keeps what it says to itself.
  if (value instanceof DOMException) return new DOMException(value.message, value.name)
  if (types.isNativeError(value)) return new Error()
  // By its name first: the platform loads some of these classes when they are first named.
  switch (Object.prototype.toString.call(value)) {
    case '[object URL]':
      return value instanceof URL ? new URL(value.href) : undefined
    case '[object URLSearchParams]':
      return value instanceof URLSearchParams ? new URLSearchParams(value.toString()) : undefined
    case '[object Headers]':
      return value instanceof Headers ? new Headers(value) : undefined
    case '[object Blob]':
    case '[object File]':
      return value instanceof Blob ? value : undefined
    case '[object AbortSignal]':
      return value instanceof AbortSignal ? value : undefined
    default:
      return undefined
  }
}

const typedArrayName = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)?.get

function bytesOf(value: object): object | undefined {
  if (Buffer.isBuffer(value)) return Buffer.from(value)
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value
    const own = buffer.slice(byteOffset, byteOffset + byteLength)
    // The name that the language gives it: its own class may have a constructor of its own.
    const name: string = typedArrayName?.call(value) ?? 'DataView'
    const type = (globalThis as unknown as Record<string, new (bytes: ArrayBufferLike) => object>)[name]
    return type && new type(own)
  }
  if (types.isAnyArrayBuffer(value)) return value.slice(0)
  return undefined
}

/** Assigning would run setters of the class. */
function define(copy: object, key: PropertyKey, value: unknown, enumerable = true): void {
  Reflect.defineProperty(copy, key, { value, enumerable, writable: true, configurable: true })
}

function read(value: object, key: PropertyKey): unknown {
  try {
    return (value as Loose)[key]
  } catch (error) {
    return unreadable(error)
  }
}

function unreadable(error: unknown): string {
  return `[not readable: ${errorMessage(error)}]`
}
