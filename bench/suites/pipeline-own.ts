import { trace } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace'
import { type StartTracingOptions, startTracing } from 'hookspan/tracing'
import { type Sink, startSink } from '../harness/sink.ts'
import type { Proof, Workload } from '../harness/types.ts'
import { handRun } from './agent-run-hand.ts'
import { callTool, loop, newClient, sendingWorkload } from './agent-run-loop.ts'
import { observedRun } from './agent-run-own.ts'

async function bare(): Promise<Workload> {
  const client = newClient()
  const run = () => loop({ ask: (body) => client.chat.completions.create(body), callTool })
  return sendingWorkload(run, { flush: async () => {}, prove: async () => ({ spansPerRun: 0 }) })
}

/** What the collector took, which must be every span of every run. */
export async function proofOf(sink: Sink, total: number): Promise<Proof> {
  const { spans, bytes, shapes } = await sink.received()
  const spansPerRun = spans / total
  if (spans === 0 || !Number.isInteger(spansPerRun)) throw new Error(`${spans} spans of ${total} runs came.`)
  const shape = (prefix: string) => {
    const span = shapes.find(({ name }) => name.startsWith(prefix))
    return `${span?.name} ${span?.attributes.toSorted().join(' ')}`
  }
  return {
    spansPerRun,
    sentBytesPerRun: Math.round(bytes / total),
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
  const exporter = new Exporter({ url: `${sink.url}/v1/traces` })
  const processor = new BatchSpanProcessor({ exporter })
  const sdk = new NodeSDK({
    serviceName: 'bench',
    spanProcessors: [processor],
    metricReaders: [],
    logRecordProcessors: [],
  })
  sdk.start()
  const flush = async () => {
    await processor.forceFlush()
    // What a full batch had sent before.
    await exporter.forceFlush?.()
  }
  const run = handRun(trace.getTracer('bench'), content, true)
  return sendingWorkload(run, { flush, prove: (total) => proofOf(sink, total) })
}

async function observed(
  captureContent: boolean,
  options: Pick<StartTracingOptions, 'protocol'> = {},
): Promise<Workload> {
  const sink = await startSink()
  const tracing = startTracing({ serviceName: 'bench', endpoint: sink.url, captureContent, ...options })
  const flush = async () => {
    await tracing.forceFlush()
    const { queued, dropped, lastError } = tracing.stats()
    if (queued + dropped > 0) throw new Error(`${queued} spans wait, ${dropped} were dropped: ${lastError}`)
  }
  return sendingWorkload(observedRun(tracing), { flush, prove: (total) => proofOf(sink, total) })
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
