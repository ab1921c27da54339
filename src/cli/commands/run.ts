import type { Command } from 'commander'
import type { RunFlags } from '../run/viewer-in-use.ts'

export function registerRun(program: Command): void {
  program
    .command('run')
    .description('run a program with what it loads attached: node, tsx, npm start, ...')
    .option('--keep', 'keep the viewer open when the program has ended')
    .option('--db <file>', 'keep traces in this file, where no viewer runs yet')
    .argument('<command...>', 'behind --, the command and its arguments')
    .passThroughOptions()
    .action(async ([command = '', ...args]: string[], flags: RunFlags) => {
      const { runProgram } = await import('../run/run-program.ts')
      process.exitCode = await runProgram(command, args, flags)
    })
}
