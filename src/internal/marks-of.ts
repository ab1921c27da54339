/**
 * What else a function has, for one that stands in for it. Another way to call it, which it has under a symbol, is left out:
 * `promisify()` or an SDK would take that instead.
 */
export function marksOf(own: object): PropertyDescriptorMap {
  const { prototype: _prototype, ...marks } = Object.getOwnPropertyDescriptors(own) as PropertyDescriptorMap
  for (const key of Object.getOwnPropertySymbols(marks))
    if (typeof marks[key]?.value === 'function') delete marks[key]
  return marks
}
