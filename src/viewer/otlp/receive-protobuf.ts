/** A protobuf request into packed spans, grouped by trace. The bytes are kept as they came. */
import { decodeResource, decodeScope, REQUEST, RESOURCE_ITEMS, SCOPE_ITEMS } from './decode-protobuf.ts'
import {
  type IncomingSpans,
  MAX_CHUNK_BYTES,
  MAX_CHUNK_SPANS,
  type Origin,
  type Received,
  reject,
} from './incoming.ts'
import { ProtobufReader } from './protobuf-reader.ts'
import { SpanCheck } from './span-check.ts'
import type { OtlpResource, OtlpScope } from './types.ts'

export function receiveProtobufTraces(body: Buffer, received: Received<IncomingSpans>): void {
  const request = new ProtobufReader(body)
  while (!request.done) {
    const tag = request.tag()
    if (REQUEST.names[tag] === 'resources') receiveResource(request.message(), received)
    else request.skip(tag)
  }
}

function receiveResource(resourceSpans: ProtobufReader, received: Received<IncomingSpans>): void {
  let resource: OtlpResource = {}
  let resourceKey = ''
  const scopes: ProtobufReader[] = []
  while (!resourceSpans.done) {
    const tag = resourceSpans.tag()
    if (RESOURCE_ITEMS.names[tag] === 'resource') {
      const message = resourceSpans.message()
      resourceKey = message.bytes.toString('latin1', message.pos, message.end)
      resource = decodeResource(message)
    } else if (RESOURCE_ITEMS.names[tag] === 'scopes') scopes.push(resourceSpans.message())
    else resourceSpans.skip(tag)
  }
  for (const scopeSpans of scopes) receiveScope(scopeSpans, resource, resourceKey, received)
}

/** Spans of one trace in the order of the request: a list of byte ranges, one as long as nothing comes between. */
interface Group {
  traceId: string
  traceAt: number
  startUs: number
  count: number
  bytes: number
  ranges: number[]
}

function receiveScope(
  scopeSpans: ProtobufReader,
  resource: OtlpResource,
  resourceKey: string,
  received: Received<IncomingSpans>,
): void {
  const { bytes } = scopeSpans
  const check = new SpanCheck(bytes)
  const groups = new Map<string, Group>()
  const full: Group[] = []
  let scope: OtlpScope = {}
  let group: Group | undefined
  while (!scopeSpans.done) {
    const start = scopeSpans.pos
    const tag = scopeSpans.tag()
    if (SCOPE_ITEMS.names[tag] !== 'items') {
      if (SCOPE_ITEMS.names[tag] === 'scope') scope = decodeScope(scopeSpans.message())
      else scopeSpans.skip(tag)
      continue
    }
    const span = scopeSpans.message()
    try {
      check.check(span.pos, span.end)
    } catch (error) {
      reject(received, error)
      continue
    }
    received.accepted++
    if (!group || !check.isTraceAt(group.traceAt)) group = groupAt(groups, bytes, check.traceAt)
    if (group.count === MAX_CHUNK_SPANS || group.bytes + span.end - start > MAX_CHUNK_BYTES) {
      if (group.count > 0) full.push(group)
      group = emptyGroup(group.traceId, check.traceAt)
      groups.set(group.traceId, group)
    }
    add(group, start, span.end, check.startUs)
  }
  const origin: Origin = {
    key: `${scope.name ?? ''}\0${scope.version ?? ''}\0${resourceKey}`,
    resource,
    scope,
  }
  for (const { traceId, startUs, count, ranges } of [...full, ...groups.values()])
    received.items.push({ traceId, origin, count, startUs, body: joined(bytes, ranges) })
}

function groupAt(groups: Map<string, Group>, bytes: Buffer, traceAt: number): Group {
  const traceId = bytes.toString('hex', traceAt, traceAt + 16)
  const known = groups.get(traceId)
  if (known) return known
  const group = emptyGroup(traceId, traceAt)
  groups.set(traceId, group)
  return group
}

function emptyGroup(traceId: string, traceAt: number): Group {
  return { traceId, traceAt, startUs: Number.POSITIVE_INFINITY, count: 0, bytes: 0, ranges: [] }
}

function add(group: Group, start: number, end: number, startUs: number): void {
  const { ranges } = group
  if (ranges.at(-1) === start) ranges[ranges.length - 1] = end
  else ranges.push(start, end)
  group.count++
  group.bytes += end - start
  if (startUs < group.startUs) group.startUs = startUs
}

function joined(bytes: Buffer, ranges: readonly number[]): Buffer {
  if (ranges.length === 2) return bytes.subarray(ranges[0], ranges[1])
  const parts: Buffer[] = []
  for (let at = 0; at < ranges.length; at += 2) parts.push(bytes.subarray(ranges[at], ranges[at + 1]))
  return Buffer.concat(parts)
}
