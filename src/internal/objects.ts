/** Whether a value is an object that is no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object as it is written down, of whatever realm: what it inherits is what every object has. */
export function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return (
    prototype === Object.prototype ||
    prototype === null ||
    (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'hasOwnProperty'))
  )
}

/** Drops the keys whose value is undefined, so that a field is either there or not. */
export function defined<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const kept: Record<string, unknown> = {}
  for (const name of Object.keys(object)) {
    const value = (object as Record<string, unknown>)[name]
    if (value !== undefined) kept[name] = value
  }
  return kept as never
}

/** These fields of what others made, each read once. One that throws is not there: whoever looks on changes nothing. */
export function readFields<K extends string>(value: unknown, names: readonly K[]): { [N in K]?: unknown } {
  const read: { [N in K]?: unknown } = {}
  if (typeof value !== 'object' || value === null) return read
  for (const name of names) {
    try {
      read[name] = (value as { [N in K]?: unknown })[name]
    } catch {}
  }
  return read
}

/** The fields, and methods beside them that are none: what is registered may offer more than what it is used as. */
export function withMethods<T extends object, M extends object>(fields: T, methods: M): T & M {
  return Object.assign(Object.create(methods), fields)
}
