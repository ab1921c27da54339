/** A span of any origin, as far as it is needed here. Times in milliseconds since 1970. */
export interface PlainSpan {
  readonly name: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly traceId: string | undefined
  readonly attributes: Readonly<Record<string, unknown>>
  readonly startMs: number
  readonly failed: boolean
  readonly kind: string | undefined
}

type Loose = Record<string, unknown>

/**
 * Spans of the OpenTelemetry SDK (a list of `ReadableSpan`), OTLP JSON, Jaeger's JSON, or a list of objects with
 * `name` and `attributes`. Undefined for anything else.
 */
export function readSpans(source: unknown): PlainSpan[] | undefined {
  if (Array.isArray(source)) {
    if (source.length > 0 && source.every(isOtlpDocument)) return sort(source.flatMap(readOtlp))
    if (source.length > 0 && source.every(isJaegerTrace)) return sort(source.flatMap(readJaeger))
    return source.length > 0 && source.every(isSpan) ? sort(source.map(readSpan)) : undefined
  }
  if (!isObject(source)) return undefined
  if (isOtlpDocument(source)) return sort(readOtlp(source))
  if (Array.isArray(source.data) && source.data.every(isJaegerTrace))
    return sort(source.data.flatMap(readJaeger))
  // Jaeger's /api/v3 wraps OTLP.
  if (isOtlpDocument(source.result)) return sort(readOtlp(source.result))
  if (isJaegerTrace(source)) return sort(readJaeger(source))
  return Array.isArray(source.spans) ? readSpans(source.spans) : undefined
}

function sort(spans: PlainSpan[]): PlainSpan[] {
  return spans
    .map((span, index) => ({ span, index }))
    .sort((a, b) => a.span.startMs - b.span.startMs || a.index - b.index)
    .map(({ span }) => span)
}

function isSpan(value: unknown): value is Loose {
  return (
    isObject(value) &&
    typeof value.name === 'string' &&
    isObject(value.attributes) &&
    !Array.isArray(value.attributes)
  )
}

/** `ReadableSpan` of the SDK, or what Python's SDK writes with `to_json()`. */
function readSpan(span: Loose): PlainSpan {
  if (typeof span.startMs === 'number' && typeof span.failed === 'boolean')
    return span as unknown as PlainSpan
  const spanContext = span.spanContext
  const context = (
    typeof spanContext === 'function' ? spanContext.call(span) : (span.context ?? span)
  ) as Loose
  const parent = (span.parentSpanContext ?? span.parent) as Loose | undefined | null
  const status = (span.status ?? {}) as Loose
  return {
    name: span.name as string,
    spanId: text(context.spanId ?? context.span_id),
    parentId: optional(parent?.spanId ?? parent?.span_id ?? span.parentSpanId ?? span.parent_id),
    traceId: optional(context.traceId ?? context.trace_id),
    attributes: span.attributes as Loose,
    startMs: time(span.startTime ?? span.start_time),
    failed: status.code === 2 || /error/i.test(text(status.status_code ?? status.code)),
    kind: kindName(span.kind),
  }
}

function isOtlpDocument(value: unknown): value is { resourceSpans: Loose[] } {
  return isObject(value) && Array.isArray(value.resourceSpans)
}

function readOtlp({ resourceSpans }: { resourceSpans: Loose[] }): PlainSpan[] {
  return resourceSpans
    .flatMap((resource) => (resource.scopeSpans ?? resource.instrumentationLibrarySpans ?? []) as Loose[])
    .flatMap((scope) => (scope.spans ?? []) as Loose[])
    .map((span) => ({
      name: text(span.name),
      spanId: text(span.spanId),
      parentId: optional(span.parentSpanId),
      traceId: optional(span.traceId),
      attributes: Object.fromEntries(
        ((span.attributes ?? []) as Loose[]).map(({ key, value }) => [text(key), otlpValue(value)]),
      ),
      startMs: Number(BigInt(text(span.startTimeUnixNano) || '0') / 1_000n) / 1_000,
      failed: isFailed((span.status as Loose | undefined)?.code),
      kind: kindName(typeof span.kind === 'number' ? span.kind - 1 : span.kind),
    }))
}

function isFailed(code: unknown): boolean {
  return code === 2 || code === 'STATUS_CODE_ERROR'
}

function otlpValue(value: unknown): unknown {
  if (!isObject(value)) return value
  if (value.intValue !== undefined) return Number(value.intValue)
  const list = (value.arrayValue as Loose | undefined)?.values
  if (Array.isArray(list)) return list.map(otlpValue)
  const entries = (value.kvlistValue as Loose | undefined)?.values
  if (Array.isArray(entries))
    return Object.fromEntries(entries.map((e: Loose) => [text(e.key), otlpValue(e.value)]))
  return value.stringValue ?? value.doubleValue ?? value.boolValue
}

function isJaegerTrace(value: unknown): value is { spans: Loose[] } {
  return (
    isObject(value) &&
    Array.isArray(value.spans) &&
    value.spans.every((span) => isObject(span) && 'operationName' in span)
  )
}

function readJaeger({ spans }: { spans: Loose[] }): PlainSpan[] {
  return spans.map((span) => {
    const attributes: Loose = Object.fromEntries(
      ((span.tags ?? []) as Loose[]).map(({ key, value }) => [text(key), value]),
    )
    const parent = ((span.references ?? []) as Loose[]).find((reference) => reference.refType === 'CHILD_OF')
    return {
      name: text(span.operationName),
      spanId: text(span.spanID),
      parentId: optional(parent?.spanID),
      traceId: optional(span.traceID),
      attributes,
      startMs: Number(span.startTime) / 1_000,
      failed: attributes['otel.status_code'] === 'ERROR' || attributes.error === true,
      kind: optional(attributes['span.kind'])?.toLowerCase(),
    }
  })
}

const KINDS = ['internal', 'server', 'client', 'producer', 'consumer']

function kindName(kind: unknown): string | undefined {
  if (typeof kind === 'number') return KINDS[kind]
  return typeof kind === 'string' ? kind.replace(/^SPAN_KIND_/, '').toLowerCase() : undefined
}

/** The SDK's [seconds, nanoseconds], nanoseconds, or a date. */
function time(value: unknown): number {
  if (Array.isArray(value)) return Number(value[0]) * 1_000 + Number(value[1]) / 1e6
  if (typeof value === 'number') return value > 1e15 ? value / 1e6 : value
  return typeof value === 'string' ? Date.parse(value) || 0 : 0
}

function text(value: unknown): string {
  return value === undefined || value === null ? '' : String(value)
}

function optional(value: unknown): string | undefined {
  const string = text(value)
  return string === '' ? undefined : string
}

function isObject(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null
}
