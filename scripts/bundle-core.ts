import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/**
 * Puts what the root imports into one file, `dist/core.js`: opening sixty files takes longer than running them. Each
 * of the sixty stays where it was and re-exports its names from there, so that the other subpaths share its state
 * (the running operation, the error class) with the root. Declarations are not touched.
 */
export async function bundleCore(dist: string): Promise<void> {
  const { metafile } = await build({ ...OPTIONS, entryPoints: [join(dist, 'index.js')], outfile: 'core.js' })
  const files = Object.keys(metafile?.inputs ?? {}).map((path) => join(process.cwd(), path))
  const moved = files.find((file) => readFileSync(file, 'utf8').includes('import.meta'))
  if (moved !== undefined) throw new Error(`${moved} asks where it is, and would be told where core.js is`)
  const names = new Map<string, readonly string[]>()
  for (const file of files) names.set(file, Object.keys(await import(pathToFileURL(file).href)))

  const entry = join(dist, 'core-entry.js')
  const all = files.map((file, index) =>
    reexport(names.get(file), dist, file, (name) => `${name} as ${name}$${index}`),
  )
  writeFileSync(entry, all.join('\n'))
  await build({ ...OPTIONS, write: true, entryPoints: [entry], outfile: join(dist, 'core.js') })
  rmSync(entry)
  for (const [index, file] of files.entries()) {
    const stub = reexport(
      names.get(file),
      dirname(file),
      join(dist, 'core.js'),
      (name) => `${name}$${index} as ${name}`,
    )
    writeFileSync(file, stub === '' ? 'export {}\n' : stub)
  }
}

const OPTIONS = {
  bundle: true,
  write: false,
  metafile: true,
  format: 'esm',
  platform: 'node',
  target: 'es2022',
  packages: 'external',
  legalComments: 'none',
} as const

function reexport(
  names: readonly string[] = [],
  folder: string,
  file: string,
  clause: (name: string) => string,
): string {
  if (names.length === 0) return ''
  const path = relative(folder, file)
  return `export { ${names.map(clause).join(', ')} } from '${path.startsWith('.') ? path : `./${path}`}'\n`
}
