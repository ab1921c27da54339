/** How many objects are copied before shared and circular references are looked for. */
const UNTRACKED_OBJECTS = 100

/** Nesting from which on the original is shared: nothing deeper is worth a stack overflow. */
const MAX_DEPTH = 500

/**
 * A copy of plain objects, arrays, Maps, Sets and Dates, so that whoever gets it can change nothing of the original.
 * Everything else (class instances, buffers, streams, functions) is kept by reference: copying it could run foreign
 * code. Never throws: what cannot be copied is kept by reference, too.
 */
export function snapshot<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  // A getter may ask for a copy of its own.
  const before = untracked
  untracked = UNTRACKED_OBJECTS
  try {
    // Small trees are copied without bookkeeping.
    const small = copy(value, 0, undefined)
    return (untracked >= 0 ? small : copy(value, 0, new Map())) as T
  } catch {
    return value
  } finally {
    untracked = before
  }
}

/** How many objects may still be copied without bookkeeping. */
let untracked = 0

type Seen = Map<object, object> | undefined

function copy(value: object, depth: number, seen: Seen): object {
  if (depth > MAX_DEPTH) return value
  if (seen === undefined) {
    if (--untracked < 0) return value
  } else {
    const known = seen.get(value)
    if (known !== undefined) return known
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    return Array.isArray(value) ? copyList(value, depth, seen) : copyBuiltIn(value, prototype, depth, seen)
  }
  const plain: Record<string, unknown> = { ...value }
  seen?.set(value, plain)
  for (const key in plain) {
    const item = plain[key]
    if (typeof item === 'object' && item !== null) plain[key] = copy(item, depth + 1, seen)
  }
  return plain
}

function copyList(value: readonly unknown[], depth: number, seen: Seen): unknown[] {
  const list = value.slice()
  seen?.set(value, list)
  for (let i = 0; i < list.length; i++) {
    const item = list[i]
    if (typeof item === 'object' && item !== null) list[i] = copy(item, depth + 1, seen)
  }
  return list
}

function copyBuiltIn(value: object, prototype: object, depth: number, seen: Seen): object {
  const inner = (item: unknown) =>
    typeof item === 'object' && item !== null ? copy(item, depth + 1, seen) : item
  switch (prototype) {
    case Date.prototype:
      return new Date((value as Date).getTime())
    case Map.prototype: {
      const map = new Map()
      seen?.set(value, map)
      for (const [key, item] of value as Map<unknown, unknown>) map.set(key, inner(item))
      return map
    }
    case Set.prototype: {
      const set = new Set()
      seen?.set(value, set)
      for (const item of value as Set<unknown>) set.add(inner(item))
      return set
    }
    default:
      return value
  }
}
