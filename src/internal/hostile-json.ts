/** Deeper JSON than this comes from nobody who means well. */
const MAX_DEPTH = 64

/**
 * Parses JSON from outside.
 *
 * @throws Error in one line for text that is no JSON, is nested too deeply, or names an object's prototype.
 */
export function parseHostileJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error(`it is not JSON: ${JSON.stringify(text.slice(0, 60))}`)
  }
  assertHarmless(value)
  return value
}

/** @throws Error in one line for a value that is nested too deeply or names an object's prototype. */
export function assertHarmless(value: unknown): void {
  const waiting: { item: object; depth: number }[] = []
  if (typeof value === 'object' && value !== null) waiting.push({ item: value, depth: 1 })
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { item, depth } = next
    if (depth > MAX_DEPTH) throw new Error(`it is nested deeper than ${MAX_DEPTH} levels`)
    for (const key of Object.keys(item)) {
      if (key === '__proto__') throw new Error('it has the key "__proto__"')
      const child: unknown = (item as Record<string, unknown>)[key]
      if (typeof child !== 'object' || child === null) continue
      if (key === 'constructor' && Object.hasOwn(child, 'prototype')) {
        throw new Error('it has the keys "constructor.prototype"')
      }
      waiting.push({ item: child, depth: depth + 1 })
    }
  }
}
