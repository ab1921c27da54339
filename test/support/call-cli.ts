import { format } from 'node:util'
import { vi } from 'vitest'
import { main } from '../../src/cli/program.ts'
import { type CliRun, inheritedEnv } from './run-cli.ts'

let last: Promise<unknown> = Promise.resolve()

/**
 * Runs the command line in this process, one after the other: where a test asks what a command does and says. A process of its
 * own (`runCli`) loads all of it anew, which is most of its time; each command has some, for how it starts, is heard and ends.
 */
export function callCli(
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): Promise<CliRun> {
  const run = last.then(() => call(args, options))
  last = run.catch(() => {})
  return run
}

async function call(
  args: readonly string[],
  { env = {}, cwd = process.cwd() }: { env?: Record<string, string>; cwd?: string },
): Promise<CliRun> {
  const before = { env: { ...process.env }, cwd: process.cwd(), exitCode: process.exitCode }
  const said = { stdout: '', stderr: '' }
  const hear = (name: keyof typeof said) =>
    vi.spyOn(process[name], 'write').mockImplementation((chunk, ...rest: unknown[]) => {
      said[name] += String(typeof chunk === 'string' ? chunk : Buffer.from(chunk))
      const done = rest.at(-1)
      if (typeof done === 'function') process.nextTick(done)
      return true
    })
  const hearConsole = (method: 'log' | 'info' | 'warn' | 'error', name: keyof typeof said) =>
    vi.spyOn(console, method).mockImplementation((...words) => {
      said[name] += `${format(...words)}\n`
    })
  const heard = [
    ...[hear('stdout'), hear('stderr')],
    ...[hearConsole('log', 'stdout'), hearConsole('info', 'stdout')],
    ...[hearConsole('warn', 'stderr'), hearConsole('error', 'stderr')],
  ]
  setEnv({ ...inheritedEnv(), ...env })
  process.chdir(cwd)
  try {
    return { code: await main(args), ...said }
  } finally {
    for (const one of heard) one.mockRestore()
    setEnv(before.env)
    process.chdir(before.cwd)
    process.exitCode = before.exitCode
  }
}

function setEnv(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}
