import type { Attributes, SpanContext } from '@opentelemetry/api'
import { createTraceState } from '@opentelemetry/api'
import { HOOKSPAN } from '../../../spans/names.ts'
import { type SpanText, spanJson } from '../otlp-json.ts'
import type { ReadableSpan } from '../types.ts'

/**
 * What a line of the spool is: the head that later lines name by its number, a span that started, one that
 * ended, or one that was handed over to another process.
 *
 *   h 0 {"resourceSpans":[{"resource":…,"scopeSpans":[{"scope":…,"spans":[
 *   s 0 ["<trace id>","<span id>",…]
 *   e 0 {"traceId":…}
 *   p 0 <span id>
 */
export type RecordKind = 'h' | 's' | 'e' | 'p'

export interface SpoolRecord {
  readonly kind: RecordKind
  readonly head: number
  readonly body: Buffer
}

const SPACE = 32
const KINDS: readonly (RecordKind | undefined)[] = ['h', 's', 'e', 'p']

/** Undefined for a line that is none of ours. */
export function readRecord(line: Buffer): SpoolRecord | undefined {
  const at = line.indexOf(SPACE, 2)
  const kind = KINDS[KINDS.indexOf(line.toString('latin1', 0, 1) as RecordKind)]
  if (at < 3 || line[1] !== SPACE || kind === undefined) return undefined
  const head = Number(line.toString('latin1', 2, at))
  return Number.isInteger(head) ? { kind, head, body: line.subarray(at + 1) } : undefined
}

type Started = readonly [
  traceId: string,
  spanId: string,
  parentSpanId: string,
  traceFlags: number,
  parentIsRemote: boolean,
  traceState: string,
  name: string,
  kind: number,
  seconds: number,
  nanoseconds: number,
  attributes: Attributes,
]

/** A span as it started, in short: most are never read again. */
export function startedText(span: ReadableSpan): string {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  const { parentSpanContext: parent } = span
  const [seconds, nanoseconds] = span.startTime
  const started: Started = [
    traceId,
    spanId,
    parent?.spanId ?? '',
    traceFlags,
    parent?.isRemote ?? false,
    traceState?.serialize() ?? '',
    span.name,
    span.kind,
    seconds,
    nanoseconds,
    span.attributes,
  ]
  return JSON.stringify(started)
}

/** @throws SyntaxError for a text that is no JSON. */
export function startedSpanId(text: string): string {
  return (JSON.parse(text) as Started)[1]
}

/** A span whose process died before it ended, told as interrupted. */
export function interruptedText(head: string, started: string): SpanText {
  const [
    traceId,
    spanId,
    parentSpanId,
    traceFlags,
    isRemote,
    state,
    name,
    kind,
    seconds,
    nanoseconds,
    attributes,
  ] = JSON.parse(started) as Started
  const context: SpanContext = {
    traceId,
    spanId,
    traceFlags,
    ...(state !== '' && { traceState: createTraceState(state) }),
  }
  const json = spanJson({
    name,
    kind,
    spanContext: () => context,
    ...(parentSpanId !== '' && {
      parentSpanContext: { traceId, spanId: parentSpanId, traceFlags, isRemote },
    }),
    startTime: [seconds, nanoseconds],
    endTime: [seconds, nanoseconds],
    status: { code: 0 },
    attributes: { ...attributes, [HOOKSPAN.spanState]: 'interrupted' },
    links: [],
    events: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  })
  return { head, json }
}
