const lists = new WeakSet<object>()

/** Ways to look for something in a list: of an empty one each says that it is not there. */
const SEARCHES: ReadonlySet<PropertyKey> = new Set<keyof unknown[]>([
  ...(['every', 'filter', 'find', 'findIndex', 'findLast', 'findLastIndex', 'flatMap', 'forEach'] as const),
  ...(['includes', 'indexOf', 'map', 'reduce', 'some'] as const),
])

/**
 * A list of a trace, which tells when something is looked for in it while it is empty: that nothing has run is said of
 * the whole list, and not by what is not found in it.
 */
export function traceList<T>(list: readonly T[], onSearch: () => void): readonly T[] {
  if (list.length > 0) return list
  const told = new Proxy(list, {
    get(target, key) {
      if (target.length === 0 && SEARCHES.has(key)) onSearch()
      return Reflect.get(target, key)
    },
  })
  lists.add(told)
  return told
}

/** Of a trace in which nothing has run. */
export function isEmptyTraceList(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0 && lists.has(list)
}
