import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const src = fileURLToPath(new URL('../src', import.meta.url))
const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** Which folders of ours a folder may import. `internal` is open to all. */
const CORE = ['hooks', 'wire', 'gates', 'dispatcher']
const TOP = [...CORE, 'spans', 'tracing', 'mock', 'policies', 'approval']
const ARROWS: Record<string, readonly string[]> = {
  hooks: [],
  wire: ['hooks'],
  gates: ['hooks'],
  dispatcher: ['hooks', 'wire', 'gates'],
  adapter: CORE,
  spans: CORE,
  tracing: [...CORE, 'spans'],
  mock: [...CORE, 'spans'],
  policies: CORE,
  approval: CORE,
  agent: TOP,
  adapters: [...TOP, 'adapter'],
  durable: [...CORE, 'agent'],
  vitest: [...CORE, 'spans', 'mock'],
  'vitest-reporter': ['mock', 'vitest'],
  viewer: ['approval', 'wire'],
  register: [...CORE, 'adapter', 'tracing', 'policies', 'adapters'],
  cli: [...TOP, 'adapter', 'agent', 'adapters', 'viewer'],
  internal: [],
  '.': ['hooks', 'wire', 'dispatcher'],
}

/** Folders whose import loads no package: whoever installs hookspan alone pays for nothing else. */
const WITHOUT_PACKAGES = [
  'hooks',
  'wire',
  'gates',
  'dispatcher',
  'adapter',
  'spans',
  'mock',
  'internal',
  'approval',
  '.',
]

interface Import {
  readonly from: string
  readonly specifier: string
  readonly typeOnly: boolean
  /** Loaded with the file, not when it is needed. */
  readonly atOnce: boolean
}

const STATEMENT =
  /(?:^|\n)\s*(?:import|export)\s+(?<clause>[^'";]*?)\s*from\s+'(?<from>[^']+)'|(?<!typeof )\bimport\('(?<dynamic>[^']+)'\)|(?:^|\n)import\s+'(?<bare>[^']+)'|\brequirePeer(?:<[^>]*>)?\(\s*'(?<peer>[^']+)'/g

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
)

const text = (path: string) => readFileSync(join(src, path), 'utf8')

const imports: Import[] = files.flatMap((from) =>
  [...text(from).matchAll(STATEMENT)].map(({ groups = {} }) => {
    const { clause = '', from: named, dynamic, bare, peer } = groups
    const specifiers = /^\{(?<list>[^}]*)\}$/s.exec(clause)?.groups?.list?.split(',') ?? []
    const typeOnly =
      clause.startsWith('type ') ||
      (specifiers.length > 0 &&
        specifiers.every((name) => name.trim() === '' || name.trim().startsWith('type ')))
    const specifier = (named ?? dynamic ?? bare ?? peer) as string
    return { from, specifier, typeOnly, atOnce: !typeOnly && (named ?? bare) !== undefined }
  }),
)

const folderOf = (path: string) => (path.includes('/') ? (path.split('/')[0] as string) : '.')

const ours = imports
  .filter(({ specifier }) => specifier.startsWith('.'))
  .map((edge) => ({ ...edge, to: normalize(join(dirname(edge.from), edge.specifier)) }))
  .filter(({ from, to }) => folderOf(from) !== folderOf(to))

const packages = imports
  .filter(({ specifier }) => !specifier.startsWith('.') && !specifier.startsWith('node:'))
  .map((edge) => ({
    ...edge,
    name: edge.specifier
      .split('/')
      .slice(0, edge.specifier.startsWith('@') ? 2 : 1)
      .join('/'),
  }))

describe('the sources', () => {
  it('are read: there are imports to judge', () => {
    expect(ours.length).toBeGreaterThan(200)
    expect(ours).toContainEqual(
      expect.objectContaining({ from: 'dispatcher/dispatcher.ts', to: 'hooks/index.ts' }),
    )
    expect(packages.map(({ name }) => name)).toContain('@opentelemetry/api')
  })

  it('have a place in the order of folders', () => {
    expect(Object.keys(ARROWS)).toEqual(expect.arrayContaining([...new Set(files.map(folderOf))]))
  })

  it('import only folders below their own', () => {
    const wrong = ours.filter(({ from, to }) => {
      const target = folderOf(to)
      return target !== 'internal' && !ARROWS[folderOf(from)]?.includes(target)
    })

    expect(wrong.map(({ from, to }) => `${from} -> ${to}`)).toEqual([])
  })

  it('reach no file by two ways in a circle of folders', () => {
    const below = new Map<string, Set<string>>()
    for (const { from, to, typeOnly } of ours) {
      if (typeOnly) continue
      below.set(folderOf(from), (below.get(folderOf(from)) ?? new Set()).add(folderOf(to)))
    }
    const reaches = (start: string, goal: string, seen = new Set<string>()): boolean =>
      [...(below.get(start) ?? [])].some(
        (next) => next === goal || (!seen.has(next) && reaches(next, goal, seen.add(next))),
      )

    expect([...below.keys()].filter((folder) => reaches(folder, folder))).toEqual([])
  })

  it.each(['src', 'ui/src', 'bench', 'scripts'])(
    'have no circle of files in %s, types included',
    (folder) => {
      const at = join(src, '..', folder)
      const known = readdirSync(at, { recursive: true, encoding: 'utf8' }).filter(
        (path) => /(?<!\.test)\.tsx?$/.test(path) && !path.includes('node_modules'),
      )
      expect(known.length).toBeGreaterThan(5)
      const to = new Map<string, string[]>(known.map((file) => [file, []]))
      for (const from of known) {
        for (const { groups = {} } of readFileSync(join(at, from), 'utf8').matchAll(STATEMENT)) {
          const specifier = groups.from ?? groups.dynamic ?? groups.bare ?? ''
          const target = specifier.startsWith('.') ? normalize(join(dirname(from), specifier)) : ''
          if (to.has(target)) to.get(from)?.push(target)
        }
      }
      // Takes away, again and again, what imports nothing that is left or is imported by nothing that is left.
      for (let size = -1; size !== to.size; ) {
        size = to.size
        for (const [file, targets] of to) {
          const below = targets.some((target) => to.has(target))
          if (!below || ![...to.values()].some((others) => others.includes(file))) to.delete(file)
        }
      }

      expect([...to.keys()]).toEqual([])
    },
  )

  it('adapt a generated client in at most 60 lines, and import nothing of the mocks for any SDK', () => {
    const adapters = files.filter(
      (path) =>
        path.startsWith('adapters/') && text(path).includes("'../generated-client/observe-client.ts'"),
    )
    expect(adapters).toContain('adapters/openai/observe-openai.ts')
    for (const path of adapters) expect([path, text(path).split('\n').length <= 60]).toEqual([path, true])
    const mocks = ours.filter(({ from, to }) => from.startsWith('adapters/') && to.startsWith('mock/'))
    expect(mocks).toEqual([])
  })

  it('use only packages that are declared', () => {
    const { dependencies, peerDependencies, peerDependenciesMeta } = manifest
    const declared = Object.keys({ ...dependencies, ...peerDependencies, ...peerDependenciesMeta })
    const wrong = packages.filter(
      ({ name, specifier }) => !declared.includes(name) && !builtinModules.includes(specifier),
    )

    expect(wrong.map(({ from, specifier }) => `${from} -> ${specifier}`)).toEqual([])
  })

  it('load no package in the core', () => {
    const wrong = packages.filter(
      ({ from, name, atOnce }) =>
        WITHOUT_PACKAGES.includes(folderOf(from)) && atOnce && name !== '@opentelemetry/api',
    )

    expect(wrong.map(({ from, specifier }) => `${from} -> ${specifier}`)).toEqual([])
  })

  it('load optional peers only when they are used', () => {
    const optional = Object.keys(manifest.peerDependenciesMeta)
    const loaded = packages.filter(({ name, atOnce }) => atOnce && optional.includes(name))

    // The fixtures are of no use without vitest, and whoever imports them runs in it.
    expect(loaded.map(({ from, specifier }) => `${from} -> ${specifier}`)).toEqual([
      'vitest/fixtures.ts -> vitest',
    ])
  })

  it('re-export by name in the index.ts of every public folder, and do nothing else there', () => {
    for (const path of files.filter((name) => /^((adapters?\/|durable\/)?[^/]+\/)?index\.ts$/.test(name))) {
      const rest = text(path)
        .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
        .replace(/export (?:type )?\{[^}]*\} from '[^']+'/g, '')
        .trim()
      expect([path, rest]).toEqual([path, ''])
    }
  })

  it('have a public name for each folder that has an index.ts, and no other', () => {
    const folders = files.filter((path) => path.endsWith('/index.ts')).map((path) => dirname(path))
    const isPublic = (folder: string) =>
      !/^(internal|hooks|dispatcher|cli)(\/|$)/.test(folder) &&
      !/^(?!adapters?\/|durable\/)[^/]+\//.test(folder)
    const expected = folders
      .filter(isPublic)
      .map((folder) => `./${folder.replace(/^(adapters|durable)\//, '')}`)
    const names = Object.keys(manifest.exports).filter((name) => !/^\.$|schemas|package\.json/.test(name))

    expect(names.sort()).toEqual(expected.sort())
  })
})

describe('ARCHITECTURE.md', () => {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const places = (folder: string) => [folder, dirname(folder), ''].map((one) => join('src', one))
  const isThere = (name: string, within: string[]) =>
    within.some((folder) => ['.ts', '.tsx', ''].some((end) => existsSync(join(root, folder, name + end))))

  it('has a line in the house for each folder of the sources', () => {
    const house = page.slice(page.indexOf('## The house'), page.indexOf('Arrows:'))
    const folders = readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory())

    const untold = folders.map(({ name }) => name).filter((name) => !house.includes(`\n  ${name}/ `))
    expect(untold).toEqual([])
  })

  it('draws ways through files that there are', () => {
    const drawn: string[] = []
    const missing: string[] = []
    const ways = page.slice(page.indexOf('## Two ways'), page.indexOf('## Two seams'))
    let folder = ''
    for (const line of ways
      .split('```')
      .filter((_text, index) => index % 2 === 1)
      .join('')
      .split('\n')) {
      const [, head = '', rest = ''] = /^ (?:([\w/-]*\/) +|(?=\w)| {2,})(.*)$/.exec(line) ?? []
      if (head !== '') folder = head
      const names =
        rest
          .split(/ {2,}/)[0]
          ?.split(/ ?[→|,] ?/)
          .filter((name) => /^[a-z]/.test(name)) ?? []
      drawn.push(...names)
      const within = folder.startsWith('ui/') ? [folder] : places(folder)
      missing.push(...names.filter((name) => !isThere(name, within)))
    }
    expect(drawn.length).toBeGreaterThan(25)
    expect(missing).toEqual([])
  })

  it('names files and folders that there are', () => {
    const named = [...page.matchAll(/[`(]((?:[a-z-]+\/)+(?:[a-z-]+\.ts)?)[`)]/g)].map(
      ([, name]) => name as string,
    )
    expect(named.length).toBeGreaterThan(8)
    expect(named.filter((name) => !isThere(name, ['src', 'ui', '.']))).toEqual([])
  })
})
