import type { Command } from 'commander'
import type { ResumeFlags } from '../checkpoints/actions.ts'

export function registerResume(program: Command): void {
  withCheckpointFlags(
    program
      .command('resume')
      .description('go on with a run whose process died, failed or was stopped')
      .argument('<run>', 'its operation id, or the beginning of it; `hookspan runs --unfinished` lists them')
      .option('--discard', 'forget the run instead')
      .option('--json', 'print JSON'),
  )
    .addHelpText(
      'after',
      `
The file's default export is what \`resumeAgent\` takes, and may have a \`close\` to be called at the end:

  export default { agent, dispatcher, checkpoint: sqliteCheckpoints({ path: 'checkpoints.db' }) }`,
    )
    .action(async (run: string, flags: ResumeFlags) => {
      const { resumeRun } = await import('../checkpoints/actions.ts')
      process.exitCode = await resumeRun(run, flags)
    })
}

export function withCheckpointFlags(command: Command): Command {
  return command
    .option('-c, --config <file>', 'a module that exports the agent and where its runs are saved')
    .option('--checkpoints <file>', 'the SQLite file of the runs (default: that of `checkpoint: true`)')
}
