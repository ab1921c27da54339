/** A protobuf request into packed spans, grouped by trace. The bytes are kept as they came. */

import {
  decodeLogRecord,
  decodeResource,
  decodeScope,
  LOG_RECORD,
  type Message,
  REQUEST,
  RESOURCE,
  RESOURCE_ITEMS,
  SCOPE,
  SCOPE_ITEMS,
} from '../../internal/otlp/messages.ts'
import { ProtobufReader } from '../../internal/otlp/protobuf-reader.ts'
import type { OtlpResource, OtlpScope } from '../../internal/otlp/types.ts'
import type { InTurns } from '../model/in-turns.ts'
import {
  admit,
  type IncomingLog,
  type IncomingSpans,
  MAX_CHUNK_BYTES,
  MAX_CHUNK_SPANS,
  type Received,
  reject,
} from './incoming.ts'
import { NotedSpans } from './noted-spans.ts'
import { addLog } from './receive-json.ts'
import { SpanCheck } from './span-check.ts'
import { SpanNotes } from './span-notes.ts'

/** Spans between two turns: a span costs less than to ask whose turn it is. */
const YIELD_AFTER = 64

export function* receivingProtobufTraces(body: Buffer, received: Received<IncomingSpans>): InTurns<void> {
  for (const resourceSpans of messagesIn(new ProtobufReader(body), REQUEST.names, 'resources')) {
    yield
    admit(received)
    yield* receiveResource(resourceSpans, received)
  }
}

export function* receivingProtobufLogs(body: Buffer, received: Received<IncomingLog>): InTurns<void> {
  const check = new SpanCheck(body)
  for (const resource of messagesIn(new ProtobufReader(body), REQUEST.names, 'resources')) {
    yield
    admit(received)
    for (const scope of messagesIn(resource, RESOURCE_ITEMS.names, 'scopes')) {
      admit(received)
      for (const record of messagesIn(scope, SCOPE_ITEMS.names, 'items')) {
        yield
        admit(received)
        try {
          check.checkMessage(record.pos, record.end, LOG_RECORD)
          addLog(received, decodeLogRecord(record))
        } catch (error) {
          reject(received, error)
        }
      }
    }
  }
}

/** Every field of that name. */
function* messagesIn<K extends string>(
  reader: ProtobufReader,
  names: readonly (K | undefined)[],
  wanted: K,
): Generator<ProtobufReader> {
  while (!reader.done) {
    const tag = reader.tag()
    if (names[tag] === wanted) yield reader.message()
    else reader.skip(tag)
  }
}

function* receiveResource(resourceSpans: ProtobufReader, received: Received<IncomingSpans>): InTurns<void> {
  let resource: OtlpResource | Error = {}
  let resourceKey = ''
  const scopes: ProtobufReader[] = []
  while (!resourceSpans.done) {
    const tag = resourceSpans.tag()
    if (RESOURCE_ITEMS.names[tag] === 'resource') {
      const message = resourceSpans.message()
      resourceKey = message.bytes.toString('latin1', message.pos, message.end)
      resource = readOrigin(message, RESOURCE, decodeResource)
    } else if (RESOURCE_ITEMS.names[tag] === 'scopes') {
      admit(received)
      scopes.push(resourceSpans.message())
    } else resourceSpans.skip(tag)
  }
  for (const scopeSpans of scopes) yield* receiveScope(scopeSpans, resource, resourceKey, received)
}

/** What is wrong with it costs the spans that came from there. */
function readOrigin<T>(
  message: ProtobufReader,
  shape: Message,
  decode: (reader: ProtobufReader) => T,
): T | Error {
  try {
    new SpanCheck(message.bytes).checkMessage(message.pos, message.end, shape)
    return decode(message)
  } catch (error) {
    return error as Error
  }
}

/** Spans of one trace in the order of the request: a list of byte ranges, one as long as nothing comes between. */
interface Group {
  traceId: string
  traceAt: number
  startUs: number
  hasRoot: boolean
  count: number
  bytes: number
  ranges: number[]
  /** Where the notes of each begin. */
  noted: number[]
}

function* receiveScope(
  scopeSpans: ProtobufReader,
  resource: OtlpResource | Error,
  resourceKey: string,
  received: Received<IncomingSpans>,
): InTurns<void> {
  const { bytes } = scopeSpans
  const check = new SpanCheck(bytes)
  const notes = new SpanNotes(scopeSpans.end - scopeSpans.pos)
  const groups = new Map<string, Group>()
  const full: Group[] = []
  let scope: OtlpScope | Error = {}
  let group: Group | undefined
  while (!scopeSpans.done) {
    const start = scopeSpans.pos
    const tag = scopeSpans.tag()
    if (SCOPE_ITEMS.names[tag] !== 'items') {
      if (SCOPE_ITEMS.names[tag] === 'scope') scope = readOrigin(scopeSpans.message(), SCOPE, decodeScope)
      else scopeSpans.skip(tag)
      continue
    }
    const span = scopeSpans.message()
    if (received.left % YIELD_AFTER === 0) yield
    admit(received)
    let noted: number
    try {
      noted = check.check(span.pos, span.end, notes)
    } catch (error) {
      reject(received, error)
      continue
    }
    if (!group || !check.isTraceAt(group.traceAt)) group = groupAt(groups, bytes, check.traceAt)
    if (group.count === MAX_CHUNK_SPANS || group.bytes + span.end - start > MAX_CHUNK_BYTES) {
      if (group.count > 0) full.push(group)
      group = emptyGroup(group.traceId, check.traceAt)
      groups.set(group.traceId, group)
    }
    add(group, start, span.end, check)
    group.noted.push(noted)
  }
  for (const { traceId, startUs, hasRoot, count: spans, ranges, noted } of [...full, ...groups.values()]) {
    if (resource instanceof Error || scope instanceof Error) {
      reject(received, resource instanceof Error ? resource : scope, spans)
      continue
    }
    const key = `${scope.name ?? ''}\0${scope.version ?? ''}\0${resourceKey}`
    received.items.push({
      traceId,
      origin: { key, resource, scope },
      count: spans,
      startUs,
      hasRoot,
      body: joined(bytes, ranges),
      noted: new NotedSpans(bytes, notes, noted),
    })
    received.accepted += spans
  }
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
  return {
    traceId,
    traceAt,
    startUs: Number.POSITIVE_INFINITY,
    hasRoot: false,
    count: 0,
    bytes: 0,
    ranges: [],
    noted: [],
  }
}

function add(group: Group, start: number, end: number, { startUs, isRoot }: SpanCheck): void {
  const { ranges } = group
  if (ranges.at(-1) === start) ranges[ranges.length - 1] = end
  else ranges.push(start, end)
  group.count++
  group.bytes += end - start
  if (startUs < group.startUs) group.startUs = startUs
  if (isRoot) group.hasRoot = true
}

function joined(bytes: Buffer, ranges: readonly number[]): Buffer {
  if (ranges.length === 2) return bytes.subarray(ranges[0], ranges[1])
  const parts: Buffer[] = []
  for (let at = 0; at < ranges.length; at += 2) parts.push(bytes.subarray(ranges[at], ranges[at + 1]))
  return Buffer.concat(parts)
}
