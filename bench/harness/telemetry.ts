import { type Attributes, context, type Tracer, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { type ReadableSpan, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { operationIdGenerator } from 'hookspan/tracing'

/** Ends spans into nothing, and counts them. */
export class CountingProcessor implements SpanProcessor {
  count = 0
  last: ReadableSpan | undefined
  /** Set to see the spans of one run. */
  keep: ReadableSpan[] | undefined

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    this.count++
    this.last = span
    this.keep?.push(span)
  }

  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}

export interface Telemetry {
  readonly tracer: Tracer
  readonly provider: TracerProvider
  readonly spans: CountingProcessor
}

/** The OpenTelemetry SDK as an application sets it up, globally, with a processor that exports to nowhere. */
export function setUpTelemetry(more: readonly SpanProcessor[] = []): Telemetry {
  const spans = new CountingProcessor()
  const provider = new TracerProvider({
    spanProcessors: [...more, spans],
    idGenerator: operationIdGenerator(),
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(provider)
  return { tracer: provider.getTracer('bench'), provider, spans }
}

/** Names and types of what a span carries, to compare what two ways wrote. */
export function shapeOf({ name, attributes }: { name: string; attributes: Attributes }): string {
  const keys = Object.entries(attributes).map(([key, value]) => `${key}:${typeof value}`)
  return `${name} ${keys.sort().join(' ')}`
}
