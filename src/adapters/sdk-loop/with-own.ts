/**
 * An object that is the given one but for what is put in its way. Nothing is put on the object itself, which may be
 * frozen, and which others may have, too.
 */
export function withOwn<T extends object>(object: T, own: Readonly<Record<string, unknown>>): T {
  // Of a copy, because a frozen object may not be shown as another than it is.
  const copy = Object.create(Object.getPrototypeOf(object), Object.getOwnPropertyDescriptors({ ...object }))
  const put: Record<PropertyKey, unknown> = { ...own }
  return new Proxy(copy, {
    has: (_, key) => Reflect.has(object, key),
    get: (_, key) => {
      if (Object.hasOwn(put, key)) return put[key]
      const value = Reflect.get(object, key, object)
      return typeof value === 'function' ? value.bind(object) : value
    },
    // Who wraps what is in the way wraps that, and not what it calls: it would call itself.
    set: (_, key, value) => {
      if (!Object.hasOwn(put, key)) return Reflect.set(object, key, value)
      put[key] = value
      return true
    },
    defineProperty: (_, key, descriptor) => {
      if (Object.hasOwn(put, key) && 'value' in descriptor) put[key] = descriptor.value
      return Reflect.defineProperty(copy, key, descriptor)
    },
  })
}
