import { createHash } from 'node:crypto'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { JaegerSpan } from '../../support/jaeger-trace.ts'

/** What an agent writes of each run that it has ended. */
export interface RunTruth {
  readonly traceId: string
  /** Why it is to be kept; absent where only a share of such runs is. */
  readonly reason?: string
  readonly spans: number
  /** Of all spans, with all that they say. */
  readonly digest: string
}

/** A span as both sides can say it: Jaeger keeps microseconds in Cassandra, and lists as JSON. */
interface Said {
  readonly id: string
  readonly parent: string | undefined
  readonly name: string
  readonly start: string
  readonly micros: string
  readonly failed: boolean
  readonly message: string | undefined
  readonly attributes: Record<string, unknown>
  readonly events: readonly { readonly name: string; readonly attributes: Record<string, unknown> }[]
}

export function digestOf(spans: readonly Said[]): string {
  const sorted = [...spans].sort((a, b) => (a.id < b.id ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex')
}

/** As the agent's SDK handed it to the exporter. */
export function ofSdk(span: ReadableSpan): Said {
  const start = micros(span.startTime)
  return {
    id: span.spanContext().spanId,
    parent: span.parentSpanContext?.spanId,
    name: span.name,
    start: String(start),
    micros: String((nanos(span.endTime) - nanos(span.startTime)) / 1000n),
    failed: span.status.code === 2,
    message: span.status.message,
    attributes: plain(span.attributes),
    events: span.events.map(({ name, attributes }) => ({ name, attributes: plain(attributes ?? {}) })),
  }
}

/** As Jaeger gives it back. */
export function ofJaeger(span: JaegerSpan): Said {
  return {
    id: span.spanId,
    parent: span.parentSpanId,
    name: span.name,
    start: String(span.startTimeUnixNano / 1000n),
    micros: String((span.endTimeUnixNano - span.startTimeUnixNano) / 1000n),
    failed: span.status.code === 'ERROR',
    message: span.status.message,
    attributes: plain(span.attributes),
    events: span.events.map(({ name, attributes }) => ({ name, attributes: plain(attributes) })),
  }
}

const nanos = ([seconds, rest]: readonly [number, number]): bigint =>
  BigInt(seconds) * 1_000_000_000n + BigInt(rest)
const micros = (time: readonly [number, number]): bigint => nanos(time) / 1000n

function plain(attributes: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(attributes)
      .map(([name, value]) => [name, Array.isArray(value) ? JSON.stringify(value) : value] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

const PRIME = 1_099_511_628_211n
const MASK = (1n << 64n) - 1n

/**
 * Whether the sampler's `probabilistic` policy holds of a trace: FNV-1a of its default salt and the trace's id, against that
 * share of 64 bits.
 */
export function inShare(traceId: string, percent: number): boolean {
  let hash = 14_695_981_039_346_656_037n
  for (const byte of Buffer.concat([Buffer.from('default-hash-seed'), Buffer.from(traceId, 'hex')])) {
    hash = ((hash ^ BigInt(byte)) * PRIME) & MASK
  }
  return hash <= (MASK / 100n) * BigInt(percent)
}
