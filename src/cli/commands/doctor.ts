import { type Command, InvalidArgumentError } from 'commander'
import type { DoctorOptions } from '../doctor/run-doctor.ts'

export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description('say what is configured, send a test span, and name the mend for what is wrong')
    .option('--endpoint <url>', 'OTLP/HTTP endpoint to test (default: that of the environment)')
    .option('--timeout <ms>', 'how long the endpoint may take, in milliseconds', milliseconds, 5_000)
    .option('--json', 'print the findings as JSON')
    .action(async (options: DoctorOptions) => {
      const { runDoctor } = await import('../doctor/run-doctor.ts')
      process.exitCode = await runDoctor(options)
    })
}

function milliseconds(value: string): number {
  const number = Number(value)
  if (Number.isFinite(number) && number >= 1) return number
  throw new InvalidArgumentError('Expected milliseconds, at least 1.')
}
