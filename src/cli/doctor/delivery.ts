import { HookDispatcher } from '../../dispatcher/index.ts'
import { otlpSender } from '../../tracing/export/otlp-sender.ts'
import { otlpTarget } from '../../tracing/export/otlp-target.ts'
import type { Answer } from '../../tracing/export/parcel.ts'
import { type ReadableSpan, type SpanExporter, startTracing } from '../../tracing/index.ts'
import { collectorAt } from '../../tracing/links/collector.ts'
import type { Finding } from './finding.ts'
import { mendOf } from './mends.ts'

/** Sends one real span as `startTracing()` would, and explains the answer. */
export async function checkDelivery(tracesUrl: string, timeoutMs: number): Promise<Finding[]> {
  const { span, traceId } = await testSpan()
  const answer = await sendOnce(tracesUrl, span, timeoutMs)
  if (answer.state === 'accepted' && answer.message === undefined) {
    const search = await collectorAt(tracesUrl)
    const page = search.found ? search.collector.pageOf(traceId) : undefined
    const where = page ?? `trace ${traceId}`
    return [{ check: 'delivery', state: 'ok', says: `the test span was taken: ${where}` }]
  }
  return [{ check: 'delivery', state: 'wrong', ...mendOf(answer, tracesUrl, timeoutMs) }]
}

async function testSpan(): Promise<{ span: ReadableSpan; traceId: string }> {
  const spans: ReadableSpan[] = []
  const exporter: SpanExporter = {
    export(batch, done) {
      spans.push(...batch)
      done({ code: 0 })
    },
    shutdown: async () => {},
  }
  const disabled = process.env.OTEL_SDK_DISABLED
  // It is told apart; here the way to the collector is asked about.
  delete process.env.OTEL_SDK_DISABLED
  const sampler = process.env.OTEL_TRACES_SAMPLER
  delete process.env.OTEL_TRACES_SAMPLER
  try {
    const queue = { onTrouble: () => {} }
    const tracing = startTracing({ serviceName: 'hookspan-doctor', exporter, queue, flushOnExit: false })
    const dispatcher = new HookDispatcher()
    dispatcher.use(tracing)
    await dispatcher.startOperation({ agentName: 'doctor' }).complete()
    await tracing.shutdown()
  } finally {
    if (disabled !== undefined) process.env.OTEL_SDK_DISABLED = disabled
    if (sampler !== undefined) process.env.OTEL_TRACES_SAMPLER = sampler
  }
  const [span] = spans
  if (span === undefined) throw new Error('The OpenTelemetry SDK made no span.')
  return { span, traceId: span.spanContext().traceId }
}

async function sendOnce(endpoint: string, span: ReadableSpan, timeoutMs: number): Promise<Answer> {
  // What the environment says wrongly of it is told elsewhere.
  const sender = otlpSender({ ...otlpTarget({ timeoutMs }, () => {}), url: endpoint })
  try {
    return await sender.send([{ span, size: 0 }])
  } finally {
    await sender.shutdown()
  }
}
