import { PACKAGES } from './packages.ts'

export const KEY = 'hookspan.register'
/** The module itself, where another one stands in its place. */
export const OWN = '?hookspan'

export const CALL = `globalThis[Symbol.for(${JSON.stringify(KEY)})]?.`

/** @param from what the module is imported by. */
export function moduleLine(url: string, from = url): string {
  return `;import * as hookspan$own from ${JSON.stringify(from)};${CALL}(${JSON.stringify(url)}, hookspan$own);`
}

/** What is imported in the place of a module, which it imports. */
export function inPlaceOf(url: string, name: string, hasDefault: boolean): string {
  const own = JSON.stringify(url)
  const source = isReplaced(name)
    ? standIn(url, name)
    : `export * from ${own}\n${hasDefault ? `export { default } from ${own}\n` : ''}${moduleLine(url)}`
  return `data:text/javascript,${encodeURIComponent(source)}`
}

/** What bundlers made of a module cannot be changed: then a copy is handed out. */
export function commonLine(url: string, name: string): string {
  const replaced = replacedOf(name)
  const call = `${CALL}(${JSON.stringify(url)}, module.exports)`
  if (replaced.length === 0) return `;${call};`
  return `;{const given = ${call}
if (given) module.exports = Object.create(Object.getPrototypeOf(module.exports), {
...Object.getOwnPropertyDescriptors(module.exports),
${replaced.map((name) => `${name}: { value: given.${name}, enumerable: true, configurable: true, writable: true },`).join('\n')}
})}`
}

/** Whether the program gets others for some of its exports. */
export function isReplaced(name: string): boolean {
  return replacedOf(name).length > 0
}

function replacedOf(name: string): readonly string[] {
  const known = PACKAGES[name]
  return known === undefined || known.how === 'tell' ? [] : (known.replaced ?? [])
}

/** A module that hands through all of another, and other exports for some. */
export function standIn(url: string, name: string, from = url): string {
  const replaced = replacedOf(name)
  const own = JSON.stringify(from + OWN)
  return `import * as real from ${own}
export * from ${own}
const given = ${CALL}(${JSON.stringify(url)}, real) ?? real
${replaced.map((name) => `export const ${name} = given.${name}`).join('\n')}
`
}
