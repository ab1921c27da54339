import type { Command } from 'commander'
import type { DemoOptions } from '../demo/run-demo.ts'

export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description('watch a support agent at work, and see its run as a trace; needs no key')
    .option('--live', 'ask a real model; needs OPENAI_API_KEY')
    .option('--model <name>', 'model of the support agent', 'gpt-4o')
    .option('--out <file>', 'where the trace is written (default: .hookspan/demo-<id>.otlp.json)')
    .option(
      '--endpoint <url>',
      'OTLP/HTTP endpoint to send the trace to (default: what listens at localhost:4318)',
    )
    .option('--fast', 'without the pauses')
    .action(async (options: DemoOptions) => {
      const { runDemo } = await import('../demo/run-demo.ts')
      process.exitCode = await runDemo(options)
    })
}
