/** What the commands that read runs have in common. */
import type { Command } from 'commander'
import { defined } from '../../internal/objects.ts'
import type { RunSource, RunWithRows } from '../../viewer/run-source.ts'
import { createPaint, type Paint } from '../../viewer/text/paint.ts'

export interface SourceFlags {
  db?: string
  url?: string
  json?: boolean
}

export function withSourceFlags(command: Command): Command {
  return withSource(command).option('--json', 'print JSON')
}

export function withSource(command: Command): Command {
  return command
    .option('--db <file>', 'read this file instead of asking the running viewer')
    .option('--url <address>', 'ask the viewer at this address')
}

/** Opens the runs for as long as `use` runs. The store is loaded only now: other commands do without SQLite. */
export async function withRuns<T>(flags: SourceFlags, use: (source: RunSource) => Promise<T>): Promise<T> {
  const { openRunSource } = await import('../../viewer/run-source.ts')
  const { db, url } = flags
  const source = await openRunSource(defined({ db, url }))
  try {
    return await use(source)
  } finally {
    source.close()
  }
}

/** By id, the beginning of one, or `latest`. */
export async function findRun(source: RunSource, given: string): Promise<RunWithRows> {
  const id = given === 'latest' ? (await source.listRuns('', 1)).runs[0]?.traceId : given
  const run = id === undefined ? undefined : await source.run(id)
  if (!run)
    throw new Error(`No run "${given}" in ${source.from}, or several begin so. \`hookspan runs\` lists them.`)
  return run
}

export function terminalPaint(): Paint {
  const { env, stdout } = process
  return createPaint(env.FORCE_COLOR ? env.FORCE_COLOR !== '0' : Boolean(stdout.isTTY) && !env.NO_COLOR)
}

export function terminalWidth(): number {
  return process.stdout.columns || Number(process.env.COLUMNS) || 120
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}
