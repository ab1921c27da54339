import { DiagLogLevel, diag } from '@opentelemetry/api'
import { HookDispatcher } from '../../dispatcher/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { requirePeer } from '../../internal/require-peer.ts'
import { type ReadableSpan, type SpanExporter, startTracing } from '../../tracing/index.ts'
import { collectorAt } from '../../tracing/links/collector.ts'
import type { ExportAnswer } from './export-answer.ts'
import type { Finding } from './finding.ts'
import { mendOf } from './mends.ts'

const EXPORTER = '@opentelemetry/exporter-trace-otlp-http'

/** Sends one real span with the real exporter, and explains the answer. */
export async function checkDelivery(tracesUrl: string, timeoutMs: number): Promise<Finding[]> {
  const { span, traceId } = await testSpan()
  const answer = await exportOnce(tracesUrl, span, timeoutMs)
  if (answer.sent && answer.warnings.length === 0) {
    const search = await collectorAt(tracesUrl)
    const page = search.found ? search.collector.pageOf(traceId) : undefined
    const where = page ?? `trace ${traceId}`
    return [{ check: 'delivery', state: 'ok', says: `the test span was taken: ${where}` }]
  }
  // The exporter does not say which status it gave up on.
  if (answer.error && answer.error.code === undefined && /retryable/.test(answer.error.message)) {
    const code = await statusOf(tracesUrl, timeoutMs)
    if (code !== undefined) answer.error.code = code
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
    const tracing = startTracing({ serviceName: 'hookspan-doctor', exporter, flushOnExit: false })
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

async function exportOnce(url: string, span: ReadableSpan, timeoutMs: number): Promise<ExportAnswer> {
  const { OTLPTraceExporter } = requirePeer<{
    OTLPTraceExporter: new (config: Record<string, unknown>) => SpanExporter
  }>(EXPORTER, 'hookspan doctor')
  const warnings: string[] = []
  const note = (message: string, ...rest: unknown[]) =>
    warnings.push(
      [message, ...rest.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)))].join(' '),
    )
  const ignore = () => {}
  diag.setLogger(
    { warn: note, error: ignore, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: timeoutMs })
  try {
    const { code, error } = await new Promise<{ code: number; error?: Error }>((resolve) =>
      exporter.export([span], resolve),
    )
    if (code === 0) return { sent: true, warnings }
    const { code: cause, data } = (error ?? {}) as { code?: number | string; data?: string }
    return {
      sent: false,
      warnings,
      error: defined({ message: errorMessage(error), code: cause, body: data || undefined }),
    }
  } finally {
    diag.disable()
    await exporter.shutdown().catch(ignore)
  }
}

async function statusOf(url: string, timeoutMs: number): Promise<number | undefined> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"resourceSpans":[]}',
      signal: AbortSignal.timeout(timeoutMs),
    })
    await answer.body?.cancel()
    return answer.status
  } catch {
    return undefined
  }
}
