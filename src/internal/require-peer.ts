import { createRequire } from 'node:module'
import { join } from 'node:path'
import { errorMessage, HookspanError } from './errors.ts'

/** What a bundler puts in the place of `require` does not know what it is asked for. */
function isOfBundle(error: unknown, name: string): boolean {
  return !errorMessage(error).includes(name)
}

/** Whose `require` finds a peer. */
function finderOf(name: string): NodeJS.Require {
  // A bundle of CommonJS has no address of its modules, but one of its own.
  if (typeof import.meta.url !== 'string') return finds(createRequire(__filename), name)
  // As bundlers know it.
  const require = createRequire(import.meta.url)
  try {
    require.resolve(name)
    return require
  } catch (error) {
    // What npx has fetched for once has none of the program's packages above it: they are found from where that runs.
    if (!/[/\\]_npx[/\\]/.test(import.meta.url)) throw error
    return finds(createRequire(join(process.cwd(), 'program')), name)
  }
}

function finds(require: NodeJS.Require, name: string): NodeJS.Require {
  require.resolve(name)
  return require
}

/**
 * Loads an optional peer dependency, synchronously.
 *
 * @throws HookspanError `MISSING_DEPENDENCY` naming the `npm install` line, when it is not installed.
 */
export function requirePeer<T>(name: string, neededBy: string, install: readonly string[] = [name]): T {
  try {
    return finderOf(name)(name) as T
  } catch (error) {
    if ((error as { code?: string }).code !== 'MODULE_NOT_FOUND') throw error
    throw new HookspanError(
      'MISSING_DEPENDENCY',
      isOfBundle(error, name)
        ? `${neededBy} needs ${name}, which a bundle cannot load. Keep hookspan out of the bundle; for Next.js: ` +
            `\`serverExternalPackages: ['hookspan']\` in next.config.`
        : `${neededBy} needs ${name}, which is not installed. Run: npm install ${install.join(' ')}`,
      { cause: error },
    )
  }
}

/** Loads a package that an optional peer brings along, wherever the package manager put it: the last of the path. */
export function requireVia<T>(peer: string, ...path: readonly [string, ...string[]]): T {
  let from = createRequire(finderOf(peer).resolve(peer))
  for (const name of path.slice(0, -1)) from = createRequire(from.resolve(name))
  return from(path.at(-1) as string) as T
}
