import { readdirSync } from 'node:fs'
import { build } from 'esbuild'

/** What each file of dist/ imports of ours when it is loaded; paths from dist/ on. */
export interface ModuleGraph {
  readonly imports: ReadonlyMap<string, readonly string[]>
  /** Files that are loaded by themselves: what a subpath or `import()` names, and `named`. */
  readonly roots: readonly string[]
  /** By which roots a file is loaded, not counting what one loads through another. */
  readonly loadedBy: ReadonlyMap<string, ReadonlySet<string>>
}

/** @param named what is loaded by a path that no import shows. */
export async function readModuleGraph(dist: string, named: readonly string[]): Promise<ModuleGraph> {
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.js'))
  const { metafile } = await build({
    absWorkingDir: dist,
    entryPoints: files,
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    outdir: 'read',
    treeShaking: false,
  })
  const imports = new Map<string, readonly string[]>()
  const roots = new Set(named)
  for (const [file, input] of Object.entries(metafile.inputs)) {
    const own = input.imports.filter(({ external }) => external !== true)
    imports.set(
      file,
      own.filter(({ kind }) => kind !== 'dynamic-import').map(({ path }) => path),
    )
    for (const { kind, path } of own) if (kind === 'dynamic-import') roots.add(path)
  }
  const loadedBy = new Map<string, Set<string>>(files.map((file) => [file, new Set()]))
  for (const root of roots) {
    for (const file of closureOf(root, imports, roots)) loadedBy.get(file)?.add(root)
  }
  return { imports, roots: [...roots], loadedBy }
}

/** A file and all that it loads, up to where another bundle begins. */
export function closureOf(
  start: string,
  imports: ModuleGraph['imports'],
  ends: ReadonlySet<string> = new Set(),
): Set<string> {
  const seen = new Set<string>()
  const visit = (file: string) => {
    if (seen.has(file) || (ends.has(file) && file !== start)) return
    seen.add(file)
    for (const next of imports.get(file) ?? []) visit(next)
  }
  visit(start)
  return seen
}
