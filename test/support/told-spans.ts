import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace'
import { operationIdGenerator } from 'hookspan/tracing'
import type { SpanLine } from '../kill/trace.ts'

/** A tracer whose spans are told as they start, and again as they end: what a process that is killed had open is seen, too. */
export function tracerTelling(tell: (line: SpanLine) => void) {
  const note = (at: SpanLine['at'], span: ReadableSpan) => {
    const { traceId, spanId } = span.spanContext()
    const parentId = span.parentSpanContext?.spanId
    tell({ at, pid: process.pid, name: span.name, traceId, spanId, ...(parentId && { parentId }) })
  }
  const provider = new TracerProvider({
    idGenerator: operationIdGenerator(),
    spanProcessors: [
      {
        onStart: (span) => note('start', span),
        onEnd: (span) => note('end', span),
        forceFlush: async () => {},
        shutdown: async () => {},
      },
    ],
  })
  return provider.getTracer('kill')
}
