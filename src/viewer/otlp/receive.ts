/** A request body into spans or logs ready to store. One bad span costs that span, not its request. */
import { errorMessage } from '../../internal/errors.ts'
import { decodeLogRecord, REQUEST, RESOURCE_ITEMS, SCOPE_ITEMS } from './decode-protobuf.ts'
import { isSpanId, isTraceId, jsonId } from './ids.ts'
import { type IncomingLog, type IncomingSpans, type Received, reject } from './incoming.ts'
import { listOf } from './plain.ts'
import { ProtobufReader } from './protobuf-reader.ts'
import { receiveJsonTraces } from './receive-json.ts'
import { receiveProtobufTraces } from './receive-protobuf.ts'
import type { OtlpLogRecord, OtlpLogs, OtlpTraces } from './types.ts'

export type BodyFormat = 'protobuf' | 'json'

/** Throws only when the request as a whole cannot be read. */
export function receiveTraces(body: Buffer, format: BodyFormat): Received<IncomingSpans> {
  const received: Received<IncomingSpans> = { items: [], accepted: 0, rejected: 0, reason: '' }
  if (format === 'protobuf') receiveProtobufTraces(body, received)
  else receiveJsonTraces(parseJson(body) as OtlpTraces, received)
  return received
}

export function receiveLogs(body: Buffer, format: BodyFormat): Received<IncomingLog> {
  const received: Received<IncomingLog> = { items: [], accepted: 0, rejected: 0, reason: '' }
  const add = (record: OtlpLogRecord) => {
    const traceId = jsonId(record.traceId, 32)
    const spanId = jsonId(record.spanId, 16)
    received.accepted++
    if (isTraceId(traceId) && isSpanId(spanId)) received.items.push({ traceId, spanId, record })
  }
  if (format === 'json') {
    const logs = parseJson(body) as OtlpLogs
    if (!Array.isArray(logs?.resourceLogs))
      throw new TypeError('Expected OTLP/JSON with a `resourceLogs` array.')
    for (const resource of logs.resourceLogs) {
      for (const scope of listOf(resource?.scopeLogs))
        for (const record of listOf(scope?.logRecords)) add(record)
    }
    return received
  }
  forEachField(new ProtobufReader(body), REQUEST.names, 'resources', (resourceLogs) => {
    forEachField(resourceLogs, RESOURCE_ITEMS.names, 'scopes', (scopeLogs) => {
      forEachField(scopeLogs, SCOPE_ITEMS.names, 'items', (record) => {
        try {
          add(decodeLogRecord(record))
        } catch (error) {
          reject(received, error)
        }
      })
    })
  })
  return received
}

function forEachField<K extends string>(
  reader: ProtobufReader,
  names: readonly (K | undefined)[],
  wanted: K,
  visit: (message: ProtobufReader) => void,
): void {
  while (!reader.done) {
    const tag = reader.tag()
    if (names[tag] === wanted) visit(reader.message())
    else reader.skip(tag)
  }
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (error) {
    throw new SyntaxError(`Expected OTLP/JSON: ${errorMessage(error)}`)
  }
}
