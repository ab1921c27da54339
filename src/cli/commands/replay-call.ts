import type { Command } from 'commander'
import type { ReplayCallFlags } from '../replay-call/replay-call.ts'
import { type SourceFlags, withRuns, withSourceFlags } from '../run-source.ts'

export function registerReplayCall(program: Command): void {
  withSourceFlags(
    program
      .command('replay-call')
      .description('make one model call of a run again with another model, by your OPENAI_API_KEY')
      .argument('<span>', 'id of the span of the call, as `show --json` and the page give it')
      .requiredOption('-m, --model <name>', 'the model to ask')
      .option('--run <run>', 'id of the run, the beginning of one, or latest', 'latest')
      .option(
        '--base-url <url>',
        'an endpoint that speaks chat completions (default: OPENAI_BASE_URL, else that of OpenAI)',
      )
      .option('--timeout <seconds>', 'how long the answer may take', '120'),
  ).action(async (span: string, flags: SourceFlags & ReplayCallFlags) => {
    const { replayCall } = await import('../replay-call/replay-call.ts')
    await withRuns(flags, (source) => replayCall(source, span, flags))
  })
}
