import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { HookDispatcher, type HookDispatcherOptions } from 'hookspan'
import { operationIdGenerator, spanTitle, type TraceHooksOptions, traceHooks } from 'hookspan/tracing'

/** A real SDK whose spans stay in memory, and a dispatcher that traces into it. */
export function traced(
  options: Omit<TraceHooksOptions, 'tracer'> = {},
  dispatcherOptions?: HookDispatcherOptions,
) {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
    idGenerator: operationIdGenerator(),
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const tracer = provider.getTracer('test')
  const dispatcher = new HookDispatcher(dispatcherOptions)
  dispatcher.use(traceHooks({ tracer, meter: false, ...options }))
  return {
    dispatcher,
    tracer,
    provider,
    spans: () => exporter.getFinishedSpans(),
    tree: () => treeOf(exporter.getFinishedSpans()),
    span: (name: string) => find(exporter.getFinishedSpans(), name),
    /** For an SDK that traces itself by the provider of the process. Done here: a test's own copy of the API may be another. */
    makeGlobal: () => trace.setGlobalTracerProvider(provider),
    [Symbol.dispose]: () => {
      context.disable()
      trace.disable()
    },
  }
}

export function find(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const span = spans.find((other) => titleOf(other) === name)
  if (span === undefined) throw new Error(`No span "${name}" among: ${spans.map(titleOf).join(', ')}`)
  return span
}

export const titleOf = ({ name, attributes }: ReadableSpan): string => spanTitle(name, attributes)

/** The names of the spans, indented by their depth, siblings in the order of their start. */
export function treeOf(spans: readonly ReadableSpan[]): string {
  const ids = new Set(spans.map((span) => span.spanContext().spanId))
  const childrenOf = (id: string | undefined) =>
    spans.filter((span) => {
      const parent = span.parentSpanContext?.spanId
      return id === undefined ? parent === undefined || !ids.has(parent) : parent === id
    })
  const lines: string[] = []
  const walk = (span: ReadableSpan, depth: number) => {
    lines.push('  '.repeat(depth) + titleOf(span))
    for (const child of byStart(childrenOf(span.spanContext().spanId))) walk(child, depth + 1)
  }
  for (const root of byStart(childrenOf(undefined))) walk(root, 0)
  return lines.join('\n')
}

function byStart(spans: ReadableSpan[]): ReadableSpan[] {
  return spans
    .map((span, index) => ({ span, index }))
    .sort((a, b) => compare(a.span.startTime, b.span.startTime) || a.index - b.index)
    .map(({ span }) => span)
}

function compare(a: readonly [number, number], b: readonly [number, number]): number {
  return a[0] - b[0] || a[1] - b[1]
}
