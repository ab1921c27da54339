import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { inject } from 'vitest'

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

/** The packed package: one for all files of a run. */
export const tarball = (): string => inject('shared').tarball

export const NPM_FLAGS = ['--no-audit', '--no-fund', '--prefer-offline']

const NPM_FILES = [
  'package.json',
  'package-lock.json',
  'node_modules/.package-lock.json',
  '.package-lock.json',
]

/** A folder with what another has: the files are the same ones, but for those that npm writes anew where they are. */
export async function linked(from: string, to: string): Promise<void> {
  await run('cp', ['-al', from, to])
  for (const name of NPM_FILES) {
    if (!existsSync(join(to, name))) continue
    rmSync(join(to, name))
    cpSync(join(from, name), join(to, name), { preserveTimestamps: true })
  }
}

/** What `make` makes under a name of a folder: the first file that wants it does, others wait for it. */
async function onceInARun(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(inject('shared').folder, name)
  const [made, failed] = [`${folder}.made`, `${folder}.failed`]
  try {
    mkdirSync(folder)
  } catch {
    while (!existsSync(made)) {
      if (existsSync(failed)) throw new Error(readFileSync(failed, 'utf8'))
      await setTimeout(200)
    }
    return folder
  }
  await make(folder).then(
    () => writeFileSync(made, ''),
    (error: unknown) => {
      writeFileSync(failed, String(error))
      throw error
    },
  )
  return folder
}

/**
 * An empty project with the packed package, `beside` and `more` installed in it, and nothing else. npm takes as long for some
 * packages as the tests that use them, so `beside` is installed once for all that want the same.
 */
export async function installPacked(
  beside: readonly string[] = [],
  more: readonly string[] = [],
): Promise<{ folder: string; remove(): void }> {
  const name = ['packed', ...beside].join('+').replaceAll('/', '-')
  const base = await onceInARun(name, async (cwd) => {
    writeFileSync(join(cwd, 'package.json'), '{"private":true,"type":"module"}')
    await run('npm', ['install', ...NPM_FLAGS, tarball(), ...beside], { cwd })
  })
  const parent = mkdtempSync(join(tmpdir(), 'hookspan-package-'))
  const folder = join(parent, 'project')
  await linked(base, folder)
  if (more.length > 0) await run('npm', ['install', ...NPM_FLAGS, ...more], { cwd: folder })
  return { folder, remove: () => rmSync(parent, { recursive: true, force: true }) }
}

/** Runs a module in a project and gives what it prints. */
export async function runModule(folder: string, code: string): Promise<string> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder })
  return stdout
}
