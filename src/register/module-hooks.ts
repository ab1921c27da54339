import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { PACKAGES } from './packages.ts'
import { tell } from './tell.ts'

/** A package as the program has loaded it. */
export interface Loaded {
  readonly name: string
  readonly version: string | undefined
  readonly exports: Readonly<Record<string, unknown>>
}

/** Gives what stands in for exports, where that is possible and asked for. */
export type OnLoaded = (loaded: Loaded) => Readonly<Record<string, unknown>> | undefined

const KEY = 'hookspan.register'
const WRAPPED = '?hookspan'

/**
 * Hears of the packages that the program loads, by `import` and by `require`. A package's own entry says that it is
 * there, in a line behind its last one; a program that is bundled has no such entry.
 */
export function watchModules(onLoaded: OnLoaded): void {
  const entries = new Map<string, string>()
  Object.defineProperty(globalThis, Symbol.for(KEY), {
    configurable: true,
    value: (url: string, exports: Loaded['exports']) => {
      const name = entries.get(url)
      if (name === undefined) return undefined
      try {
        return onLoaded({ name, version: versionOf(url, name), exports })
      } catch (error) {
        tell(`${name} could not be attached: ${error instanceof Error ? error.message : String(error)}`)
        return undefined
      }
    },
  })
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const known = Object.hasOwn(PACKAGES, specifier) ? PACKAGES[specifier] : undefined
      if (known === undefined || !resolved.url.startsWith('file:')) return resolved
      if (known.how === 'tell') {
        tell(`${specifier} is not attached without a change: ${known.instead} (docs/adapters.md).`)
        return resolved
      }
      entries.set(resolved.url, specifier)
      if (known.replaced === undefined) return resolved
      if (context.conditions?.includes('import') === true) return { ...resolved, url: resolved.url + WRAPPED }
      tell(`${specifier} is not attached where it is loaded by require(): import it.`)
      return resolved
    },
    load(url, context, next) {
      if (url.endsWith(WRAPPED)) return wrapper(url.slice(0, -WRAPPED.length), entries)
      const loaded = next(url, context)
      const name = entries.get(url)
      if (name === undefined || replacedOf(name).length > 0) return loaded
      const isModule = loaded.format === 'module'
      const source = loaded.source ?? readFileSync(fileURLToPath(url))
      const text = typeof source === 'string' ? source : Buffer.from(source as Uint8Array).toString('utf8')
      return { ...loaded, source: `${text}\n${isModule ? moduleLine(url) : commonLine(url)}\n` }
    },
  })
}

const CALL = `globalThis[Symbol.for(${JSON.stringify(KEY)})]?.`

function moduleLine(url: string): string {
  const own = JSON.stringify(url)
  return `;import * as hookspan$own from ${own};${CALL}(${own}, hookspan$own);`
}

function commonLine(url: string): string {
  return `;${CALL}(${JSON.stringify(url)}, module.exports);`
}

function replacedOf(name: string): readonly string[] {
  const known = PACKAGES[name]
  return known?.how === 'attach' ? (known.replaced ?? []) : []
}

/** A module that hands through all of another, and other exports for some. */
function wrapper(url: string, entries: ReadonlyMap<string, string>) {
  const own = JSON.stringify(url)
  const names = replacedOf(entries.get(url) ?? '')
  const source = `import * as real from ${own}
export * from ${own}
const given = ${CALL}(${own}, real) ?? real
${names.map((name) => `export const ${name} = given.${name}`).join('\n')}
`
  return { format: 'module', source, shortCircuit: true }
}

/** What the nearest package.json says. */
function versionOf(url: string, name: string): string | undefined {
  const path = fileURLToPath(url).replaceAll('\\', '/')
  const at = path.lastIndexOf(`/node_modules/${name}/`)
  if (at < 0) return undefined
  try {
    const text = readFileSync(`${path.slice(0, at)}/node_modules/${name}/package.json`, 'utf8')
    const { version } = JSON.parse(text) as { version?: unknown }
    return typeof version === 'string' ? version : undefined
  } catch {
    return undefined
  }
}
