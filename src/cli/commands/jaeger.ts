import type { Command } from 'commander'
import type { JaegerOptions } from '../jaeger/run-jaeger.ts'

export function registerJaeger(program: Command): void {
  program
    .command('jaeger')
    .description('start Jaeger in Docker, or print the compose file for it')
    .option('--print', 'print the compose file, and start nothing')
    .option(
      '--write [file]',
      'write the compose file (default: docker-compose.jaeger.yml), and start nothing',
    )
    .option('--stop', 'stop the Jaeger that this command started; its traces are lost')
    .action(async (options: JaegerOptions, command: Command) => {
      const given = (['print', 'write', 'stop'] as const).filter((name) => options[name] !== undefined)
      if (given.length > 1) command.error(`error: --${given.join(' and --')} exclude each other`)
      const { runJaeger } = await import('../jaeger/run-jaeger.ts')
      process.exitCode = await runJaeger(options)
    })
}
