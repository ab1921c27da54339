import { OpenTelemetry } from '@ai-sdk/otel'
import {
  BatchTraceProcessor,
  OpenAITracingExporter,
  setTraceProcessors,
  setTracingDisabled,
} from '@openai/agents'
import { trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import * as ai from 'ai'
import { HookDispatcher } from 'hookspan'
import { observeAISDK } from 'hookspan/ai-sdk'
import { observeAnthropic } from 'hookspan/anthropic'
import { proceed } from 'hookspan/gates'
import { hookspanMiddleware } from 'hookspan/langchain'
import { mock, mockTools } from 'hookspan/mock'
import { observeAgents } from 'hookspan/openai-agents'
import { startTracing } from 'hookspan/tracing'
import { type Sink, startSink } from '../harness/sink.ts'
import type { Proof, Workload } from '../harness/types.ts'
import {
  agentsAgent,
  agentsRunner,
  aiSdkAgent,
  anthropicAgent,
  anthropicClient,
  langchainAgent,
} from './adapters-agents.ts'
import { findOrder, sendingWorkload } from './agent-run-loop.ts'
import { flushOf, sentPerRun, startNodeSdk, untraced } from './sending.ts'

type Run = () => Promise<string>

async function proofOf(sink: Sink, total: number): Promise<Proof> {
  return sentPerRun(await sink.received(), total)
}

type Has = 'observe' | 'gate' | 'mock'

async function observed(has: Has, attach: (dispatcher: HookDispatcher) => Run): Promise<Workload> {
  const sink = await startSink()
  const tracing = startTracing({ serviceName: 'bench', endpoint: sink.url })
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  if (has === 'gate') {
    const gate = { id: 'orders', point: 'beforeToolCall' as const, decide: () => proceed() }
    dispatcher.use({ name: 'policy', gates: [gate] })
  }
  if (has === 'mock') mockTools(dispatcher, [mock('find_order').calls(findOrder as never)])
  return sendingWorkload(attach(dispatcher), {
    flush: flushOf(tracing),
    prove: (total) => proofOf(sink, total),
  })
}

/** OpenTelemetry's SDK as its documentation sets it up, with a batch processor that sends to a collector. */
export async function sendingSpans(make: () => Run | Promise<Run>): Promise<Workload> {
  const sink = await startSink()
  const exporter = new OTLPTraceExporter({ url: `${sink.url}/v1/traces` })
  const flush = startNodeSdk(exporter, { maxQueueSize: 100_000 })
  return sendingWorkload(await make(), { flush, prove: (total) => proofOf(sink, total) })
}

const OFF = { isEnabled: false }

const aiSdk = (has: Has) =>
  observed(has, (dispatcher) => aiSdkAgent(observeAISDK(ai, { dispatcher }), { functionId: 'support' }))

function aiSdkOtel(): Promise<Workload> {
  return sendingSpans(() => {
    const integrations = [new OpenTelemetry({ tracer: trace.getTracer('bench') as never })]
    return aiSdkAgent(ai, { functionId: 'support', recordInputs: false, recordOutputs: false, integrations })
  })
}

const agents = (has: Has) => {
  // Their own tracing sends to OpenAI, and is left out as by those who send elsewhere.
  setTracingDisabled(true)
  return observed(has, (dispatcher) => agentsAgent(observeAgents(agentsRunner({}), { dispatcher })))
}

async function agentsOwn(): Promise<Workload> {
  const sink = await startSink()
  const exporter = new OpenAITracingExporter({ apiKey: 'none', endpoint: `${sink.url}/v1/traces/ingest` })
  const processor = new BatchTraceProcessor(exporter, { maxQueueSize: 100_000 })
  setTraceProcessors([processor])
  setTracingDisabled(false)
  return sendingWorkload(agentsAgent(agentsRunner({})), {
    flush: () => processor.forceFlush(),
    prove: (total) => proofOf(sink, total),
  })
}

const langchain = (has: Has) =>
  observed(has, (dispatcher) => langchainAgent([hookspanMiddleware({ dispatcher, agentName: 'support' })]))

const anthropic = (has: Has) =>
  observed(has, (dispatcher) =>
    anthropicAgent(observeAnthropic(anthropicClient(), { dispatcher, agentName: 'support' })),
  )

/** The SDK makes spans itself where OpenTelemetry is set up for the process. */
const anthropicOwn = () => sendingSpans(() => anthropicAgent(anthropicClient()))

const HAS: readonly Has[] = ['observe', 'gate', 'mock']

const threeOf = (sdk: string, way: (has: Has) => Promise<Workload>) =>
  HAS.map((has) => [`${sdk}/${has}`, () => way(has)] as const)

export const ways: Readonly<Record<string, () => Workload | Promise<Workload>>> = {
  'ai-sdk/bare': () => untraced(aiSdkAgent(ai, OFF)),
  'ai-sdk/otel': aiSdkOtel,
  'openai-agents/bare': () => {
    setTracingDisabled(true)
    return untraced(agentsAgent(agentsRunner({})))
  },
  'openai-agents/own-tracing': agentsOwn,
  'langchain/bare': () => untraced(langchainAgent([])),
  'anthropic/bare': () => untraced(anthropicAgent(anthropicClient())),
  'anthropic/own-tracing': anthropicOwn,
  ...Object.fromEntries([
    ...threeOf('ai-sdk', aiSdk),
    ...threeOf('openai-agents', agents),
    ...threeOf('langchain', langchain),
    ...threeOf('anthropic', anthropic),
  ]),
}
