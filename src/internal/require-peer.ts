import { existsSync } from 'node:fs'
// By another name: people put a line that declares `createRequire` before what esbuild makes.
import { createRequire as requireFrom } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HookspanError } from './errors.ts'
import { toInstall } from './node-sdk.ts'

/** A bundle of CommonJS has none, and in one of webpack's it is where the file lay that the bundle was made of. */
const HERE = import.meta.url as string | undefined

function isBundled(): boolean {
  return (
    HERE === undefined || !/^file:.*\/require-peer\.[jt]s$/.test(HERE) || !existsSync(fileURLToPath(HERE))
  )
}

/** Its files are in it, and packages are not looked for on the disk unless it was built so. */
const isBunsExecutable = () => /\/(\$bunfs|~BUN)\//.test(HERE ?? '')

/** Of CommonJS. Not asked for by `typeof`, which webpack answers also where there is none. */
function bundleFile(): string | undefined {
  try {
    return __filename
  } catch {
    return undefined
  }
}

/** From where a peer is looked for, one after the other. */
function* places(): Generator<string> {
  if (HERE !== undefined) yield HERE
  const file = bundleFile()
  if (file !== undefined) yield file
  if (isBundled() && process.argv[1] !== undefined) yield process.argv[1]
  // What npx has fetched for once has none of the program's packages above it: they are found from where that runs.
  if (HERE !== undefined && /[/\\]_npx[/\\]/.test(HERE)) yield join(process.cwd(), 'program')
}

const codeOf = (error: unknown) => (error as { code?: unknown } | undefined)?.code

/** Whose `require` finds a peer. */
function finderOf(name: string): NodeJS.Require {
  let missing: unknown
  for (const place of places()) {
    try {
      const require = requireFrom(place)
      require.resolve(name)
      return require
    } catch (error) {
      // That of a place that is none is of no use.
      if (codeOf(missing) !== 'MODULE_NOT_FOUND') missing = error
    }
  }
  // Where no code lies in a file, as in Cloudflare's Workers, nothing is installed either.
  throw missing ?? Object.assign(new Error(`Cannot find package '${name}'`), { code: 'MODULE_NOT_FOUND' })
}

/**
 * The `require` that finds an optional peer dependency.
 *
 * @throws HookspanError `MISSING_DEPENDENCY` naming the `npm install` line, when it is not installed.
 */
export function peerFinder(
  name: string,
  neededBy: string,
  install: readonly string[] = [name],
): NodeJS.Require {
  return found(() => finderOf(name), name, neededBy, install)
}

/** Loads an optional peer dependency, synchronously. @throws HookspanError `MISSING_DEPENDENCY`, as `peerFinder`. */
export function requirePeer<T>(name: string, neededBy: string, install: readonly string[] = [name]): T {
  return found(() => finderOf(name)(name) as T, name, neededBy, install)
}

function found<T>(find: () => T, name: string, neededBy: string, install: readonly string[]): T {
  try {
    return find()
  } catch (error) {
    if (codeOf(error) !== 'MODULE_NOT_FOUND') throw error
    const packages = HERE === undefined || isBundled() ? install : install.map((one) => toInstall(one, HERE))
    const line = `npm install ${packages.join(' ')}`
    throw new HookspanError('MISSING_DEPENDENCY', `${neededBy} needs ${name}, ${mend(line)}`, {
      cause: error,
    })
  }
}

function mend(line: string): string {
  if (isBunsExecutable()) {
    return (
      `which a program of \`bun build --compile\` does not find. Run where it lies: ${line}. ` +
      'And build it with --compile-autoload-package-json.'
    )
  }
  if (!isBundled()) return `which is not installed. Run: ${line}`
  return (
    `which is not installed where the bundle runs. Run there: ${line}. Or keep ` +
    "hookspan out of the bundle; for Next.js: `serverExternalPackages: ['hookspan']` in next.config."
  )
}

/** Loads a package that an optional peer brings along, wherever the package manager put it: the last of the path. */
export function requireVia<T>(peer: string, ...path: readonly [string, ...string[]]): T {
  let from = requireFrom(finderOf(peer).resolve(peer))
  for (const name of path.slice(0, -1)) from = requireFrom(from.resolve(name))
  return from(path.at(-1) as string) as T
}
