/** An OTLP/JSON request into packed spans, grouped by trace, or into log records. Each is parsed by itself. */

import { LOG_RECORD, type Message, RESOURCE, SCOPE, SPAN } from '../../internal/otlp/messages.ts'
import type { OtlpLogRecord, OtlpResource, OtlpScope, OtlpSpan } from '../../internal/otlp/types.ts'
import type { InTurns } from '../model/in-turns.ts'
import { JsonCursor, type JsonExtent } from '../model/json-text.ts'
import { checkJson } from './check-json.ts'
import { badSpanId, badTraceId, isSpanId, isTraceId, jsonId } from './ids.ts'
import {
  admit,
  type IncomingLog,
  type IncomingSpans,
  MAX_CHUNK_BYTES,
  MAX_CHUNK_SPANS,
  type Origin,
  type Received,
  reject,
} from './incoming.ts'
import { assertSize } from './limits.ts'
import { nanosToUs } from './plain.ts'

/** What one scope brings: where it, its resource and each of its items are. */
interface Scope {
  resource: { at: JsonExtent | undefined }
  scope: JsonExtent | undefined
  items: JsonExtent[]
}

export function* receivingJsonTraces(text: string, received: Received<IncomingSpans>): InTurns<void> {
  for (const scope of yield* split(text, ['resourceSpans', 'scopeSpans', 'spans'], received)) {
    yield* receiveScope(text, scope, received)
  }
}

export function* receivingJsonLogs(text: string, received: Received<IncomingLog>): InTurns<void> {
  for (const { items } of yield* split(text, ['resourceLogs', 'scopeLogs', 'logRecords'], received)) {
    for (const item of items) {
      yield
      try {
        addLog(received, parsed<OtlpLogRecord>(text, item, LOG_RECORD))
      } catch (error) {
        reject(received, error)
      }
    }
  }
}

/** A record that belongs to no span is taken, and not kept. */
export function addLog(received: Received<IncomingLog>, record: OtlpLogRecord): void {
  const traceId = jsonId(record.traceId, 32)
  const spanId = jsonId(record.spanId, 16)
  received.accepted++
  if (isTraceId(traceId) && isSpanId(spanId)) received.items.push({ traceId, spanId, record })
}

type Names = readonly [resources: string, scopes: string, items: string]

/** @throws SyntaxError, TypeError when the request as a whole cannot be read, TooMany when it is too much. */
function* split(text: string, names: Names, received: Received<unknown>): InTurns<Scope[]> {
  const [resources, scopes, items] = names
  const cursor = new JsonCursor(text)
  const found: Scope[] = []
  let isRequest = false
  const readScope = function* (resource: Scope['resource']) {
    admit(received)
    const scope: Scope = { resource, scope: undefined, items: [] }
    found.push(scope)
    yield* cursor.object(function* (key) {
      if (key === 'scope') scope.scope = yield* cursor.value()
      else if (key === items) {
        yield* cursor.list(function* () {
          admit(received)
          scope.items.push(yield* cursor.value())
        })
      } else yield* cursor.value()
    })
  }
  const readResource = function* () {
    admit(received)
    const resource: Scope['resource'] = { at: undefined }
    yield* cursor.object(function* (key) {
      if (key === 'resource') resource.at = yield* cursor.value()
      else if (key === scopes) yield* cursor.list(() => readScope(resource))
      else yield* cursor.value()
    })
  }
  yield* cursor.object(function* (key) {
    if (key === resources) isRequest = yield* cursor.list(readResource)
    else yield* cursor.value()
  })
  cursor.end()
  if (!isRequest) throw new TypeError(`a \`${resources}\` list is missing`)
  return found
}

function parsed<T>(text: string, extent: JsonExtent, message: Message): T {
  if (extent.tooMuch) throw new RangeError(extent.tooMuch)
  assertSize(extent.end - extent.start)
  const value: unknown = JSON.parse(text.slice(extent.start, extent.end))
  checkJson(value, message)
  return value as T
}

interface Group {
  traceId: string
  startUs: number
  hasRoot: boolean
  chars: number
  spans: string[]
}

function* receiveScope(
  text: string,
  { resource, scope, items }: Scope,
  received: Received<IncomingSpans>,
): InTurns<void> {
  let origin: Origin
  try {
    origin = originOf(text, resource.at, scope)
  } catch (error) {
    reject(received, error, items.length)
    return
  }
  const groups = new Map<string, Group>()
  for (const item of items) {
    yield
    try {
      const span = parsed<OtlpSpan>(text, item, SPAN)
      const exact = withExactIds(span)
      const sent = exact === span ? text.slice(item.start, item.end) : JSON.stringify(exact)
      add(groups, exact, sent, (group) => received.items.push(packed(group, origin)))
      received.accepted++
    } catch (error) {
      reject(received, error)
    }
  }
  for (const group of groups.values()) received.items.push(packed(group, origin))
}

function originOf(text: string, resource: JsonExtent | undefined, scope: JsonExtent | undefined): Origin {
  const sent = [resource, scope].map((at) => at && text.slice(at.start, at.end))
  return {
    key: sent.join('\0'),
    resource: isGiven(sent[0]) ? parsed<OtlpResource>(text, resource!, RESOURCE) : {},
    scope: isGiven(sent[1]) ? parsed<OtlpScope>(text, scope!, SCOPE) : {},
  }
}

const isGiven = (sent: string | undefined) => sent !== undefined && sent.trim() !== 'null'

function add(groups: Map<string, Group>, span: OtlpSpan, sent: string, flush: (full: Group) => void): void {
  const { traceId } = span
  let group = groups.get(traceId)
  if (group && (group.spans.length === MAX_CHUNK_SPANS || group.chars + sent.length > MAX_CHUNK_BYTES)) {
    flush(group)
    group = undefined
  }
  if (!group) {
    group = { traceId, startUs: Number.POSITIVE_INFINITY, hasRoot: false, chars: 0, spans: [] }
    groups.set(traceId, group)
  }
  group.spans.push(sent)
  group.chars += sent.length
  group.startUs = Math.min(group.startUs, nanosToUs(span.startTimeUnixNano))
  if (!span.parentSpanId) group.hasRoot = true
}

function packed({ traceId, startUs, hasRoot, spans }: Group, origin: Origin): IncomingSpans {
  return { traceId, origin, count: spans.length, startUs, hasRoot, body: `[${spans.join(',')}]` }
}

/** The span itself, where its ids are as the store keeps them. */
function withExactIds(span: OtlpSpan): OtlpSpan {
  const traceId = jsonId(span.traceId, 32)
  const spanId = jsonId(span.spanId, 16)
  const parentSpanId = jsonId(span.parentSpanId ?? '', 16)
  if (!isTraceId(traceId)) throw badTraceId(traceId)
  if (!isSpanId(spanId)) throw badSpanId(spanId)
  const isExact =
    span.traceId === traceId && span.spanId === spanId && (span.parentSpanId ?? '') === parentSpanId
  return isExact ? span : { ...span, traceId, spanId, parentSpanId }
}
