import type { HrTime, SpanContext } from '@opentelemetry/api'
import { writeAttributes, writeCount, writeText } from './protobuf-attributes.ts'
import { ProtobufWriter, sizeOfVarint, tagOf } from './protobuf-writer.ts'
import type { Link, Resource, Scope, SpanEvent } from './span-parts.ts'
import type { ReadableSpan } from './types.ts'

// Field numbers of opentelemetry/proto/{trace,resource,common}/v1 and of the collector's request.
export const REQUEST = { resourceSpans: tagOf(1, 'length') }
export const RESOURCE_SPANS = {
  resource: tagOf(1, 'length'),
  scopeSpans: tagOf(2, 'length'),
  schemaUrl: tagOf(3, 'length'),
}
export const SCOPE_SPANS = {
  scope: tagOf(1, 'length'),
  spans: tagOf(2, 'length'),
  schemaUrl: tagOf(3, 'length'),
}
const RESOURCE = { attributes: tagOf(1, 'length'), droppedAttributesCount: tagOf(2, 'varint') }
const SCOPE = {
  name: tagOf(1, 'length'),
  version: tagOf(2, 'length'),
  attributes: tagOf(3, 'length'),
  droppedAttributesCount: tagOf(4, 'varint'),
}
export const SPAN = {
  traceId: tagOf(1, 'length'),
  spanId: tagOf(2, 'length'),
  traceState: tagOf(3, 'length'),
  parentSpanId: tagOf(4, 'length'),
  name: tagOf(5, 'length'),
  kind: tagOf(6, 'varint'),
  startTime: tagOf(7, 'fixed64'),
  endTime: tagOf(8, 'fixed64'),
  attributes: tagOf(9, 'length'),
  droppedAttributesCount: tagOf(10, 'varint'),
  events: tagOf(11, 'length'),
  droppedEventsCount: tagOf(12, 'varint'),
  links: tagOf(13, 'length'),
  droppedLinksCount: tagOf(14, 'varint'),
  status: tagOf(15, 'length'),
  flags: tagOf(16, 'fixed32'),
}
const EVENT = {
  time: tagOf(1, 'fixed64'),
  name: tagOf(2, 'length'),
  attributes: tagOf(3, 'length'),
  droppedAttributesCount: tagOf(4, 'varint'),
}
const LINK = {
  traceId: tagOf(1, 'length'),
  spanId: tagOf(2, 'length'),
  traceState: tagOf(3, 'length'),
  attributes: tagOf(4, 'length'),
  droppedAttributesCount: tagOf(5, 'varint'),
  flags: tagOf(6, 'fixed32'),
}
const STATUS = { message: tagOf(2, 'length'), code: tagOf(3, 'varint') }
/** Spans are written here one after the other, before it is known how much goes before them. */
const scratch = new ProtobufWriter(64 * 1024)
/** A buffer that one request made larger than this is not kept for the next. */
const KEPT_BYTES = 4 * 1024 * 1024

/** One OTLP/protobuf request with all of the spans. */
export function protobufRequest(spans: readonly ReadableSpan[]): Uint8Array {
  const resources = [...groupsOf(spans)].map(([resource, scopes]) => resourceSpans(resource, scopes))
  const request = new ProtobufWriter(sumOf(resources.map(sizeOfField)) + 16)
  for (const { head, parts, tail, size } of resources) {
    request.byte(REQUEST.resourceSpans)
    request.varint(size)
    request.raw(head)
    for (const scope of parts) {
      request.byte(RESOURCE_SPANS.scopeSpans)
      request.varint(scope.size)
      request.raw(scope.head)
      request.raw(scratch.written(scope.start, scope.end))
      request.raw(scope.tail)
    }
    request.raw(tail)
  }
  scratch.reset(KEPT_BYTES)
  return request.written(0, request.at)
}

type Scopes = Map<Scope, ReadableSpan[]>

function groupsOf(spans: readonly ReadableSpan[]): Map<Resource, Scopes> {
  const groups = new Map<Resource, Scopes>()
  for (const span of spans) {
    const scopes = entry(groups, span.resource as Resource, (): Scopes => new Map())
    entry(scopes, span.instrumentationScope as Scope, (): ReadableSpan[] => []).push(span)
  }
  return groups
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** What goes before and after the spans of one resource and scope. */
interface Frame {
  readonly head: Uint8Array
  readonly tail: Uint8Array
}

interface ScopeSpans extends Frame {
  /** Where the spans are in the scratch. */
  readonly start: number
  readonly end: number
  readonly size: number
}

interface ResourceSpans extends Frame {
  readonly parts: readonly ScopeSpans[]
  readonly size: number
}

function resourceSpans(resource: Resource, scopes: Scopes): ResourceSpans {
  const parts = [...scopes].map(([scope, spans]) => scopeSpans(scope, spans))
  const frame = { head: resourceField(resource), tail: schemaField(RESOURCE_SPANS.schemaUrl, resource) }
  return { ...frame, parts, size: frame.head.length + sumOf(parts.map(sizeOfField)) + frame.tail.length }
}

function scopeSpans(scope: Scope, spans: readonly ReadableSpan[]): ScopeSpans {
  const frame = { head: scopeField(scope), tail: schemaField(SCOPE_SPANS.schemaUrl, scope) }
  const start = scratch.at
  for (const span of spans) writeSpan(scratch, span)
  const end = scratch.at
  return { ...frame, start, end, size: frame.head.length + (end - start) + frame.tail.length }
}

/** With its tag and its length. */
export function sizeOfField({ size }: { readonly size: number }): number {
  return 1 + sizeOfVarint(size) + size
}

function sumOf(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + size, 0)
}

export function resourceField({ attributes }: Resource): Uint8Array {
  const writer = new ProtobufWriter()
  writer.byte(RESOURCE_SPANS.resource)
  const start = writer.open()
  writeAttributes(writer, RESOURCE.attributes, attributes)
  writeCount(writer, RESOURCE.droppedAttributesCount, 0)
  writer.close(start)
  return writer.written(0, writer.at)
}

export function scopeField({ name, version, attributes, droppedAttributesCount }: Scope): Uint8Array {
  const writer = new ProtobufWriter()
  writer.byte(SCOPE_SPANS.scope)
  const start = writer.open()
  writeText(writer, SCOPE.name, name)
  if (version) writeText(writer, SCOPE.version, version)
  writeAttributes(writer, SCOPE.attributes, attributes)
  if (droppedAttributesCount) writeCount(writer, SCOPE.droppedAttributesCount, droppedAttributesCount)
  writer.close(start)
  return writer.written(0, writer.at)
}

export function schemaField(tag: number, { schemaUrl }: { readonly schemaUrl?: string }): Uint8Array {
  const writer = new ProtobufWriter()
  if (schemaUrl) writeText(writer, tag, schemaUrl)
  return writer.written(0, writer.at)
}

/** Most spans are between 128 bytes and 16 KiB long. */
export const SPAN_LENGTH_BYTES = 2

/** With the tag that it has in `ScopeSpans`, and its length. */
export function writeSpan(writer: ProtobufWriter, span: ReadableSpan): void {
  writer.byte(SCOPE_SPANS.spans)
  const start = writer.open(SPAN_LENGTH_BYTES)
  writeBeginning(writer, span)
  writeTime(writer, SPAN.endTime, span.endTime)
  writeAttributes(writer, SPAN.attributes, span.attributes)
  writeRest(writer, span)
  writer.close(start, SPAN_LENGTH_BYTES)
}

/** What comes before the time of its end. */
export function writeBeginning(writer: ProtobufWriter, span: ReadableSpan): void {
  const { traceId, spanId, traceState } = span.spanContext()
  const parent = span.parentSpanContext
  writeIds(writer, SPAN, traceId, spanId)
  if (traceState !== undefined) writeState(writer, SPAN.traceState, traceState)
  if (parent?.spanId) writer.hex(SPAN.parentSpanId, parent.spanId)
  writeText(writer, SPAN.name, span.name)
  // Kinds begin at 1 there, and 0 is a kind that is not known.
  if (span.kind != null) writeCount(writer, SPAN.kind, span.kind + 1)
  writeTime(writer, SPAN.startTime, span.startTime)
}

/** What comes after the attributes. */
export function writeRest(writer: ProtobufWriter, span: ReadableSpan): void {
  writeCount(writer, SPAN.droppedAttributesCount, span.droppedAttributesCount)
  for (const event of span.events as readonly SpanEvent[]) writeEvent(writer, event)
  writeCount(writer, SPAN.droppedEventsCount, span.droppedEventsCount)
  for (const link of span.links as readonly Link[]) writeLink(writer, link)
  writeCount(writer, SPAN.droppedLinksCount, span.droppedLinksCount)
  writeStatus(writer, span.status)
  writeFlags(writer, SPAN.flags, span.spanContext().traceFlags, span.parentSpanContext?.isRemote)
}

function writeEvent(writer: ProtobufWriter, event: SpanEvent): void {
  writer.byte(SPAN.events)
  const start = writer.open()
  writeTime(writer, EVENT.time, event.time)
  writeText(writer, EVENT.name, event.name)
  writeAttributes(writer, EVENT.attributes, event.attributes)
  writeCount(writer, EVENT.droppedAttributesCount, event.droppedAttributesCount ?? 0)
  writer.close(start)
}

function writeLink(writer: ProtobufWriter, { context, attributes, droppedAttributesCount = 0 }: Link): void {
  writer.byte(SPAN.links)
  const start = writer.open()
  writeIds(writer, LINK, context.traceId, context.spanId)
  if (context.traceState !== undefined) writeState(writer, LINK.traceState, context.traceState)
  writeAttributes(writer, LINK.attributes, attributes)
  writeCount(writer, LINK.droppedAttributesCount, droppedAttributesCount)
  writeFlags(writer, LINK.flags, context.traceFlags, context.isRemote)
  writer.close(start)
}

function writeStatus(writer: ProtobufWriter, { code, message }: ReadableSpan['status']): void {
  writer.byte(SPAN.status)
  const start = writer.open()
  if (message) writeText(writer, STATUS.message, message)
  writeCount(writer, STATUS.code, code)
  writer.close(start)
}

function writeIds(writer: ProtobufWriter, tags: typeof SPAN | typeof LINK, trace: string, span: string) {
  writer.hex(tags.traceId, trace)
  writer.hex(tags.spanId, span)
}

function writeState(writer: ProtobufWriter, tag: number, state: NonNullable<SpanContext['traceState']>) {
  const text = state.serialize()
  if (text) writeText(writer, tag, text)
}

/** The flags of W3C, and whether it is known that the parent is in another process (bits 8 and 9). */
function writeFlags(writer: ProtobufWriter, tag: number, flags: number, isRemote: boolean | undefined) {
  writer.varint(tag)
  writer.fixed32((flags & 0xff) | (isRemote ? 0x300 : 0x100))
}

/** The second that was written last, which most times share: its nanoseconds, by their lower and upper 32 bits. */
let lastSeconds = 0
let lastLow = 0
let lastHigh = 0

/** Nanoseconds since the epoch, for which a number of JavaScript is too short. */
export function writeTime(writer: ProtobufWriter, tag: number, [seconds, nanos]: HrTime): void {
  if (seconds !== lastSeconds) keepSeconds(seconds)
  const low = lastLow + nanos
  const carry = Math.floor(low / 2 ** 32)
  writer.fixed64(tag, low - carry * 2 ** 32, lastHigh + carry)
}

function keepSeconds(seconds: number): void {
  // The lower 16 bits of the seconds and the rest, each of which can be multiplied without loss.
  const upper = Math.floor(seconds / 2 ** 16)
  const lowerNanos = (seconds - upper * 2 ** 16) * 1e9
  const upperNanos = upper * 1e9
  const lowerHigh = Math.floor(lowerNanos / 2 ** 32)
  const upperHigh = Math.floor(upperNanos / 2 ** 16)
  const low = lowerNanos - lowerHigh * 2 ** 32 + (upperNanos - upperHigh * 2 ** 16) * 2 ** 16
  const carry = low < 2 ** 32 ? 0 : 1
  lastSeconds = seconds
  lastLow = low - carry * 2 ** 32
  lastHigh = lowerHigh + upperHigh + carry
}
