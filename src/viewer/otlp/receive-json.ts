/** An OTLP/JSON request into packed spans, grouped by trace. */

import { badSpanId, badTraceId, isSpanId, isTraceId, jsonId } from './ids.ts'
import {
  type IncomingSpans,
  MAX_CHUNK_BYTES,
  MAX_CHUNK_SPANS,
  type Origin,
  type Received,
  reject,
} from './incoming.ts'
import { kindNumber, listOf, nanosToUs, statusNumber } from './plain.ts'
import { readJsonSpan } from './read-span.ts'
import type { OtlpSpan, OtlpTraces } from './types.ts'

interface Group {
  startUs: number
  chars: number
  spans: string[]
}

export function receiveJsonTraces(body: OtlpTraces, received: Received<IncomingSpans>): void {
  if (!Array.isArray(body?.resourceSpans)) {
    throw new TypeError('Expected OTLP/JSON with a `resourceSpans` array.')
  }
  for (const resourceSpans of body.resourceSpans) {
    const resource = resourceSpans?.resource ?? {}
    for (const scopeSpans of listOf(resourceSpans?.scopeSpans)) {
      const scope = scopeSpans?.scope ?? {}
      const origin: Origin = { key: JSON.stringify([scope, resource]), resource, scope }
      receiveScope(listOf(scopeSpans?.spans), origin, received)
    }
  }
}

function receiveScope(spans: OtlpSpan[], origin: Origin, received: Received<IncomingSpans>): void {
  const groups = new Map<string, Group>()
  const flush = (traceId: string, { startUs, spans }: Group) =>
    received.items.push({ traceId, origin, count: spans.length, startUs, body: `[${spans.join(',')}]` })
  for (const span of spans) {
    try {
      const exact = exactSpan(span)
      // Whatever would fail when the run is opened fails here, where it costs this span only.
      readJsonSpan(exact)
      const text = JSON.stringify(exact)
      let group = groups.get(exact.traceId)
      if (group && (group.spans.length === MAX_CHUNK_SPANS || group.chars + text.length > MAX_CHUNK_BYTES)) {
        flush(exact.traceId, group)
        group = undefined
      }
      if (!group) {
        group = { startUs: Number.POSITIVE_INFINITY, chars: 0, spans: [] }
        groups.set(exact.traceId, group)
      }
      group.spans.push(text)
      group.chars += text.length
      group.startUs = Math.min(group.startUs, nanosToUs(exact.startTimeUnixNano))
      received.accepted++
    } catch (error) {
      reject(received, error)
    }
  }
  for (const [traceId, group] of groups) flush(traceId, group)
}

function exactSpan(span: OtlpSpan): OtlpSpan {
  if (typeof span !== 'object' || span === null)
    throw new TypeError(`Expected a span, got \`${String(span)}\`.`)
  const exact: OtlpSpan = {
    ...span,
    traceId: jsonId(span.traceId, 32),
    spanId: jsonId(span.spanId, 16),
    parentSpanId: jsonId(span.parentSpanId ?? '', 16),
    name: String(span.name ?? ''),
    kind: kindNumber(span.kind),
    status: { code: statusNumber(span.status?.code), message: String(span.status?.message ?? '') },
  }
  if (!isTraceId(exact.traceId)) throw badTraceId(exact.traceId)
  if (!isSpanId(exact.spanId)) throw badSpanId(exact.spanId)
  return exact
}
