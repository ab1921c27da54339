import type { Command } from 'commander'
import { writeOut } from '../export/written-file.ts'
import { shown } from '../render/shown.ts'
import { printJson } from '../render/terminal.ts'

interface FromTraceFlags {
  out?: string
  trajectory?: string
  trace?: string
  jaeger: string
}

export function registerMocks(program: Command): void {
  const mocks = program.command('mocks').description('mocks and recordings for tests')
  mocks
    .command('from-trace')
    .description('turn a trace into a recording of its tool calls and an expected trajectory')
    .argument('<source>', 'file of OTLP or Jaeger JSON, address of a trace in Jaeger, or a trace id')
    .option('--out <file>', 'write the recording here; without it, recording and trajectory are printed')
    .option('--trajectory <file>', 'write the expected trajectory here')
    .option('--trace <id>', 'only this trace of several in the file')
    .option('--jaeger <address>', 'where a trace id is looked up', 'http://localhost:16686')
    .action(async (source: string, flags: FromTraceFlags) => {
      // Loaded only now: other commands do without the mocks.
      const { recordingFromTrace, formatRecording } = await import('../../mock/index.ts')
      const { loadTrace } = await import('../mocks/load-trace.ts')
      const trace = await loadTrace(source, { jaeger: flags.jaeger, traceId: flags.trace || undefined })
      const { recording, trajectory, leftOut } = recordingFromTrace(trace)
      for (const call of leftOut) console.error(`left out: ${shown(call)}`)
      if (flags.trajectory) {
        await writeOut(flags.trajectory, `${JSON.stringify(trajectory, null, 2)}\n`, '--trajectory')
      }
      if (!flags.out) return printJson({ recording, trajectory })
      await writeOut(flags.out, formatRecording(recording))
      console.error(
        `${recording.calls.length} calls of ${Object.keys(recording.tools).length} tools written to ${shown(flags.out)}`,
      )
    })
}
