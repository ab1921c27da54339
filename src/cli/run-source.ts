/** What the commands that read runs have in common. */
import type { Command } from 'commander'
import { defined } from '../internal/objects.ts'
import type { RunSource, RunWithRows } from '../viewer/run-source.ts'
import { UsageError } from './failure.ts'

export interface SourceFlags {
  db?: string
  url?: string
  from?: string
  most?: string
  json?: boolean
}

export function withSourceFlags(command: Command): Command {
  return withSource(command).option('--json', 'print JSON')
}

export function withSource(command: Command): Command {
  return command
    .option('--db <file>', 'read this file instead of asking the running viewer')
    .option('--url <address>', 'ask the viewer at this address')
    .option(FROM_FLAG, `read from a Jaeger instead, ${FROM_SAYS}`)
    .option(MOST_FLAG, MOST_SAYS)
}

export const FROM_FLAG = '--from <source>'
/** Where credentials come from is said where they are looked for. */
export const FROM_SAYS =
  'such as jaeger=http://jaeger:16686; HOOKSPAN_JAEGER_TOKEN, or _USER and _PASSWORD, say who reads'
export const MOST_FLAG = '--most <count>'
export const MOST_SAYS = 'with --from: so many runs of each service are fetched, the newest (100; up to 1500)'

/** @throws UsageError */
export function mostOf(text: string | undefined, from: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (from === undefined)
    throw new UsageError('--most says how much is fetched from a Jaeger: it needs --from.')
  const most = Number(text)
  if (/^\d+$/.test(text) && most >= 1 && most <= 1_500) return most
  throw new UsageError(`Expected --most to be a whole number from 1 to 1500, got \`${text}\`.`)
}

/** Opens the runs for as long as `use` runs. The store is loaded only now: other commands do without SQLite. */
export async function withRuns<T>(flags: SourceFlags, use: (source: RunSource) => Promise<T>): Promise<T> {
  const source = await openSource(flags)
  try {
    return await use(source)
  } finally {
    source.close()
  }
}

/** For who asks again and again: what was fetched from elsewhere is kept from one time to the next. */
export function manyTimes(flags: SourceFlags): <T>(use: (source: RunSource) => Promise<T>) => Promise<T> {
  if (flags.from === undefined) return (use) => withRuns(flags, use)
  let source: Promise<RunSource> | undefined
  return async (use) => {
    source ??= openSource(flags)
    return use(await source)
  }
}

async function openSource({ db, url, from, most }: SourceFlags): Promise<RunSource> {
  const fetched = mostOf(most, from)
  const [one, other] = Object.keys(defined({ from, db, url }))
  if (other !== undefined) throw new UsageError(`Expected --${one} or --${other}, got both.`)
  const { openRunSource } = await import('../viewer/open-run-source.ts')
  return openRunSource(defined({ db, url, from, most: fetched }))
}

/** By id, the beginning of one, or `latest`. */
export async function findRun(source: RunSource, given: string): Promise<RunWithRows> {
  const id = given === 'latest' ? (await source.listRuns('', 1)).runs[0]?.traceId : given
  const run = id === undefined ? undefined : await source.run(id)
  if (!run)
    throw new Error(`No run "${given}" in ${source.from}, or several begin so. \`hookspan runs\` lists them.`)
  return run
}
