import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import { OLDEST_VITEST, OTEL_SDKS } from './package/otel-sdks.ts'
import { TOOLS } from './package/tools.ts'

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  /** Of exact versions. */
  readonly withoutLock?: Readonly<Record<string, string>>
}
interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string }>>
}

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

/** The packages that a folder asks for, each with the version that its lock installs. `openai-6` is an `openai`. */
function installedIn(folder: string): [name: string, version: string][] {
  const { dependencies, devDependencies, withoutLock } = JSON.parse(read(`${folder}package.json`)) as Manifest
  const { packages } = JSON.parse(read(`${folder}package-lock.json`)) as Lock
  const locked = Object.entries({ ...dependencies, ...devDependencies }).map(
    ([name, asked]): [name: string, version: string] => [
      /^npm:(.+)@/.exec(asked)?.[1] ?? name,
      packages[`node_modules/${name}`]?.version ?? 'none',
    ],
  )
  return [...locked, ...Object.entries(withoutLock ?? {})]
}

const TESTED = [
  ...['', 'test/sdks/', 'test/sdks/oldest/', 'test/durable/'].flatMap(installedIn),
  ...[...Object.values(OTEL_SDKS).flat(), OLDEST_VITEST].map(
    (one) => [one.slice(0, one.lastIndexOf('@')), one.slice(one.lastIndexOf('@') + 1)] as const,
  ),
  ...[TOOLS.node, TOOLS.newestNode].map(({ version }) => ['node', version] as const),
]

const byVersion = (one: string, other: string) => one.localeCompare(other, 'en', { numeric: true })

/** A version that another one tells more exactly is left out: `1.10` beside `1.10.0`. */
function versionsOf(name: string): string[] {
  const all = [...new Set(TESTED.filter(([tested]) => tested === name).map(([, version]) => version))]
  return all.filter((one) => !all.some((other) => other.startsWith(`${one}.`))).sort(byVersion)
}

it('lists what hookspan attaches to, the range of each, and the versions that the tests run on', () => {
  const packages = Object.entries({ ...manifest.peerDependencies, ...manifest.testedWith })
  const ranges = [['node', manifest.engines.node], ...packages.sort(([a], [b]) => (a < b ? -1 : 1))] as const
  const rows = ranges.map(
    ([name, range]) => `| \`${name}\` | \`${range}\` | ${versionsOf(name as string).join(', ')} |`,
  )
  expect(read('docs/supported-versions.md').match(/^\| `.*$/gm)).toEqual(rows)
})
