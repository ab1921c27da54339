import { HOOKSPAN } from '../semconv.ts'
import type { ReadableSpan } from './types.ts'

/** A span as it is now, though it has not ended, marked so that the ended one replaces it. */
export function snapshotSpan(span: ReadableSpan, state: 'started' | 'interrupted'): ReadableSpan {
  const context = span.spanContext()
  return {
    name: span.name,
    kind: span.kind,
    spanContext: () => context,
    ...(span.parentSpanContext !== undefined && { parentSpanContext: span.parentSpanContext }),
    startTime: span.startTime,
    endTime: span.startTime,
    status: span.status,
    attributes: { ...span.attributes, [HOOKSPAN.spanState]: state },
    links: span.links,
    events: [],
    duration: [0, 0],
    ended: true,
    resource: span.resource,
    instrumentationScope: span.instrumentationScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}
