import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import type { Effect } from './effects.ts'

const WATCH = fileURLToPath(new URL('./effects.ts', import.meta.url))

export interface Watched {
  /** Its id, where it was killed. */
  readonly killed: number | undefined
  readonly stdout: string
}

/** With hookspan as it is built, in one file: finding and loading a hundred takes longer than all that is done in them. */
function inOneFile(script: string, shared: string): string {
  const outfile = `${shared}/${basename(script, '.ts')}.mjs`
  if (existsSync(outfile)) return outfile
  // Without our tsconfig, by whose paths it would take hookspan's sources.
  const how = { bundle: true, platform: 'node', format: 'esm', logLevel: 'error', tsconfigRaw: '{}' } as const
  buildSync({ entryPoints: [script], outfile, ...how })
  return outfile
}

/**
 * Runs a script in a process that `effects.ts` watches. `shared`: what is kept between tests, as its compiled code.
 * `folder`: what it writes to.
 */
export async function runWatched(
  script: string,
  args: readonly string[],
  { shared, folder, env }: { shared: string; folder: string; env: NodeJS.ProcessEnv },
): Promise<Watched> {
  const child = spawn(
    process.execPath,
    ['--no-warnings', '--import', WATCH, inOneFile(script, shared), ...args],
    {
      env: { ...process.env, NODE_COMPILE_CACHE: `${shared}/code`, FOLDER: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const [[code, signal], stdout, stderr] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ])
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(`${args[0]} failed (${code ?? signal}):\n${stderr}`)
  return { killed: signal === 'SIGKILL' ? child.pid : undefined, stdout }
}

/** What a process of `EFFECTS` wrote down. */
export function effectsIn(path: string): Effect[] {
  return JSON.parse(readFileSync(path, 'utf8')) as Effect[]
}
