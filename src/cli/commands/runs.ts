import type { Command } from 'commander'
import { formatWhole } from '../../viewer/model/format.ts'
import { runsText } from '../../viewer/text/runs-text.ts'
import { UsageError } from '../failure.ts'
import { shown } from '../render/shown.ts'
import {
  printJson,
  type SourceFlags,
  terminalPaint,
  terminalWidth,
  withRuns,
  withSourceFlags,
} from './run-source-flags.ts'

export function registerRuns(program: Command): void {
  withSourceFlags(
    program
      .command('runs')
      .description('list runs, newest first')
      .argument(
        '[query...]',
        'words in any span, or agent:NAME, tool:NAME, status:failed, cost>0.01, since:2h',
      )
      .option('-n, --limit <count>', 'how many at most', '20'),
  ).action(async (query: string[], flags: SourceFlags & { limit: string }) => {
    await withRuns(flags, async (source) => {
      const list = await source.listRuns(query.join(' '), limitOf(flags.limit))
      if (flags.json) printJson({ runs: list.runs, total: list.total, indexing: list.indexing })
      else if (list.runs.length === 0)
        console.log(query.length > 0 ? 'No run matches.' : `No runs in ${shown(source.from)} yet.`)
      else {
        console.log(
          runsText(list.runs, { paint: terminalPaint(), width: terminalWidth(), nowMs: Date.now() }),
        )
        if (list.total > list.runs.length)
          console.log(`… ${list.total - list.runs.length} more; --limit ${list.total} shows all`)
      }
      if (!flags.json && list.indexing > 0)
        console.log(`… ${formatWhole(list.indexing)} spans are still being indexed and were not searched yet`)
    })
  })
}

function limitOf(text: string): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1) return Math.min(limit, 10_000)
  throw new UsageError(`Expected --limit to be a whole number of at least 1, got \`${text}\`.`)
}
