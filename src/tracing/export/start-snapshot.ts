import { HOOKSPAN } from '../../spans/names.ts'
import type { ReadableSpan } from './types.ts'

/**
 * A span as it is now, though it has not ended, marked so that the ended one replaces it. A parked one has started, and
 * does not die with its process: another one ends it. Since when it is so stands as its end: of two that come late, or are
 * sent again, the viewer takes the later one.
 */
export function snapshotSpan(span: ReadableSpan, state: 'started' | 'parked', sinceMs: number): ReadableSpan {
  const copy = copySpan(span, 'started', sinceMs)
  return state === 'started' ? copy : { ...copy, resource: withoutProcess(span.resource) }
}

/** As it is now, without its events, as an ended one. */
export function copySpan(span: ReadableSpan, state: 'started' | 'interrupted', endMs: number): ReadableSpan {
  const context = span.spanContext()
  return {
    name: span.name,
    kind: span.kind,
    spanContext: () => context,
    ...(span.parentSpanContext !== undefined && { parentSpanContext: span.parentSpanContext }),
    startTime: span.startTime,
    endTime: [Math.floor(endMs / 1_000), (endMs % 1_000) * 1e6],
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

type Resource = ReadableSpan['resource']
const known = new WeakMap<Resource, Resource>()

/** The viewer asks after the process of a started span, and whoever parked one may be gone. */
function withoutProcess(resource: Resource): Resource {
  let told = known.get(resource)
  if (!told) {
    const { attributes } = resource as { attributes?: Record<string, unknown> }
    const { 'process.pid': _pid, ...others } = attributes ?? {}
    told = Object.create(resource, { attributes: { value: others, enumerable: true } }) as Resource
    known.set(resource, told)
  }
  return told
}
