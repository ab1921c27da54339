import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { parse as parseYaml } from 'yaml'
import { errorSentence } from '../../internal/errors.ts'
import { isRecord } from '../../internal/objects.ts'
import { homeFolder } from '../../internal/user.ts'
import { findInstalled } from '../../internal/version-range.ts'
import { CONFIG_NAMES } from '../../policies/config/names.ts'
import { UsageError } from '../failure.ts'
import { KNOWN_SDKS } from '../known-sdks.ts'
import { shown } from '../render/shown.ts'

export interface Project {
  readonly root: string
  readonly name: string
  readonly isModule: boolean
  /** Of all kinds that package.json has. */
  readonly dependencies: ReadonlySet<string>
  /** The command of its tests. */
  readonly test: string
  /** The config file that holds here: its own, or that of a folder above. */
  readonly config: string | undefined
}

/** @throws UsageError for a folder in which nothing can be attached, with what to do instead. */
export function readProject(folder: string): Project {
  const root = resolve(folder)
  const manifest = readManifest(root)
  refuseWorkspace(root, manifest)
  const scripts = isRecord(manifest.scripts) ? manifest.scripts : {}
  const { name } = manifest
  return {
    root,
    name:
      typeof name === 'string' && /^[\w@./-]+$/.test(name) ? name : basename(root).replace(/[^\w.-]/g, '-'),
    isModule: manifest.type === 'module',
    dependencies: dependenciesOf(manifest),
    test: String(scripts.test ?? ''),
    config: configAbove(root),
  }
}

export function isInstalled({ root }: Project, name: string): boolean {
  return findInstalled(name, join(root, 'package.json')) !== undefined
}

/** What a package.json names, of all kinds. */
export function dependenciesOf(manifest: Record<string, unknown>): Set<string> {
  const kinds = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies']
  return new Set(kinds.flatMap((kind) => Object.keys(isRecord(manifest[kind]) ? manifest[kind] : {})))
}

function readManifest(root: string): Record<string, unknown> {
  const file = join(root, 'package.json')
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new UsageError(`${shown(file)} cannot be read: ${errorSentence(error)}`, { cause: error })
    }
    const above = nearestAbove(root, (at) => existsSync(join(at, 'package.json')))
    const mend =
      above === undefined
        ? 'Run `npm init -y` first.'
        : `The nearest one is in ${shown(above)}: run it there.`
    throw new UsageError(`There is no package.json in ${shown(root)}. ${mend}`)
  }
  let manifest: unknown
  try {
    manifest = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    throw new UsageError(`${shown(file)} is not JSON: ${errorSentence(error)} Mend it first.`, {
      cause: error,
    })
  }
  if (!isRecord(manifest)) throw new UsageError(`${shown(file)} holds no object. Mend it first.`)
  return manifest
}

/** What is attached belongs to one package, not to the folder around several. */
function refuseWorkspace(root: string, manifest: Record<string, unknown>): void {
  const patterns = workspacesOf(root, manifest)
  if (patterns === undefined || hasAgent(root)) return
  const packages = patterns.flatMap((pattern) => foldersOf(root, pattern))
  const withSdk = packages.flatMap((folder) => {
    const sdks = sdksOf(join(root, folder))
    return sdks.length === 0 ? [] : `${folder} (${sdks.join(', ')})`
  })
  const where =
    withSdk.length > 0
      ? `These have an SDK that is known: ${withSdk.join(', ')}.`
      : 'Go to the package of your agent.'
  throw new UsageError(
    `${shown(root)} is the root of several packages: run it in one of them. ${shown(where)}`,
  )
}

/** Sources of its own, beside those of its packages, load an SDK that its package.json names. */
function hasAgent(root: string): boolean {
  const sdks = sdksOf(root).map((sdk) => sdk.replaceAll('.', '\\.'))
  if (sdks.length === 0) return false
  const loads = new RegExp(`\\b(?:from|import|require\\()\\s*['"](?:${sdks.join('|')})['"/]`)
  return sourceFiles(root).some((file) => loads.test(readFileSync(join(root, file), 'utf8')))
}

function workspacesOf(root: string, { workspaces }: Record<string, unknown>): string[] | undefined {
  const given = isRecord(workspaces) ? workspaces.packages : workspaces
  if (Array.isArray(given)) return given.map(String)
  const pnpm = join(root, 'pnpm-workspace.yaml')
  if (!existsSync(pnpm)) return undefined
  try {
    const { packages } = parseYaml(readFileSync(pnpm, 'utf8')) as { packages?: unknown }
    // pnpm keeps settings there, too.
    return Array.isArray(packages) ? packages.map(String) : undefined
  } catch {
    return []
  }
}

/** `packages/*` and plain folders; what else a pattern may be is not looked into. */
function foldersOf(root: string, pattern: string): string[] {
  const plain = pattern.replace(/\/+$/, '')
  if (!plain.endsWith('/*')) return /[*?!{[]/.test(plain) ? [] : [plain]
  const above = plain.slice(0, -2)
  try {
    return readdirSync(join(root, above)).map((name) => `${above}/${name}`)
  } catch {
    return []
  }
}

function sdksOf(folder: string): string[] {
  try {
    const names = dependenciesOf(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))
    return KNOWN_SDKS.map(([sdk]) => sdk).filter((sdk) => names.has(sdk))
  } catch {
    return []
  }
}

function configAbove(root: string): string | undefined {
  const has = (at: string) => CONFIG_NAMES.some((name) => existsSync(join(at, name)))
  const folder = has(root) ? root : nearestAbove(root, has)
  const name = CONFIG_NAMES.find((one) => folder !== undefined && existsSync(join(folder, one)))
  return folder === undefined || name === undefined ? undefined : join(folder, name)
}

function nearestAbove(from: string, fits: (folder: string) => boolean): string | undefined {
  // As far up as config files are looked for.
  for (let at = from; dirname(at) !== at && at !== homeFolder(); ) {
    at = dirname(at)
    if (fits(at)) return at
  }
  return undefined
}

/** Folders without sources of the project's own. */
const NOT_OURS =
  /^(\..*|node_modules|dist|build|out|coverage|vendor|tests?|__tests__|e2e|fixtures|examples?)$/
const SOURCE = /(?<!\.(test|spec|d|config|stories))\.[cm]?[jt]sx?$/
const MOST_FILES = 5_000
const MAX_BYTES = 1_000_000

/** The sources of the project, by their paths below its root; the packages in it are others. */
export function sourceFiles(root: string): string[] {
  const files: string[] = []
  const folders = ['']
  for (
    let folder = folders.shift();
    folder !== undefined && files.length < MOST_FILES;
    folder = folders.shift()
  ) {
    const entries = readdirSync(join(root, folder), { withFileTypes: true })
    if (folder !== '' && entries.some(({ name }) => name === 'package.json')) continue
    for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory() && !NOT_OURS.test(entry.name)) folders.push(path)
      else if (entry.isFile() && SOURCE.test(entry.name) && statSync(join(root, path)).size <= MAX_BYTES) {
        files.push(path)
      }
    }
  }
  return files
}
