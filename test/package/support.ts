import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** The public names of the package: `hookspan`, `hookspan/gates`, ... */
export const SUBPATHS: readonly string[] = Object.keys(manifest.exports)
  .filter((name) => !/schemas|package\.json/.test(name))
  .map((name) => name.replace(/^\./, 'hookspan'))

export const run = promisify(execFile)

/** What npx, vitest and Node of a project must not take over from this test run. */
export const outside: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries({ ...process.env, NO_COLOR: '1', JAEGER_UI_URL: '' }).filter(
    ([name]) =>
      !/^(VITEST|NODE_ENV$|NODE_OPTIONS$|OTEL_|HOOKSPAN_|npm_|INIT_CWD$|CI$|FORCE_COLOR$)/.test(name),
  ),
)

/** Packs the package into a folder. @returns the tarball's path. */
export async function pack(folder: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT })
  return join(folder, stdout.trim())
}

/** An empty project with the packed package, and nothing else, installed in it. */
export async function installPacked(...beside: string[]): Promise<{ folder: string; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-package-'))
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const flags = ['--no-audit', '--no-fund', '--prefer-offline']
  await run('npm', ['install', ...flags, await pack(folder), ...beside], { cwd: folder })
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Runs a module in a project and gives what it prints. */
export async function runModule(folder: string, code: string): Promise<string> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder })
  return stdout
}
