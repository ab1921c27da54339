/** The table in docs/tracing.md of what an SDK brings along, held against what npm has installed here. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from './support.ts'

const TOP = resolve(ROOT)

/** Without what lies in node_modules of its own: those are packages, too. */
function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name)
    if (!entry.isDirectory()) return sum + statSync(path).size
    return entry.name === 'node_modules' ? sum : sum + bytesOf(path)
  }, 0)
}

/** Where a package is found from another, as Node looks for it. */
function folderOf(name: string, from: string): string {
  const folder = join(from, 'node_modules', name)
  if (existsSync(folder)) return folder
  if (from === TOP) throw new Error(`${name} is not installed`)
  return folderOf(name, join(from, '..'))
}

/** A package and all that it needs, each once, with its folder: beside other packages some lie here several times. */
function needed(name: string, from = TOP, found = new Map<string, string>()): Map<string, string> {
  const folder = folderOf(name, from)
  const { version, dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  if (found.has(`${name}@${version}`)) return found
  found.set(`${name}@${version}`, folder)
  for (const other of Object.keys(dependencies)) needed(other, folder, found)
  return found
}

it.each(['@opentelemetry/sdk-node', '@opentelemetry/sdk-trace'])(
  'docs/tracing.md tells what %s brings along, to a tenth',
  (sdk) => {
    const page = readFileSync(join(ROOT, 'docs/tracing.md'), 'utf8')
    const [, packages, size] = new RegExp(`\\| .${sdk}. \\| (\\d+) \\| (\\d+) MB \\|`).exec(page) ?? []
    const folders = needed('@opentelemetry/api', TOP, needed(sdk))
    const near = (told: string | undefined, counted: number) =>
      expect([told, Math.abs(Number(told) - counted) <= Math.max(counted / 10, 1), counted]).toEqual([
        told,
        true,
        counted,
      ])
    near(packages, folders.size)
    near(size, [...folders.values()].reduce((sum, folder) => sum + bytesOf(folder), 0) / 1e6)
  },
)
