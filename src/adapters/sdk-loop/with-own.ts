/**
 * An object that is the given one but for what is put in its way. Nothing is put on the object itself, which may be
 * frozen, and which others may have, too.
 */
export function withOwn<T extends object>(object: T, own: Readonly<Record<string, unknown>>): T {
  // Of a copy, because a frozen object may not be shown as another than it is.
  const copy = Object.create(Object.getPrototypeOf(object), Object.getOwnPropertyDescriptors({ ...object }))
  return new Proxy(copy, {
    has: (_, key) => Reflect.has(object, key),
    get: (_, key) => {
      if (Object.hasOwn(own, key)) return own[key as string]
      const value = Reflect.get(object, key, object)
      return typeof value === 'function' ? value.bind(object) : value
    },
    set: (_, key, value) => Reflect.set(object, key, value),
  })
}
