import type { Attributes, HrTime, SpanContext } from '@opentelemetry/api'
import { headsBy, type Link, type Resource, type Scope, type SpanEvent } from './span-parts.ts'
import type { ReadableSpan } from './types.ts'

/** One OTLP/JSON request with all of the spans. */
export function jsonRequest(spans: readonly ReadableSpan[]): Buffer {
  const groups = Map.groupBy(spans, headOf)
  const resources = [...groups].map(([head, group]) => head + group.map(spanJson).join(',') + END_OF_RESOURCE)
  return Buffer.from(`${OPENING}${resources.join(',')}${CLOSING}`)
}

const OPENING = '{"resourceSpans":['
const CLOSING = ']}'
const END_OF_RESOURCE = ']}]}'

/** What a request has before the spans that share a resource and scope. */
const headOf = headsBy(writeHead)

function writeHead(resource: Resource, scope: Scope): string {
  const { name, version, attributes, droppedAttributesCount } = scope
  const scopeJson = `{"name":${text(name)}${version ? `,"version":${text(version)}` : ''}${
    attributes ? `,"attributes":${attributesJson(attributes)}` : ''
  }${droppedAttributesCount ? `,"droppedAttributesCount":${droppedAttributesCount}` : ''}}`
  return `{"resource":{"attributes":${attributesJson(resource.attributes ?? {})}}${schemaOf(resource)},"scopeSpans":[{"scope":${scopeJson}${schemaOf(scope)},"spans":[`
}

function schemaOf({ schemaUrl }: { readonly schemaUrl?: string }): string {
  return schemaUrl ? `,"schemaUrl":${text(schemaUrl)}` : ''
}

function spanJson(span: ReadableSpan): string {
  const context = span.spanContext()
  const { parentSpanContext: parent, status, events, links } = span
  let json = `{"traceId":"${context.traceId}","spanId":"${context.spanId}"`
  if (parent?.spanId) json += `,"parentSpanId":"${parent.spanId}"`
  json += stateOf(context)
  json += `,"flags":${flagsOf(context.traceFlags, parent?.isRemote)},"name":${text(span.name)},"kind":${
    span.kind == null ? 0 : span.kind + 1
  },"startTimeUnixNano":"${nanos(span.startTime)}","endTimeUnixNano":"${nanos(span.endTime)}","attributes":${attributesJson(span.attributes)}`
  json += dropped('Attributes', span.droppedAttributesCount)
  if (events.length > 0) json += `,"events":[${(events as readonly SpanEvent[]).map(eventJson).join(',')}]`
  json += dropped('Events', span.droppedEventsCount)
  if (links.length > 0) json += `,"links":[${(links as readonly Link[]).map(linkJson).join(',')}]`
  json += dropped('Links', span.droppedLinksCount)
  const message = status.message ? `,"message":${text(status.message)}` : ''
  return `${json},"status":{"code":${status.code}${message}}}`
}

function eventJson({ name, time, attributes = {}, droppedAttributesCount = 0 }: SpanEvent): string {
  return `{"timeUnixNano":"${nanos(time)}","name":${text(name)},"attributes":${attributesJson(attributes)}${dropped(
    'Attributes',
    droppedAttributesCount,
  )}}`
}

function linkJson({ context, attributes = {}, droppedAttributesCount = 0 }: Link): string {
  return `{"traceId":"${context.traceId}","spanId":"${context.spanId}"${stateOf(context)},"flags":${flagsOf(
    context.traceFlags,
    context.isRemote,
  )},"attributes":${attributesJson(attributes)}${dropped('Attributes', droppedAttributesCount)}}`
}

function stateOf({ traceState }: SpanContext): string {
  return traceState === undefined ? '' : `,"traceState":${text(traceState.serialize())}`
}

function dropped(what: string, count: number): string {
  return count ? `,"dropped${what}Count":${count}` : ''
}

/** The flags of W3C, and whether it is known that the parent is in another process (OTLP's bits 8 and 9). */
function flagsOf(traceFlags: number, isRemote: boolean | undefined): number {
  return (traceFlags & 0xff) | (isRemote ? 0x300 : 0x100)
}

const A_SECOND = 1_000_000_000

function nanos([seconds, nanoseconds]: HrTime): string {
  return seconds === 0 ? String(nanoseconds) : seconds + String(A_SECOND + nanoseconds).slice(1)
}

function attributesJson(attributes: Attributes): string {
  let json = ''
  for (const key in attributes) {
    if (!Object.hasOwn(attributes, key)) continue
    json += `${json === '' ? '' : ','}${keyJson(key)}${valueJson(attributes[key])}}`
  }
  return `[${json}]`
}

function valueJson(value: unknown): string {
  if (typeof value === 'string') return `{"stringValue":${text(value)}}`
  if (typeof value === 'boolean') return `{"boolValue":${value}}`
  if (typeof value === 'number') return numberJson(value)
  if (typeof value === 'bigint') return `{"intValue":"${value}"}`
  if (value instanceof Uint8Array) return `{"bytesValue":"${Buffer.from(value).toString('base64')}"}`
  if (Array.isArray(value)) return `{"arrayValue":{"values":[${value.map(valueJson).join(',')}]}}`
  if (typeof value === 'object' && value !== null) {
    return `{"kvlistValue":{"values":${attributesJson(value as Attributes)}}}`
  }
  return '{}'
}

/** Beyond 64 bits no collector reads an integer, and JSON has no number for what is not finite. */
function numberJson(value: number): string {
  if (Number.isSafeInteger(value)) return `{"intValue":${value}}`
  return Number.isFinite(value) ? `{"doubleValue":${value}}` : `{"doubleValue":"${value}"}`
}

const KEYS_KEPT = 1_000
const keys = new Map<string, string>()

/** Attributes have few names, over and over. */
function keyJson(key: string): string {
  let json = keys.get(key)
  if (json === undefined) {
    json = `{"key":${text(key)},"value":`
    if (keys.size < KEYS_KEPT) keys.set(key, json)
  }
  return json
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what JSON escapes, and surrogates, which may be alone.
const SPECIAL = /["\\\u0000-\u001f\ud800-\udfff]/

/** A lone surrogate would reach the collector as broken UTF-8. */
function text(value: string): string {
  return SPECIAL.test(value) ? JSON.stringify(value.toWellFormed()) : `"${value}"`
}
