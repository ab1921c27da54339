import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { closureOf, type ModuleGraph, readModuleGraph } from './module-graph.ts'
import { foldInto, seeThrough, shareAs } from './write-bundle.ts'

/** Loaded by a path: by `node`, by `requireOwn`, or as a policy file is. */
const BY_PATH = ['cli/bin.js', 'cli/demo/refund-policy.js', 'register/runtime.js']

/** A few lines that whoever wants them has in his own file: to load them with others would cost more. */
const isInlined = (file: string) =>
  file === 'internal/user.js' ||
  file === 'internal/marks-of.js' ||
  file === 'policies/config/names.js' ||
  file === 'internal/run-report.js' ||
  /^adapters\/.+\/(capabilities|names|steps)\.js$/.test(file)

/** What the adapters of generated clients share, and no other loads. */
const CLIENTS = 'adapters/generated-client/shared.js'

const ROOT = 'index.js'

/**
 * Makes few files of many: opening them takes longer than running them. What the root loads is `core.js`; `shared.js` in a
 * folder is what several share of it: adapters, spans, mocks, what is preloaded. What one subpath or command alone loads is
 * folded into its file. What nothing loads (types, parts of the page) goes; the rest stays as it is.
 */
export async function bundle(dist: string): Promise<void> {
  const subpaths = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' ? [] : [target.default.replace('./dist/', '')],
  )
  const graph = await readModuleGraph(dist, [...subpaths, ...BY_PATH])
  for (const [file, by] of graph.loadedBy) if (by.size === 0) rmSync(join(dist, file))
  const shared = new Map(sharedOf(graph, dist))
  const taken = new Set([...shared.values()].flat())
  seeThrough([...graph.loadedBy.keys()].filter(isInlined).map((file) => join(dist, file)))
  for (const [outfile, files] of shared) {
    await shareAs(
      join(dist, outfile),
      files.map((file) => join(dist, file)),
    )
  }
  for (const root of graph.roots) {
    if (taken.has(root)) continue
    const own = [...graph.loadedBy].filter(([file, by]) => by.size === 1 && by.has(root) && !taken.has(file))
    const files = own.map(([file]) => file).filter((file) => file === root || canMove(dist, file, root))
    await foldInto(
      join(dist, root),
      files.map((file) => join(dist, file)),
    )
  }
}

/** Each file in one of them, in an order in which later ones import earlier ones. */
function sharedOf({ imports, loadedBy, roots }: ModuleGraph, dist: string): [string, string[]][] {
  const core = closureOf(ROOT, imports)
  core.delete(ROOT)
  const shared = new Map(
    ['core.js', 'spans/shared.js', 'adapters/shared.js', CLIENTS, 'mock/shared.js', 'register/shared.js'].map(
      (outfile) => [outfile, outfile === 'core.js' ? [...core] : []],
    ),
  )
  for (const [file, by] of loadedBy) {
    if (core.has(file) || roots.includes(file) || by.size < 2 || isInlined(file)) continue
    const outfile = sharedIn(file, [...by])
    if (outfile !== undefined && canMove(dist, file, outfile)) shared.get(outfile)?.push(file)
  }
  const moved = shared.get('core.js')?.find((file) => !canMove(dist, file, 'core.js'))
  if (moved !== undefined) throw new Error(`${moved} asks where it is, and would be told where core.js is`)
  return [...shared]
}

function sharedIn(file: string, by: readonly string[]): string | undefined {
  const adapters = by.filter(isAdapter).length
  if (file.startsWith('spans/')) return 'spans/shared.js'
  if (adapters > 0 && by.every((root) => CLIENT_ADAPTERS.includes(root))) return CLIENTS
  if (file.startsWith('register/')) return 'register/shared.js'
  if (file.startsWith('adapters/') || (adapters > 1 && by.every(isNearAdapters))) return 'adapters/shared.js'
  if (adapters > 1) return 'core.js'
  return by.every((root) => MOCKS.includes(root)) ? 'mock/shared.js' : undefined
}

const MOCKS = ['mock/index.js', 'vitest/index.js']

const CLIENT_ADAPTERS = ['openai', 'anthropic', 'google-genai'].map((name) => `adapters/${name}/index.js`)

const isAdapter = (root: string) => /^adapters\/.+\/index\.js$/.test(root)
const isNearAdapters = (root: string) => isAdapter(root) || /^(agent|cli|register|adapters)\//.test(root)

/** What asks where it is stays in its folder. */
function canMove(dist: string, file: string, into: string): boolean {
  return dirname(file) === dirname(into) || !readFileSync(join(dist, file), 'utf8').includes('import.meta')
}
