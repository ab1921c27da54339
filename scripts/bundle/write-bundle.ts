import { rmSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

/**
 * Puts files into one. Each of them stays where it was and re-exports its names from there, so that whoever loads it
 * shares its state (the running operation, the error class) with all others. Declarations are not touched.
 */
export async function shareAs(outfile: string, files: readonly string[]): Promise<void> {
  const named = await Promise.all(
    files.map(async (file) => [file, Object.keys(await import(pathToFileURL(file).href))] as const),
  )
  const entry = `${outfile.slice(0, -'.js'.length)}-entry.js`
  const all = named.map(([file, names], index) =>
    reexport(names, dirname(entry), file, (name) => `${name} as ${name}$${index}`),
  )
  writeFileSync(entry, all.join('\n'))
  await bundle(entry, outfile, files)
  rmSync(entry)
  for (const [index, [file, names]] of named.entries()) {
    const stub = reexport(names, dirname(file), outfile, (name) => `${name}$${index} as ${name}`)
    writeFileSync(file, stub === '' ? 'export {}\n' : stub)
    stubs.add(file)
  }
}

/** Puts files into the one that alone loads them. */
export async function foldInto(root: string, files: readonly string[]): Promise<void> {
  await bundle(root, root, [...files, root])
  for (const file of files) if (file !== root) rmSync(file)
}

/** Files that only name what is in another, or that may be there twice: they are taken in everywhere. */
const stubs = new Set<string>()

export function seeThrough(files: readonly string[]): void {
  for (const file of files) stubs.add(file)
}

async function bundle(entry: string, outfile: string, files: readonly string[]): Promise<void> {
  await build({
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    packages: 'external',
    legalComments: 'none',
    logLevel: 'warning',
    entryPoints: [entry],
    outfile,
    allowOverwrite: true,
    plugins: [only(new Set([...files, entry]), outfile)],
  })
}

/** Everything else stays outside, and is found from the new place. */
function only(inside: ReadonlySet<string>, outfile: string): Plugin {
  return {
    name: 'only',
    setup({ onResolve }) {
      onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir, kind }) => {
        const file = resolve(resolveDir, path)
        if (kind !== 'dynamic-import' && (inside.has(file) || stubs.has(file))) return undefined
        return { path: from(dirname(outfile), file), external: true }
      })
    },
  }
}

function reexport(
  names: readonly string[],
  folder: string,
  file: string,
  clause: (name: string) => string,
): string {
  if (names.length === 0) return ''
  return `export { ${names.map(clause).join(', ')} } from '${from(folder, file)}'\n`
}

function from(folder: string, file: string): string {
  const path = relative(folder, file).replaceAll('\\', '/')
  return path.startsWith('.') ? path : `./${path}`
}
