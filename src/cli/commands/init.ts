import type { Command } from 'commander'
import type { InitOptions } from '../init/run-init.ts'

export function registerInit(program: Command): void {
  program
    .command('init')
    .description('look at the project, show what attaches it, and write that when you say yes')
    .option('--yes', 'write without asking')
    .option('--dry-run', 'show what would be written, and write nothing')
    .action(async (options: InitOptions, command: Command) => {
      if (options.yes && options.dryRun) command.error('error: --yes and --dry-run exclude each other')
      const { runInit } = await import('../init/run-init.ts')
      process.exitCode = await runInit(options)
    })
}
