import { readFileSync } from 'node:fs'
import Module, { createRequire } from 'node:module'
import { isAbsolute } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { CALL, commonLine, inPlaceOf, isReplaced, KEY, moduleLine, OWN, standIn } from './entry-source.ts'
import { isModule, manifestOf, ownName, PACKAGE_FOLDER, packageOf } from './installed.ts'
import { watchRoute } from './next-routes.ts'
import { tellOtherCopy } from './other-copy.ts'
import { PACKAGES, UNKNOWN } from './packages.ts'
import { isTakenEntry } from './taken-entry.ts'
import { tell } from './tell.ts'

/** A package as the program has loaded it. */
export interface Loaded {
  readonly name: string
  readonly version: string | undefined
  /** Another SDK has loaded it that is attached itself: its model calls are told there. */
  readonly bySdk: boolean
  /** A package of the program has loaded it, or it itself, and not the program's own code. */
  readonly byPackage: boolean
  readonly exports: Readonly<Record<string, unknown>>
}

const HERE = new URL('../', import.meta.url).href

function tellOther(url: string): void {
  const folder = fileURLToPath(url).replace(/([\\/]node_modules[\\/]hookspan)[\\/].*/, '$1')
  tellOtherCopy(folder, 'Use one copy: `npm ls hookspan` shows those that are installed.')
}

/** Gives what stands in for exports, where that is possible and asked for. */
export type OnLoaded = (loaded: Loaded) => Readonly<Record<string, unknown>> | undefined

/** The code of an error that the program is not to go on from: it would have no guards. */
export const NOT_CAPABLE = 'NOT_CAPABLE'

/** What is known of a module that is the entry of a package. */
export interface Entry {
  readonly name: string
  readonly bySdk: boolean
  readonly byPackage: boolean
}

/**
 * Hears of the packages that the program loads, by `import` and by `require`. A package's own entry says that it is
 * there, in a line behind its last one; a program that is bundled has no such entry.
 */
export function watchModules(onLoaded: OnLoaded, onMissed: (name: string) => void): void {
  const entries = new Map<string, Entry>()
  const met = new Set<string>()
  const taken = new Set<string>()
  hear(entries, onLoaded)
  // What is loaded for this is met by then; what somebody has loaded before us is not loaded again.
  const watchFor = (url: string, name: string) =>
    setImmediate(() => {
      if (met.has(url) || !isParsed(url)) return
      met.add(url)
      onMissed(name)
    })
  const mayLoad = keepsCommonJs(process.versions.node)
  const load: Module.LoadHookSync = (url, context, next) => {
    if (taken.has(url)) return { format: 'commonjs', shortCircuit: true }
    const loaded = next(url.endsWith(OWN) ? url.slice(0, -OWN.length) : url, context)
    const { name } = entries.get(url) ?? {}
    if (name === undefined) return loaded
    met.add(url)
    const source = loaded.source ?? readFileSync(fileURLToPath(url))
    const text = typeof source === 'string' ? source : Buffer.from(source as Uint8Array).toString('utf8')
    const isModule = isUntouched(text, fileURLToPath(url), loaded.format ?? undefined)
    return { ...loaded, source: attached(text, url, name, isModule) }
  }
  // Asked for here: Bun has none, and would not even load a file that imports it.
  Module.registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      if (!resolved.url.startsWith('file:')) return resolved
      if (isTakenEntry(resolved.url, context.parentURL)) {
        taken.add(resolved.url)
        return { ...resolved, format: 'commonjs' }
      }
      const isKnown = entries.has(resolved.url)
      // A module that asks for itself has our line: it is loaded by whoever asked before.
      if (resolved.url === context.parentURL && (mayLoad || isKnown)) return resolved
      // Of what we put in its place, or OpenTelemetry's hooks (`?iitm=true`).
      const { parentURL = '' } = context
      if (parentURL.startsWith('data:') && isKnown) return resolved
      if (!mayLoad && parentURL.startsWith(`${resolved.url}?`)) return resolved
      watchRoute(resolved.url)
      if (packageOf(specifier) === 'hookspan' && !resolved.url.startsWith(HERE)) tellOther(resolved.url)
      if (UNKNOWN.has(packageOf(specifier)) && !isOfKnown(context.parentURL))
        tellUnknown(packageOf(specifier))
      const isProgram = context.parentURL?.includes('/node_modules/') !== true
      const name = isPath(specifier)
        ? entryNameOf(resolved.url, (name) => next(name, { ...context, parentURL: resolved.url }).url)
        : nameOf(specifier, resolved.url, isProgram)
      const known = name === undefined ? undefined : PACKAGES[name]
      if (name === undefined || known === undefined) return resolved
      if (known.how !== 'tell') {
        const bySdk = specifier.startsWith('.')
          ? entries.get(context.parentURL ?? '')?.bySdk === true
          : isSdk(context.parentURL)
        if (!bySdk && !entries.has(resolved.url)) watchFor(resolved.url, name)
        entries.set(resolved.url, { name, bySdk, byPackage: !isProgram })
        const path = fileURLToPath(resolved.url)
        // Some of these versions have a set of them.
        if (!mayLoad && new Set(context.conditions).has('import') && isModule(path)) {
          met.add(resolved.url)
          return { ...resolved, url: inPlaceOf(resolved.url, name, hasDefault(path)), format: 'module' }
        }
        // Its own parent: required by CommonJS that other hooks have handed over, and compiled past us.
        if (!mayLoad && context.parentURL === resolved.url && !met.has(resolved.url)) {
          met.add(resolved.url)
          onMissed(name)
        }
      }
      // What an SDK loads by itself is the SDK's affair.
      else if (isProgram) tell(`${name} is not attached: ${known.instead} (docs/adapters.md).`)
      return resolved
    },
    ...(mayLoad && { load }),
  })
  watchCompiled((url) => {
    const { name } = entries.get(url) ?? {}
    if (name !== undefined) met.add(url)
    return name
  })
}

/**
 * Whether it can be heard of what is loaded. Where Node is older, a module of CommonJS that is imported cannot require() one
 * that imports as soon as anybody hears of it, as Express does, and beside tsx none is loaded at all.
 */
export function keepsCommonJs(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const since: Record<number, [number, number]> = { 22: [22, 3], 24: [11, 1], 25: [1, 0] }
  const [from, fix] = since[major] ?? [major > 25 ? 0 : Number.POSITIVE_INFINITY, 0]
  return minor > from || (minor === from && patch >= fix)
}

function hasDefault(path: string): boolean {
  return /\bexport\s+default\b|\bas\s+default\b|\{\s*default\s*[,}]/.test(readFileSync(path, 'utf8'))
}

/** Whether a module is there. Nothing else in Node tells it of those that are imported; it takes a tenth of a second. */
function isParsed(url: string): boolean {
  try {
    const { Session } = process.getBuiltinModule('node:inspector')
    const session = new Session()
    let isThere = false
    session.connect()
    session.on('Debugger.scriptParsed', ({ params }) => {
      isThere ||= params.url === url
    })
    session.post('Debugger.enable')
    session.disconnect()
    return isThere
  } catch {
    // Under `--permission` nobody may look.
    return false
  }
}

/** The text of an entry, with what makes it say that it is there. */
function attached(text: string, url: string, name: string, isModule: boolean): string {
  if (isModule && isReplaced(name)) return standIn(url, name)
  return `${text}\n${isModule ? moduleLine(url) : commonLine(url, name)}\n`
}

/** What a package asks for by its path, others ask for by its name: whichever comes first. */
const BY_PATH = [
  [/^\.\/client\.m?js$/, new RegExp(String.raw`${PACKAGE_FOLDER}\/[^/]+$`), 'client'],
  [/^\.\/index\.js$/, /\/dist\/(?:esm|cjs)\/server\/index\.js$/, 'server/index.js'],
] as const

/** Which of the known packages it is. Only the program's own dependencies are looked up that have another name. */
function nameOf(specifier: string, url: string, isProgram: boolean): string | undefined {
  if (Object.hasOwn(PACKAGES, specifier)) return specifier
  for (const [asked, found, path] of BY_PATH) {
    if (!asked.test(specifier) || !found.test(url)) continue
    const own = `${String(manifestOf(url).name)}/${path}`
    return Object.hasOwn(PACKAGES, own) ? own : undefined
  }
  if (!isProgram || !/^(?:@[^/]+\/)?[\w-]/.test(specifier) || !url.includes('/node_modules/'))
    return undefined
  const own = ownName(specifier, url)
  return Object.hasOwn(PACKAGES, own) ? own : undefined
}

const isPath = (specifier: string) => specifier.startsWith('file:') || isAbsolute(specifier)

/**
 * Which of the known packages a file is the entry of that is loaded by its path: runners have found it there (jiti,
 * vite-node), or hooks beside this thread, for CommonJS that they hand over.
 */
function entryNameOf(url: string, find: (name: string) => string): string | undefined {
  const own = manifestOf(url).name
  const names = Object.keys(PACKAGES).filter((name) => packageOf(name) === own)
  if (names.length === 0) return undefined
  const require = createRequire(url)
  const ways = [find, (name: string) => pathToFileURL(require.resolve(name)).href]
  const isFound = (name: string, way: (name: string) => string) => {
    try {
      return way(name) === url
    } catch {
      // It is not in this version.
      return false
    }
  }
  return names.find((name) => ways.some((way) => isFound(name, way)))
}

/** The lines in entries call this. */
export function hear(entries: ReadonlyMap<string, Entry>, onLoaded: OnLoaded): void {
  Object.defineProperty(globalThis, Symbol.for(KEY), {
    configurable: true,
    value: (url: string, exports: Loaded['exports']) => {
      const entry = entries.get(url)
      if (entry === undefined) return undefined
      try {
        return onLoaded({ ...entry, version: versionOf(url), exports })
      } catch (error) {
        // It would go without its guards.
        if ((error as { code?: unknown } | undefined)?.code === NOT_CAPABLE) throw error
        tell(`${entry.name} could not be attached: ${error instanceof Error ? error.message : String(error)}`)
        return undefined
      }
    },
  })
}

interface Compiler {
  /** `format`: `module` where a file is read by `require()` that is one. */
  _compile(this: unknown, content: string, filename: string, format?: unknown, ...more: unknown[]): unknown
}

/** Whoever takes `require()` over (tsx, ts-node, swc, Yarn's PnP) reads files by itself, past `load`: all of them compile here. */
function watchCompiled(nameOf: (url: string) => string | undefined): void {
  const prototype = Module.prototype as unknown as Compiler
  const { _compile } = prototype
  prototype._compile = function (content, filename, format, ...more) {
    const url = pathToFileURL(filename).href
    const name = nameOf(url)
    const isNew = name !== undefined && !content.includes(CALL)
    const source = isNew ? attached(content, url, name, isUntouched(content, filename, format)) : content
    return _compile.call(this, source, filename, format, ...more)
  }
}

/** Whether what is to be compiled is an ES module still, and not what somebody made of one. */
function isUntouched(content: string, path: string, format: unknown): boolean {
  if (format !== undefined) return format === 'module'
  return isModule(path) && /^(?:import|export)\b/m.test(content)
}

/** Whether a module belongs to an SDK that is attached. */
function isSdk(url = ''): boolean {
  const { name } = manifestOf(url)
  return typeof name === 'string' && SDKS.has(name)
}

const SDKS = new Set(
  Object.entries(PACKAGES).flatMap(([name, { how }]) => (how === 'attach' ? [packageOf(name)] : [])),
)
/** `langchain` of `@langchain/ollama`, too. */
const makerOf = (name: string) => name.replace('@', '').split('/')[0]
const MAKERS = new Set([...SDKS].map(makerOf))

/** Whether a module is of an SDK that is attached, or of its makers, who have the model calls told by it; or was told of itself. */
function isOfKnown(url = ''): boolean {
  const { name } = manifestOf(url)
  return typeof name === 'string' && (MAKERS.has(makerOf(name)) || UNKNOWN.has(name))
}

/** By its name alone, as nothing of it is attached. */
function tellUnknown(name: string): void {
  tell(
    `${name} is not attached: what it asks of models, and the tools that it runs, are not seen, and no gate and no mock holds there. ` +
      'wrapTools() of hookspan/adapter asks those of its dispatcher (docs/adapters.md).',
  )
}

function versionOf(url: string): string | undefined {
  const { version } = manifestOf(url)
  return typeof version === 'string' ? version : undefined
}
