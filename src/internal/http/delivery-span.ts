import {
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'

export interface DeliverySpan {
  end(delivered: boolean, attempts: number, lastError: string): void
}

/**
 * A delivery as a span of the trace that it tells about, from its first attempt's wait to its last one's end. Needs no
 * setup of its own: it goes where the application's global tracer goes.
 *
 * @returns the span, and the context to hand to the receiver.
 */
export function deliverySpan(
  webhookId: string,
  url: string,
  delivery: { readonly id: string; readonly traceparent?: string },
): { span: DeliverySpan; traceparent?: string } {
  const parent = parse(delivery.traceparent)
  if (parent === undefined) return { span: { end: () => {} } }
  const span = trace.getTracer('hookspan').startSpan(
    `webhook ${webhookId}`,
    {
      kind: SpanKind.PRODUCER,
      attributes: {
        'hookspan.webhook.id': webhookId,
        'hookspan.webhook.delivery_id': delivery.id,
        'url.full': url,
      },
    },
    trace.setSpanContext(ROOT_CONTEXT, parent),
  )
  const own = span.spanContext()
  // Without an SDK there is no span, and the receiver gets what there is.
  const { traceId, spanId, traceFlags } = isSpanContextValid(own) ? own : parent
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    span: {
      end(delivered, attempts, lastError) {
        span.setAttributes({
          'hookspan.webhook.attempts': attempts,
          'hookspan.webhook.outcome': delivered ? 'delivered' : 'dead',
        })
        if (!delivered) {
          span.setAttribute(
            'error.type',
            /^status \d+$/.test(lastError) ? lastError.slice(7) : 'delivery_failed',
          )
          span.setStatus({ code: SpanStatusCode.ERROR, message: lastError })
        }
        span.end()
      },
    },
  }
}

function parse(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return isSpanContextValid(context) ? context : undefined
}
