import type { Command } from 'commander'
import { diffText } from '../../viewer/text/diff-text.ts'
import { printJson, terminalPaint } from '../render/terminal.ts'
import { findRun, type SourceFlags, withRuns, withSourceFlags } from '../run-source.ts'

export function registerDiff(program: Command): void {
  withSourceFlags(
    program
      .command('diff')
      .description('compare two runs: aligned by what they did, with what differs')
      .argument('<a>', 'id of a run, the beginning of one, or latest')
      .argument('<b>', 'id of the other'),
  ).action(async (a: string, b: string, flags: SourceFlags) => {
    await withRuns(flags, async (source) => {
      const [runA, runB] = [await findRun(source, a), await findRun(source, b)]
      const diff = await source.diff(runA.summary.traceId, runB.summary.traceId)
      if (!diff) throw new Error('One of the runs was removed meanwhile.')
      if (flags.json) printJson(diff)
      else console.log(diffText(diff, terminalPaint()))
    })
  })
}
