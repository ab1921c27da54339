import type { Command } from 'commander'
import { nearestName } from '../../internal/nearest-name.ts'
import { defined } from '../../internal/objects.ts'
import { formatWhole } from '../../viewer/model/format.ts'
import { NEWEST_FIRST, SORT_KEYS } from '../../viewer/model/query-keys.ts'
import { USE_KINDS, type UseKind } from '../../viewer/model/run-uses.ts'
import { numbersText } from '../../viewer/text/numbers-text.ts'
import { runsText } from '../../viewer/text/runs-text.ts'
import { setsText } from '../../viewer/text/sets-text.ts'
import { usesText } from '../../viewer/text/uses-text.ts'
import type { CheckpointFlags } from '../checkpoints/load-config.ts'
import { UsageError } from '../failure.ts'
import { shown } from '../render/shown.ts'
import { printJson, terminalPaint, terminalWidth } from '../render/terminal.ts'
import {
  FROM_FLAG,
  FROM_SAYS,
  MOST_FLAG,
  MOST_SAYS,
  type SourceFlags,
  withRuns,
  withSourceFlags,
} from '../run-source.ts'
import { withCheckpointFlags } from './resume.ts'

export function registerRuns(program: Command): void {
  const runs = withSourceFlags(
    program
      .command('runs')
      .description('list runs, newest first, and what they come to')
      .argument(
        '[query...]',
        'words in any span, or agent:NAME, tool:NAME, status:failed, cost>0.01, since:2h',
      )
      .option('-n, --limit <count>', 'how many at most', '20')
      .option(
        '-s, --sort <key>',
        `${Object.keys(SORT_KEYS).join(', ')}; -cost: the greatest first`,
        NEWEST_FIRST,
      )
      .option('--against <query>', 'how they differ from the runs of another query, instead of the list')
      .option('--by <kind>', `what they come to by ${USE_KINDS.join(', ')}, instead of the list`)
      .option('--unfinished', 'instead: the runs with `checkpoint` that have not ended'),
  )
  registerPull(runs)
  withCheckpointFlags(runs).action(async (words: string[], flags: RunsFlags) => {
    if (flags.unfinished) return (await import('../checkpoints/actions.ts')).listUnfinished(flags)
    const query = words.join(' ')
    const sort = sortOf(flags.sort)
    if (flags.by !== undefined && flags.against !== undefined)
      throw new UsageError('Expected --by or --against, got both.')
    if (flags.against !== undefined) return printSets(flags.against, query, flags)
    if (flags.by !== undefined) return printUses(query, kindOf(flags.by), flags)
    await withRuns(flags, async (source) => {
      const list = await source.listRuns(query, limitOf(flags.limit), sort)
      const numbers = await source.numbers(query)
      for (const problem of list.problems ?? []) console.error(shown(problem))
      if (flags.json) printJson({ ...list, numbers })
      else if (list.runs.length === 0)
        console.log(words.length > 0 ? 'No run matches.' : `No runs in ${shown(source.from)} yet.`)
      else {
        console.log(
          runsText(list.runs, { paint: terminalPaint(), width: terminalWidth(), nowMs: Date.now() }),
        )
        if (numbers) console.log(numbersText(numbers))
        if (list.total > list.runs.length)
          console.log(`… ${list.total - list.runs.length} more; --limit ${list.total} shows all`)
      }
      if (!flags.json && list.indexing > 0)
        console.log(`… ${formatWhole(list.indexing)} spans are still being indexed and were not searched yet`)
    })
  })
}

function registerPull(runs: Command): void {
  runs
    .command('pull')
    .description('copy a run of a Jaeger into the store of this machine; what is there is not copied again')
    .argument('<run>', 'its id; or the beginning of one, of the last 24 hours; or latest')
    .requiredOption(FROM_FLAG, `the Jaeger, ${FROM_SAYS}`)
    .option(MOST_FLAG, MOST_SAYS)
    .option('--db <file>', 'copy into this file instead of the running viewer')
    .option('--url <address>', 'copy into the viewer at this address')
    .option('--json', 'print JSON')
    .option('--debug', 'show the stack of an error')
    .action(async (run: string, flags: PullFlags) => {
      const { db, url, from, most, json } = flags
      if (db !== undefined && url !== undefined) throw new UsageError('Expected --db or --url, got both.')
      const { pullRun } = await import('../pull/pull-run.ts')
      await withRuns(defined({ from, most }), (source) => pullRun(source, run, defined({ db, url, json })))
    })
}

interface PullFlags extends SourceFlags {
  from: string
}

async function printUses(
  query: string,
  kind: UseKind,
  flags: SourceFlags & { limit: string },
): Promise<void> {
  const limit = limitOf(flags.limit)
  await withRuns(flags, async (source) => {
    const sums = await source.uses(query, kind)
    if (!sums) throw new Error(`The viewer at ${source.from} is too old for --by. Restart \`hookspan view\`.`)
    if (flags.json) return printJson(sums)
    console.log(usesText(sums, { paint: terminalPaint(), width: terminalWidth(), limit }))
  })
}

/** The one that is named after `--against` comes first: it is what was before. */
async function printSets(a: string, b: string, flags: SourceFlags): Promise<void> {
  await withRuns(flags, async (source) => {
    const diff = await source.diffSets(a, b)
    if (!diff)
      throw new Error(`The viewer at ${source.from} is too old for --against. Restart \`hookspan view\`.`)
    for (const problem of diff.problems) console.error(shown(problem))
    if (flags.json) printJson(diff)
    else console.log(setsText(diff, terminalPaint()))
  })
}

function kindOf(text: string): UseKind {
  const kind = USE_KINDS.find((one) => one === text)
  if (kind) return kind
  const nearest = nearestName(text, USE_KINDS)
  throw new UsageError(
    `Expected --by to be one of ${USE_KINDS.join(', ')}, got \`${text}\`.${nearest ? ` Did you mean ${nearest}?` : ''}`,
  )
}

type RunsFlags = SourceFlags &
  CheckpointFlags & { limit: string; sort: string; by?: string; against?: string; unfinished?: boolean }

function sortOf(sort: string): string {
  const key = sort.replace(/^-/, '')
  if (Object.hasOwn(SORT_KEYS, key)) return sort
  const nearest = nearestName(key, Object.keys(SORT_KEYS))
  throw new UsageError(
    `Expected --sort to be one of ${Object.keys(SORT_KEYS).join(', ')}, got \`${sort}\`.${nearest ? ` Did you mean ${nearest}?` : ''}`,
  )
}

function limitOf(text: string): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1) return Math.min(limit, 10_000)
  throw new UsageError(`Expected --limit to be a whole number of at least 1, got \`${text}\`.`)
}
