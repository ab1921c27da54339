import { SpanKind } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { RecordedSpan } from '../../src/spans/span-tree.ts'

/** All of a span but its ids and its times, with those below it. */
export interface SpanShape {
  readonly name: string
  readonly kind: string
  readonly status: { readonly failed: boolean; readonly message: string | undefined }
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: readonly {
    readonly name: string
    readonly attributes: Readonly<Record<string, unknown>>
  }[]
  readonly children: readonly SpanShape[]
}

export function shapesOfTree(spans: readonly RecordedSpan[]): SpanShape[] {
  return ordered(
    spans.map(({ name, kind, status, attributes, events, children }) => ({
      name,
      kind,
      status: { failed: status.code === 2, message: status.message },
      attributes: sorted(attributes),
      events: ordered(events.map((event) => ({ name: event.name, attributes: sorted(event.attributes) }))),
      children: shapesOfTree(children),
    })),
  )
}

export function shapesOfSdk(spans: readonly ReadableSpan[]): SpanShape[] {
  const ids = new Set(spans.map((span) => span.spanContext().spanId))
  const below = (id: string | undefined): SpanShape[] =>
    ordered(
      spans
        .filter(({ parentSpanContext }) => {
          const parent = parentSpanContext?.spanId
          return id === undefined ? parent === undefined || !ids.has(parent) : parent === id
        })
        .map((span) => {
          const { name, kind, status, attributes, events } = span
          return {
            name,
            kind: { [SpanKind.INTERNAL]: 'internal', [SpanKind.CLIENT]: 'client' }[kind as 0 | 2],
            status: { failed: status.code === 2, message: status.message },
            attributes: sorted(withoutTime(attributes)),
            events: ordered(
              events
                .filter(({ name }) => name !== 'exception')
                .map((event) => ({ name: event.name, attributes: sorted(event.attributes ?? {}) })),
            ),
            children: below(span.spanContext().spanId),
          }
        }),
    )
  return below(undefined)
}

/**
 * What events cannot know, beside times and the order in which things happened:
 *
 * - whether the gates of a called agent's own start or end had decided when the call of it was cut off
 * - what a gate in another process decides when what it decides on was cut off before
 * - that a run was parked and went on, of which hooks are not told
 *
 * Plans leave out what else they cannot know: which span a foreign `traceparent` names, that a parent which was sent as
 * JSON comes from a call that was not said to be remote, and the fields of a model request that a human's edit took out,
 * because spans forget nothing.
 */
export function known(shape: SpanShape): SpanShape {
  const { 'hookspan.operation.resumed': _resumed, ...attributes } = shape.attributes
  const { status, events, children } = shape
  const cutCall = status.failed && 'hookspan.call.key' in attributes
  const cut = attributes['error.type'] === 'AbortError'
  const ofRun = ({ attributes }: { readonly attributes: SpanShape['attributes'] }) =>
    /^(onStart|beforeComplete)$/.test(String(attributes['hookspan.gate.point']))
  return {
    ...shape,
    attributes,
    events: events.filter((event) => !(cutCall && ofRun(event))),
    children: children
      .filter((child) => !(cut && child.name.startsWith('gate ')) && !(cutCall && ofRun(child)))
      .map(known),
  }
}

/** Stack traces, points in time, and what is for those who sample are the tracer's alone. */
function withoutTime(attributes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const {
    'langfuse.observation.completion_start_time': _at,
    'hookspan.operation.keep': _keep,
    ...others
  } = attributes
  return others
}

/** By what they say: the order in time is one of the things that events do not tell. */
function ordered<T>(shapes: T[]): T[] {
  return shapes
    .map((shape) => ({ shape, text: JSON.stringify(shape) }))
    .sort((a, b) => (a.text < b.text ? -1 : 1))
    .map(({ shape }) => shape)
}

function sorted(attributes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1)))
}
