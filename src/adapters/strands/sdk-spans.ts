import { context, INVALID_SPAN_CONTEXT, trace } from '@opentelemetry/api'
import { replace } from '../replace.ts'
import type { StrandsAgent } from './sdk.ts'

/**
 * Leaves out the spans that the agent makes itself: in the place of each is the span that is active, so that what the
 * agent traces below its own lies below ours.
 *
 * @returns lets it make them again.
 */
export function omitSdkSpans({ _tracer: holder }: StrandsAgent): () => void {
  if (typeof holder?._tracer?.startSpan !== 'function') return () => {}
  const startSpan = () =>
    trace.wrapSpanContext(trace.getSpanContext(context.active()) ?? INVALID_SPAN_CONTEXT)
  return replace(holder, '_tracer', { startSpan })
}
