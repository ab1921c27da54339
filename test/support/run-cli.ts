import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** Built by `npm test` before the tests; a third faster to start than the sources. */
const bin = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))

export interface CliRun {
  code: number | null
  stdout: string
  stderr: string
}

/** What a command takes over from those who run the tests. */
export function inheritedEnv(): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(OTEL_|HOOKSPAN_|FORCE_COLOR|NO_COLOR|CI$|COLUMNS|NODE_OPTIONS|VITEST|JAEGER_)/.test(name),
  )
  return Object.fromEntries(inherited)
}

/** Runs the command line in a process of its own, as a user does. @param options.command Another file to run. */
export async function runCli(
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string; command?: string } = {},
): Promise<CliRun> {
  const child = spawn(process.execPath, [options.command ?? bin, ...args], {
    env: { ...inheritedEnv(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // No command takes as long; one that never ends must not outlive its test.
    timeout: 120_000,
    killSignal: 'SIGKILL',
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  })
  const [[code], stdout, stderr] = await Promise.all([
    once(child, 'close') as Promise<[number | null]>,
    text(child.stdout),
    text(child.stderr),
  ])
  return { code, stdout, stderr }
}
