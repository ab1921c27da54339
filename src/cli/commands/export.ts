import type { Command } from 'commander'
import type { ExportFlags } from '../export-runs/write-export.ts'
import { type SourceFlags, withRuns, withSource } from '../run-source.ts'

export function registerExport(program: Command): void {
  withSource(
    program
      .command('export')
      .description('write runs to a file: OTLP, a data set, a test, or a text for a language model')
      .argument('[query...]', 'id of a run, the beginning of one, latest, or a query as for runs', ['latest'])
      .option(
        '-f, --format <format>',
        'otlp; jsonl: a line each; vitest: a test with mocks; markdown: for a language model',
        'otlp',
      )
      .option('-o, --out <file>', 'write here instead of to stdout')
      .option('--agent <file#name>', 'with vitest: the agent that the test runs with `execAgent`')
      .option(
        '--run <file#name>',
        'with vitest: a function that runs it, given { prompt, messages, dispatcher, client }',
      )
      .option('--max-chars <count>', 'with markdown: how long it may be', '40000'),
  ).action(async (words: string[], flags: SourceFlags & ExportFlags) => {
    const { exportRuns } = await import('../export-runs/write-export.ts')
    await withRuns(flags, (source) => exportRuns(source, words, flags))
  })
}
