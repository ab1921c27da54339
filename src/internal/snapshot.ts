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
  try {
    return (copyFlat(value) ?? copyDeep(value)) as T
  } catch {
    return value
  }
}

/** Most values are flat: arguments of a few names. Undefined for one that is not. */
function copyFlat(value: object): object | undefined {
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return undefined
  const plain: Record<string, unknown> = { ...value }
  for (const key in plain) {
    const item = plain[key]
    if (typeof item === 'object' && item !== null) return undefined
  }
  return plain
}

function copyDeep(value: object): object {
  // Small trees are copied without bookkeeping.
  const budget = { left: UNTRACKED_OBJECTS }
  const small = copy(value, 0, undefined, budget)
  return budget.left >= 0 ? small : copy(value, 0, new Map(), budget)
}

type Seen = Map<object, object> | undefined

function copy(value: object, depth: number, seen: Seen, budget: { left: number }): object {
  if (depth > MAX_DEPTH) return value
  if (seen === undefined) {
    if (--budget.left < 0) return value
  } else {
    const known = seen.get(value)
    if (known !== undefined) return known
  }
  if (Array.isArray(value)) {
    const list = value.slice()
    seen?.set(value, list)
    for (let i = 0; i < list.length; i++) {
      const item: unknown = list[i]
      if (typeof item === 'object' && item !== null) list[i] = copy(item, depth + 1, seen, budget)
    }
    return list
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return copyBuiltIn(value, depth, seen, budget)
  const plain: Record<string, unknown> = { ...value }
  seen?.set(value, plain)
  for (const key in plain) {
    const item = plain[key]
    if (typeof item === 'object' && item !== null) plain[key] = copy(item, depth + 1, seen, budget)
  }
  return plain
}

function copyBuiltIn(value: object, depth: number, seen: Seen, budget: { left: number }): object {
  const inner = (item: unknown) =>
    typeof item === 'object' && item !== null ? copy(item, depth + 1, seen, budget) : item
  switch (Object.getPrototypeOf(value)) {
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
