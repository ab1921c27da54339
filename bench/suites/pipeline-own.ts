import { trace } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { type StartTracingOptions, startTracing } from 'hookspan/tracing'
import { type Sink, startSink } from '../harness/sink.ts'
import type { Proof, Workload } from '../harness/types.ts'
import { handRun } from './agent-run-hand.ts'
import { callTool, loop, newClient, sendingWorkload } from './agent-run-loop.ts'
import { observedRun } from './agent-run-own.ts'
import { flushOf, sentPerRun, startNodeSdk, untraced } from './sending.ts'

async function bare(): Promise<Workload> {
  const client = newClient()
  return untraced(() => loop({ ask: (body) => client.chat.completions.create(body), callTool }))
}

/** What the collector took, which must be every span of every run. */
export async function proofOf(sink: Sink, total: number): Promise<Proof> {
  const received = await sink.received()
  const shape = (prefix: string) => {
    const span = received.shapes.find(({ name }) => name.startsWith(prefix))
    return `${span?.name} ${span?.attributes.toSorted().join(' ')}`
  }
  return {
    ...sentPerRun(received, total),
    agentSpan: shape('invoke_agent'),
    stepSpan: shape('step'),
    chatSpan: shape('chat'),
    toolSpan: shape('execute_tool'),
  }
}

/** The SDK as its documentation sets it up, and the batch processor as it comes. */
async function byHand(
  Exporter: typeof JsonExporter | typeof ProtobufExporter,
  content: boolean,
): Promise<Workload> {
  const sink = await startSink()
  const flush = startNodeSdk(new Exporter({ url: `${sink.url}/v1/traces` }))
  const run = handRun(trace.getTracer('bench'), content, true)
  return sendingWorkload(run, { flush, prove: (total) => proofOf(sink, total) })
}

async function observed(
  captureContent: boolean,
  options: Pick<StartTracingOptions, 'protocol'> = {},
): Promise<Workload> {
  const sink = await startSink()
  const tracing = startTracing({ serviceName: 'bench', endpoint: sink.url, captureContent, ...options })
  return sendingWorkload(observedRun(tracing), {
    flush: flushOf(tracing),
    prove: (total) => proofOf(sink, total),
  })
}

export const ways = {
  bare,
  'hand-json': () => byHand(JsonExporter, false),
  'hand-protobuf': () => byHand(ProtobufExporter, false),
  hookspan: () => observed(false),
  'hand-json-content': () => byHand(JsonExporter, true),
  'hand-protobuf-content': () => byHand(ProtobufExporter, true),
  'hookspan-content': () => observed(true),
  'hookspan-json': () => observed(false, { protocol: 'http/json' }),
  'hookspan-json-content': () => observed(true, { protocol: 'http/json' }),
}
