import { LangfuseSpanProcessor } from '@langfuse/otel'
import { startSink } from '../harness/sink.ts'
import { setUpTelemetry } from '../harness/telemetry.ts'
import type { Workload } from '../harness/types.ts'
import { sendingWorkload } from '../suites/agent-run-loop.ts'
import { proofOf } from '../suites/pipeline-own.ts'
import { langfuseRun } from './agent-run.ts'

async function langfuse(observations: boolean): Promise<Workload> {
  const sink = await startSink()
  const processor = new LangfuseSpanProcessor({ publicKey: 'pk', secretKey: 'sk', baseUrl: sink.url })
  setUpTelemetry([processor as never])
  return sendingWorkload(langfuseRun(observations), {
    flush: () => processor.forceFlush(),
    prove: (total) => proofOf(sink, total),
  })
}

export const ways = {
  langfuse: () => langfuse(false),
  'langfuse-observations': () => langfuse(true),
}
