import { context, INVALID_SPAN_CONTEXT, trace } from '@opentelemetry/api'
import { allOrNone, replace } from '../replace.ts'
import type { SpanHolder } from './sdk.ts'

/**
 * Leaves out the spans that the agent, or a tool in the background, makes itself: in the place of each is one that takes nothing, and below it is what
 * was active. A tool's body has our span as the active one, so that what it says of that span is kept.
 *
 * @returns lets it make them again.
 */
export function omitSdkSpans(holder: SpanHolder | undefined): () => void {
  if (typeof holder?._tracer?.startSpan !== 'function') return () => {}
  const startSpan = () =>
    trace.wrapSpanContext(trace.getSpanContext(context.active()) ?? INVALID_SPAN_CONTEXT)
  return allOrNone(
    () => replace(holder, '_tracer', { startSpan }),
    () => replace(holder, 'withSpanContext', (_span: unknown, fn: () => unknown) => fn()),
  )
}
