/** Jaeger's two trace formats, as plain data. */

export interface JaegerSpan {
  traceId: string
  spanId: string
  /** Undefined for a root. */
  parentSpanId?: string
  name: string
  /** OTLP numbers: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number
  startTimeUnixNano: bigint
  endTimeUnixNano: bigint
  status: { code: 'UNSET' | 'OK' | 'ERROR'; message?: string }
  attributes: Record<string, unknown>
  events: { name: string; timeUnixNano: bigint; attributes: Record<string, unknown> }[]
  links: { traceId: string; spanId: string; attributes: Record<string, unknown> }[]
  resource: Record<string, unknown>
  scope: { name?: string; version?: string }
  /** What Jaeger found wrong with the span, such as a duplicate id or a negative duration. */
  warnings: string[]
}

export interface JaegerTrace {
  traceId: string
  /** Ordered by start; spans that start together keep the order in which Jaeger gave them. */
  spans: JaegerSpan[]
}

/** The shape of `/api/traces`, as far as tests read it. */
export interface LegacyTrace {
  traceID: string
  spans: {
    traceID: string
    spanID: string
    operationName: string
    references: { refType: 'CHILD_OF' | 'FOLLOWS_FROM'; traceID: string; spanID: string }[]
    /** Microseconds since the epoch. */
    startTime: number
    /** Microseconds. */
    duration: number
    tags: { key: string; type: string; value: unknown }[]
    logs: { timestamp: number; fields: { key: string; type: string; value: unknown }[] }[]
    processID: string
    warnings: string[] | null
  }[]
  processes: Record<string, { serviceName: string; tags: { key: string; value: unknown }[] }>
}

interface OtlpValue {
  stringValue?: string
  intValue?: string
  doubleValue?: number
  boolValue?: boolean
  bytesValue?: string
  arrayValue?: { values?: OtlpValue[] }
  kvlistValue?: { values?: OtlpAttribute[] }
}
interface OtlpAttribute {
  key: string
  value?: OtlpValue
}
interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name?: string
  kind?: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes?: OtlpAttribute[]
  events?: { name?: string; timeUnixNano: string; attributes?: OtlpAttribute[] }[]
  links?: { traceId: string; spanId: string; attributes?: OtlpAttribute[] }[]
  status?: { code?: number; message?: string }
}
interface OtlpResult {
  result: {
    resourceSpans?: {
      resource?: { attributes?: OtlpAttribute[] }
      scopeSpans?: { scope?: { name?: string; version?: string }; spans?: OtlpSpan[] }[]
    }[]
  }
}

const WARNINGS = '@jaeger@warnings'

/** Undefined when the answer holds no span. */
export function parseOtlpTrace(body: string): JaegerTrace | undefined {
  const spans: JaegerSpan[] = []
  for (const { resource, scopeSpans } of (JSON.parse(body) as OtlpResult).result.resourceSpans ?? []) {
    const resourceAttributes = toRecord(resource?.attributes)
    for (const { scope, spans: group } of scopeSpans ?? []) {
      for (const span of group ?? []) spans.push(toSpan(span, resourceAttributes, scope ?? {}))
    }
  }
  const first = spans[0]
  if (!first) return undefined
  spans.sort((a, b) => Number(a.startTimeUnixNano - b.startTimeUnixNano))
  return { traceId: first.traceId, spans }
}

function toSpan(span: OtlpSpan, resource: JaegerSpan['resource'], scope: JaegerSpan['scope']): JaegerSpan {
  const { [WARNINGS]: warnings, ...attributes } = toRecord(span.attributes)
  const { code = 0, message } = span.status ?? {}
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId ? { parentSpanId: span.parentSpanId } : {}),
    name: span.name ?? '',
    kind: span.kind ?? 0,
    startTimeUnixNano: BigInt(span.startTimeUnixNano),
    endTimeUnixNano: BigInt(span.endTimeUnixNano),
    status: { code: (['UNSET', 'OK', 'ERROR'] as const)[code] ?? 'UNSET', ...(message ? { message } : {}) },
    attributes,
    events: (span.events ?? []).map((event) => ({
      name: event.name ?? '',
      timeUnixNano: BigInt(event.timeUnixNano),
      attributes: toRecord(event.attributes),
    })),
    links: (span.links ?? []).map((link) => ({
      traceId: link.traceId,
      spanId: link.spanId,
      attributes: toRecord(link.attributes),
    })),
    resource,
    scope,
    warnings: (warnings as string[] | undefined) ?? [],
  }
}

function toRecord(attributes: OtlpAttribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)]))
}

function toValue(value: OtlpValue = {}): unknown {
  if (value.intValue !== undefined) return Number(value.intValue)
  if (value.arrayValue) return (value.arrayValue.values ?? []).map(toValue)
  if (value.kvlistValue) return toRecord(value.kvlistValue.values)
  return value.stringValue ?? value.doubleValue ?? value.boolValue ?? value.bytesValue
}
