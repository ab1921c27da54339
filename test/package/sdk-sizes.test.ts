/** The table in docs/tracing.md of what an SDK brings along, held against what npm installs. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ROOT, run } from './support.ts'

function bytesOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
  return files
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
}

it.each(['@opentelemetry/sdk-node', '@opentelemetry/sdk-trace'])(
  'docs/tracing.md tells what %s brings along, to a tenth',
  async (sdk) => {
    const page = readFileSync(join(ROOT, 'docs/tracing.md'), 'utf8')
    const [, packages, size] = new RegExp(`\\| .${sdk}. \\| (\\d+) \\| (\\d+) MB \\|`).exec(page) ?? []
    const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules', sdk, 'package.json'), 'utf8'))
    const folder = mkdtempSync(join(tmpdir(), 'hookspan-sdk-size-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    const flags = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts']
    await run('npm', ['install', ...flags, `${sdk}@${version}`, '@opentelemetry/api@1.10'], { cwd: folder })
    const lock = JSON.parse(readFileSync(join(folder, 'node_modules/.package-lock.json'), 'utf8'))
    // What these need is not pinned: patches come and go.
    const near = (told: string | undefined, counted: number) =>
      expect([told, Math.abs(Number(told) - counted) <= Math.max(counted / 10, 1), counted]).toEqual([
        told,
        true,
        counted,
      ])
    near(packages, Object.keys(lock.packages).length)
    near(size, bytesOf(join(folder, 'node_modules')) / 1e6)
  },
)
