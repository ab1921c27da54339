interface Manifest {
  readonly name?: string
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly testedWith?: Readonly<Record<string, string>>
}

export interface Installed {
  readonly version: string
  /** Its package.json, to look from there. */
  readonly manifest: string
}

/** From the package's entry up to its package.json, which `exports` may hide; or by its folder, if it has no entry. */
export function findInstalled(name: string, from: string): Installed | undefined {
  const { createRequire } = process.getBuiltinModule('node:module')
  const { dirname, join } = process.getBuiltinModule('node:path')
  const require = createRequire(from)
  let folder: string | undefined
  try {
    folder = dirname(require.resolve(name))
  } catch {
    const folders = (require.resolve.paths(name) ?? []).map((path) => join(path, name))
    folder = folders.find((path) => readManifest(join(path, 'package.json')) !== undefined)
  }
  for (; folder !== undefined; folder = dirname(folder) === folder ? undefined : dirname(folder)) {
    const manifest = join(folder, 'package.json')
    const value = readManifest(manifest)
    if (value?.name === name && value.version !== undefined) return { version: value.version, manifest }
  }
  return undefined
}

export function readManifest(path: string | URL | undefined): Manifest | undefined {
  if (path === undefined) return undefined
  try {
    return JSON.parse(process.getBuiltinModule('node:fs').readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

let ranges: Manifest | undefined

/**
 * The versions of an SDK that are tested, as the package says: `>=1.2 <3`. Optional peers have theirs in a field that npm
 * does not read, because it refuses to install beside others. `here`: the file that asks, two folders below package.json;
 * in a bundle it is below that of another, or nowhere.
 */
export function testedIn(here: string | undefined, name: string): string | undefined {
  ranges ??= (here && readManifest(new URL('../../package.json', here))) || {}
  if (ranges.name !== 'hookspan') return undefined
  const { peerDependencies, testedWith } = ranges
  return testedWith?.[name] ?? peerDependencies?.[name]
}

/** For ranges as ours are: `>=1.2 <3`. */
export function isWithin(version: string, range: string): boolean {
  const [from = '', below = ''] = range.split(' ')
  return compare(version, from.replace('>=', '')) >= 0 && compare(version, below.replace('<', '')) < 0
}

function compare(one: string, other: string): number {
  const [a, b] = [one, other].map((text) => (text.split(/[-+]/)[0] ?? '').split('.').map(Number))
  for (let i = 0; i < 3; i++) {
    const difference = (a?.[i] ?? 0) - (b?.[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

const asked = new Set<string>()

/**
 * Says once when the SDK that is installed beside hookspan is none of the versions that it was tested with, as seen
 * `from` there. `here`: as for `testedIn`.
 */
export function warnUntested(name: string, from: string, here: string | undefined): void {
  if (asked.has(name)) return
  asked.add(name)
  try {
    const range = testedIn(here, name)
    const installed = range && findInstalled(name, from)
    if (!range || !installed || isWithin(installed.version, range)) return
    console.warn(
      `hookspan was tested with ${name} ${range}, and ${installed.version} is installed. What this version does ` +
        `otherwise is not known: check that its runs show up, install ${name}@"${range}", or update hookspan.`,
    )
  } catch {
    // Bundled, or not of Node: nobody can tell.
  }
}
