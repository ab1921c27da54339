/** Spans and logs as they are sent, in OTLP/JSON and in protobuf. */

import { anyValue, pairs, type Value } from '../support.ts'

export type { Value }
export type Attributes = Record<string, Value>

export interface SentEvent {
  name: string
  timeUs: number
  attributes: Attributes
}

/** A span as it was sent once: begun, or ended. */
export interface SentSpan {
  traceId: string
  spanId: string
  parentSpanId: string
  name: string
  startUs: number
  endUs: number
  attributes: Attributes
  events: SentEvent[]
  /** The message of its status, when that is an error. */
  error?: string
  /** Places in `RESOURCES` and `SCOPES`. */
  resource: number
  scope: number
  means: Meaning
}

/** What whoever made a span meant by it: what the viewer has to find out. */
export interface Meaning {
  category: string
  label: string
  started?: boolean
  inputTokens?: number
  outputTokens?: number
  cachedTokens?: number
  costUsd?: number
  outcome?: string
  mocked?: boolean
  callId?: string
  reason?: string
  conversationId?: string
  gates?: Gate[]
  human?: { action?: string; approver?: string; waitedMs?: number }
}

export interface Gate {
  id: string
  decision: string
  enforced: boolean
  timeUs: number
  reason?: string
  code?: string
  durationMs?: number
}

export interface SentLog {
  traceId: string
  spanId: string
  timeUs: number
  eventName: string
  body: Value
}

export const DEAD_PID = 2 ** 22 + 7
export const RESOURCES: readonly Attributes[] = [
  { 'service.name': 'shop', 'service.version': '1.4', 'process.pid': process.pid },
  { 'service.name': 'shop', 'service.version': '1.5', 'host.name': 'far away', 'process.pid': 1 },
  { 'service.name': 'the "back" office', 'process.pid': DEAD_PID, 'app.on': true, 'app.share': 0.25 },
  {},
]
export const SCOPES: readonly { name: string; version: string }[] = [
  { name: 'hookspan', version: '1' },
  { name: 'other', version: '' },
]

export interface SentGroup {
  resource: number
  scope: number
  spans: SentSpan[]
}

export type Format = 'json' | 'protobuf'

export function requestOf(groups: readonly SentGroup[], format: Format): Buffer {
  const request = {
    resourceSpans: groups.map(({ resource, scope, spans }) => ({
      resource: { attributes: pairs(RESOURCES[resource]!) },
      scopeSpans: [{ scope: SCOPES[scope]!, spans: spans.map(otlpSpan) }],
    })),
  }
  return format === 'json' ? Buffer.from(JSON.stringify(request)) : encoded(request, REQUEST)
}

/** As it arrives: protobuf has no halves of characters. */
export function arriving<T>(sent: T, format: Format): T {
  if (format === 'json') return sent
  const text = JSON.stringify(sent, (_key, value) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  )
  return JSON.parse(text) as T
}

export function otlpLog(log: SentLog) {
  return {
    traceId: log.traceId,
    spanId: log.spanId,
    timeUnixNano: nanos(log.timeUs),
    eventName: log.eventName,
    body: anyValue(log.body),
  }
}

const nanos = (us: number) => (us === 0 ? '0' : `${us}000`)

function otlpSpan(span: SentSpan) {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    name: span.name,
    kind: 1,
    startTimeUnixNano: nanos(span.startUs),
    endTimeUnixNano: nanos(span.endUs),
    attributes: pairs(span.attributes),
    events: span.events.map(({ name, timeUs, attributes }) => ({
      timeUnixNano: nanos(timeUs),
      name,
      attributes: pairs(attributes),
    })),
    status: span.error === undefined ? {} : { message: span.error, code: 2 },
  }
}

/** Fields in the order of the protocol, each with its number and how it is written. */
type Shape = Readonly<Record<string, readonly [number: number, how: How]>>
type How = 'text' | 'hex' | 'fixed64' | 'varint' | 'double' | (() => Shape)

const ANY: Shape = {
  stringValue: [1, 'text'],
  boolValue: [2, 'varint'],
  intValue: [3, 'varint'],
  doubleValue: [4, 'double'],
  arrayValue: [5, () => ({ values: [1, () => ANY] })],
  kvlistValue: [6, () => ({ values: [1, () => PAIR] })],
}
const PAIR: Shape = { key: [1, 'text'], value: [2, () => ANY] }
const SPAN: Shape = {
  traceId: [1, 'hex'],
  spanId: [2, 'hex'],
  parentSpanId: [4, 'hex'],
  name: [5, 'text'],
  kind: [6, 'varint'],
  startTimeUnixNano: [7, 'fixed64'],
  endTimeUnixNano: [8, 'fixed64'],
  attributes: [9, () => PAIR],
  events: [11, () => ({ timeUnixNano: [1, 'fixed64'], name: [2, 'text'], attributes: [3, () => PAIR] })],
  status: [15, () => ({ message: [2, 'text'], code: [3, 'varint'] })],
}
const SCOPE: Shape = {
  scope: [1, () => ({ name: [1, 'text'], version: [2, 'text'] })],
  spans: [2, () => SPAN],
}
const REQUEST: Shape = {
  resourceSpans: [
    1,
    () => ({ resource: [1, () => ({ attributes: [1, () => PAIR] })], scopeSpans: [2, () => SCOPE] }),
  ],
}

function encoded(message: object, shape: Shape): Buffer {
  const parts: Buffer[] = []
  for (const [name, given] of Object.entries(message)) {
    const [number, how] = shape[name]!
    for (const value of Array.isArray(given) ? given : [given]) parts.push(field(number, how, value))
  }
  return Buffer.concat(parts)
}

function field(number: number, how: How, value: unknown): Buffer {
  if (how === 'varint')
    return Buffer.concat([varint(number << 3), varint(BigInt.asUintN(64, BigInt(value as string)))])
  if (how === 'fixed64' || how === 'double') {
    const bytes = Buffer.alloc(8)
    if (how === 'double') bytes.writeDoubleLE(value as number)
    else bytes.writeBigUInt64LE(BigInt(value as string))
    return Buffer.concat([varint((number << 3) | 1), bytes])
  }
  const bytes =
    how === 'text'
      ? Buffer.from(value as string)
      : how === 'hex'
        ? Buffer.from(value as string, 'hex')
        : encoded(value as object, how())
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes])
}

function varint(value: number | bigint): Buffer {
  const bytes: number[] = []
  let rest = BigInt(value)
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  bytes.push(Number(rest))
  return Buffer.from(bytes)
}
