import { isSpanContextValid, type SpanContext, TraceFlags } from '@opentelemetry/api'
import { a, expected } from '../internal/expect.ts'

const PATTERN = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Reads a W3C `traceparent`; undefined for anything else. Source: www.w3.org/TR/trace-context, section 3.2. */
export function parseTraceparent(value: unknown): SpanContext | undefined {
  if (typeof value !== 'string') return undefined
  const match = PATTERN.exec(value.trim())
  if (match === null) return undefined
  const [, version, traceId = '', spanId = '', flags = '00', rest] = match
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  const sampled = (Number.parseInt(flags, 16) & 1) === 1
  const context = {
    traceId,
    spanId,
    traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
  }
  return isSpanContextValid(context) ? context : undefined
}

/** The W3C `traceparent` of a span. */
export function formatTraceparent(context: SpanContext): string {
  const { traceId, spanId, traceFlags } = Object(context) as SpanContext
  if (![traceId, spanId].every(a.name.fits)) {
    throw expected("a span's context, as span.spanContext() gives it", context)
  }
  return `00-${traceId}-${spanId}-${traceFlags === TraceFlags.SAMPLED ? '01' : hexByte(traceFlags)}`
}

function hexByte(value: number): string {
  return (value & 0xff).toString(16).padStart(2, '0')
}
