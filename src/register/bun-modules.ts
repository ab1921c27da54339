import { readFileSync } from 'node:fs'
import Module, { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { commonLine, isReplaced, moduleLine, standIn } from './entry-source.ts'
import { isModule } from './installed.ts'
import { type Entry, hear, type OnLoaded } from './module-hooks.ts'
import { PACKAGES } from './packages.ts'

interface Loading {
  readonly path: string
}

interface PluginBuilder {
  onLoad(of: { filter: RegExp }, load: (loading: Loading) => { contents: string; loader: 'js' }): void
}

/** What is used of it. */
interface Bun {
  readonly main: string
  plugin(plugin: { name: string; setup(build: PluginBuilder): void }): void
  resolveSync(specifier: string, from: string): string
}

export function thisBun(): Bun | undefined {
  return (globalThis as { Bun?: Bun }).Bun
}

/** An executable of `bun build --compile`, as Claude Code is one: all it loads is inside of it, and so are its SDKs. */
export function isExecutable({ main }: Bun): boolean {
  return /^(\/\$bunfs|[A-Z]:[\\/]~BUN)[\\/]/.test(main)
}

/**
 * Bun has no hooks of modules. Its plugins are asked for modules by their paths, which are those of the packages that the
 * program finds; what is required goes through the loaders of its extension.
 */
export function watchBun(bun: Bun, onLoaded: OnLoaded): void {
  const entries = new Map<string, Entry>()
  const paths = new Map<string, string>()
  for (const [name, path] of found(bun)) {
    entries.set(pathToFileURL(path).href, { name, bySdk: false, byPackage: false })
    paths.set(path, name)
  }
  hear(entries, onLoaded)
  watchImported(bun, new Map([...paths].filter(([path]) => isModule(path))))
  watchRequired(new Map([...paths].filter(([path]) => !isModule(path))))
}

type Names = ReadonlyMap<string, string>

function watchImported(bun: Bun, names: Names): void {
  if (names.size === 0) return
  const filter = new RegExp(`^(?:${[...names.keys()].map(literal).join('|')})$`)
  bun.plugin({
    name: 'hookspan',
    setup: (build) =>
      build.onLoad({ filter }, ({ path }) => ({
        loader: 'js',
        contents: moduleOf(path, names.get(path) ?? ''),
      })),
  })
}

type Load = (module: { _compile(text: string, path: string): unknown }, path: string) => unknown

/** A plugin would take them for modules. */
function watchRequired(names: Names): void {
  const { _extensions: loaders } = Module as unknown as { _extensions: Record<string, Load> }
  for (const extension of ['.js', '.cjs']) {
    const own = loaders[extension] ?? loaders['.js']
    loaders[extension] = (module, path) => {
      const name = names.get(path)
      if (name === undefined) return own?.(module, path)
      const line = commonLine(pathToFileURL(path).href, name)
      return module._compile(`${readFileSync(path, 'utf8')}\n${line}\n`, path)
    }
  }
}

/** Names and files of what the program gets, by `import` and by `require()`. */
function* found(bun: Bun): Generator<readonly [name: string, path: string]> {
  const folders = [process.cwd(), dirname(bun.main)]
  const names = Object.keys(PACKAGES).filter((name) => PACKAGES[name]?.how !== 'tell')
  for (const folder of [...folders, ...agentsOf(bun, folders)]) {
    const { resolve } = createRequire(join(folder, 'program'))
    for (const name of names) {
      for (const find of [() => bun.resolveSync(name, folder), () => resolve(name)]) {
        try {
          yield [name, find()]
        } catch {
          // It is not installed.
        }
      }
    }
  }
}

/** What is attached of `@openai/agents` is a package of its own, which may lie beside it alone. */
function agentsOf(bun: Bun, folders: readonly string[]): string[] {
  return folders.flatMap((folder) => {
    try {
      return dirname(bun.resolveSync('@openai/agents', folder))
    } catch {
      return []
    }
  })
}

function moduleOf(path: string, name: string): string {
  const url = pathToFileURL(path).href
  return isReplaced(name)
    ? standIn(url, name, path)
    : `${readFileSync(path, 'utf8')}\n${moduleLine(url, path)}\n`
}

function literal(path: string): string {
  return path.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}
