/** OTLP in its JSON form, which is also the viewer's own exact form: 64-bit numbers are text, ids are hex. */

export interface OtlpAnyValue {
  stringValue?: string
  boolValue?: boolean
  intValue?: string | number
  doubleValue?: number | string
  arrayValue?: { values?: OtlpAnyValue[] }
  kvlistValue?: { values?: OtlpKeyValue[] }
  bytesValue?: string
}

export interface OtlpKeyValue {
  key: string
  value?: OtlpAnyValue
}

export interface OtlpEvent {
  timeUnixNano?: string | number
  name?: string
  attributes?: OtlpKeyValue[]
  droppedAttributesCount?: number
}

export interface OtlpLink {
  traceId: string
  spanId: string
  traceState?: string
  attributes?: OtlpKeyValue[]
  droppedAttributesCount?: number
  flags?: number
}

export interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  traceState?: string
  flags?: number
  name?: string
  kind?: number | string
  startTimeUnixNano?: string | number
  endTimeUnixNano?: string | number
  attributes?: OtlpKeyValue[]
  droppedAttributesCount?: number
  events?: OtlpEvent[]
  droppedEventsCount?: number
  links?: OtlpLink[]
  droppedLinksCount?: number
  status?: { code?: number | string; message?: string }
}

export interface OtlpLogRecord {
  timeUnixNano?: string | number
  observedTimeUnixNano?: string | number
  severityNumber?: number
  severityText?: string
  body?: OtlpAnyValue
  attributes?: OtlpKeyValue[]
  traceId?: string
  spanId?: string
  eventName?: string
}

export interface OtlpResource {
  attributes?: OtlpKeyValue[]
}

export interface OtlpScope {
  name?: string
  version?: string
  attributes?: OtlpKeyValue[]
  droppedAttributesCount?: number
}

/** `ResourceSpans`, or the same of logs. */
export interface OtlpResourceItems {
  resource?: OtlpResource
  scopes: { scope?: OtlpScope; schemaUrl?: string }[]
  schemaUrl?: string
}

export interface OtlpTraces {
  resourceSpans?: {
    resource?: OtlpResource
    scopeSpans?: { scope?: OtlpScope; spans?: OtlpSpan[]; schemaUrl?: string }[]
    schemaUrl?: string
  }[]
}
