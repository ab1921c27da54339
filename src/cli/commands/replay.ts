import { type Command, InvalidArgumentError } from 'commander'
import type { ReplayCommandOptions } from '../replay/run-command.ts'

export function registerReplay(program: Command): void {
  program
    .command('replay')
    .description('run recorded conversations through the real runtime, one trace each')
    .argument(
      '<file...>',
      'OpenAI chat messages, tau-bench, tau2-bench, SWE-agent, Who&When; exports of LangSmith, Langfuse, Phoenix',
    )
    .option('--run <id>', 'only this run: its id or its position from 0; may be given again', collect)
    .option(
      '--endpoint <url>',
      'OTLP/HTTP endpoint to send spans to (default: what listens at localhost:4318)',
    )
    .option('--out <file>', 'write spans as OTLP/JSON, one trace a line')
    .option('--content', 'capture messages, arguments and results')
    .option('--max-content-bytes <bytes>', 'bytes of content an attribute may hold', integerFrom(256))
    .option('--recorded-times', 'keep the recorded times instead of those of now')
    .option('--speed <factor>', 'wait as long as the recording did, divided by this', positive)
    .option('--concurrency <runs>', 'runs at once', integerFrom(1), 4)
    .option('--label <text>', 'make trace ids of this and the recording (default: new ones each time)')
    .option('--model <name>', 'model to name where the recording names none', 'recorded-model')
    .option('--json', 'print a summary as JSON')
    .addHelpText(
      'after',
      `
Each replay makes traces of its own. With --label a trace's id is made of it, the file's name and the run's id: the same
everywhere, and refused where the viewer or Jaeger has that trace already.

A conversation that cannot be replayed is left out and told, and the exit code is 1.

  $ hookspan replay runs.json --content
  $ hookspan replay runs.json --run task-7 --recorded-times --out trace.otlp.json`,
    )
    .action(async (files: string[], options: ReplayCommandOptions) => {
      const { runReplayCommand } = await import('../replay/run-command.ts')
      process.exitCode = await runReplayCommand(files, options)
    })
}

function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value]
}

function integerFrom(minimum: number): (value: string) => number {
  return (value) => {
    const number = Number(value)
    if (Number.isInteger(number) && number >= minimum) return number
    throw new InvalidArgumentError(`Expected a whole number of at least ${minimum}.`)
  }
}

function positive(value: string): number {
  const number = Number(value)
  if (Number.isFinite(number) && number > 0) return number
  throw new InvalidArgumentError('Expected a number above 0, such as 10 for ten times as fast.')
}
