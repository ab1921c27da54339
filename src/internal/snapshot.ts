/** Depth from which shared and circular references are tracked; shallower values are copied without a map. */
const TRACK_FROM_DEPTH = 4

/**
 * A copy of plain objects and arrays, so that whoever gets it can change nothing of the original. Everything else
 * (class instances, buffers, streams, functions) is kept by reference: copying it could run foreign code.
 */
export function snapshot<T>(value: T): T {
  return typeof value === 'object' && value !== null ? (copy(value, 0, undefined) as T) : value
}

function copy(value: object, depth: number, seen: Map<object, object> | undefined): object {
  const known = seen?.get(value)
  if (known !== undefined) return known
  const tracked = depth >= TRACK_FROM_DEPTH ? (seen ?? new Map()) : undefined
  if (Array.isArray(value)) {
    const list = value.slice()
    tracked?.set(value, list)
    for (let i = 0; i < list.length; i++) {
      const item: unknown = list[i]
      if (typeof item === 'object' && item !== null) list[i] = copy(item, depth + 1, tracked)
    }
    return list
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const plain: Record<string, unknown> = { ...value }
  tracked?.set(value, plain)
  for (const key in plain) {
    const item = plain[key]
    if (typeof item === 'object' && item !== null) plain[key] = copy(item, depth + 1, tracked)
  }
  return plain
}
