/** The messages of opentelemetry-proto 1.x, each field with its number and how it is read into OTLP's JSON form. */
import type { ProtobufReader } from './protobuf-reader.ts'
import type {
  OtlpEvent,
  OtlpLogRecord,
  OtlpResource,
  OtlpResourceItems,
  OtlpScope,
  OtlpSpan,
} from './types.ts'

export interface Field {
  /** The number, and in the lowest three bits the wire type. */
  tag: number
  read: (reader: ProtobufReader) => unknown
  /** What message it is, where it is one. By a function, as messages hold one another. */
  of?: () => Message
  isList?: boolean
}

export interface Message<K extends string = string> {
  fields: ReadonlyMap<string, Field>
  byTag: readonly ({ name: K } & Field)[]
  /** The fields' names by their tags. */
  names: readonly (K | undefined)[]
  lists: readonly string[]
}

const ofType =
  (wireType: number, read: Field['read']) =>
  (number: number): Field => ({
    tag: (number << 3) | wireType,
    read,
  })
const varint = ofType(0, (reader) => reader.varint())
const varint64 = ofType(0, (reader) => reader.varint64())
const boolean = ofType(0, (reader) => reader.varint() !== 0)
const fixed64 = ofType(1, (reader) => reader.fixed64())
/** JSON has no NaN and no infinities; OTLP/JSON writes them as text. */
const double = ofType(1, (reader) => {
  const value = reader.double()
  return Number.isFinite(value) ? value : String(value)
})
const text = ofType(2, (reader) => reader.text())
const hex = ofType(2, (reader) => reader.hex())
const base64 = ofType(2, (reader) => reader.base64())
const fixed32 = ofType(5, (reader) => reader.fixed32())
const one = (number: number, of: () => Message): Field => ({
  ...ofType(2, (reader) => decode(reader.message(), of()))(number),
  of,
})
const many = (number: number, of: () => Message): Field => ({ ...one(number, of), isList: true })

function message<K extends string>(fields: Record<K, Field>): Message<K> {
  const byTag: Message<K>['byTag'][number][] = []
  const names: K[] = []
  const entries = Object.entries(fields) as [K, Field][]
  for (const [name, { tag, read, of, isList }] of entries) {
    names[tag] = name
    byTag[tag] = { name, tag, read, of, isList }
  }
  const lists = entries.filter(([, field]) => field.isList).map(([name]) => name)
  return { fields: new Map(entries), byTag, names, lists }
}

/** The number of a field, and in the lowest three bits its wire type: for who goes through the bytes. */
export function tagOf<K extends string>(of: Message<K>, name: NoInfer<K>): number {
  return of.fields.get(name)!.tag
}

export const KEY_VALUE = message({ key: text(1), value: one(2, () => ANY_VALUE) })
export const ANY_VALUE: Message<
  'stringValue' | 'boolValue' | 'intValue' | 'doubleValue' | 'arrayValue' | 'kvlistValue' | 'bytesValue'
> = message({
  stringValue: text(1),
  boolValue: boolean(2),
  intValue: varint64(3),
  doubleValue: double(4),
  arrayValue: one(5, () => ARRAY_VALUE),
  kvlistValue: one(6, () => KEY_VALUE_LIST),
  bytesValue: base64(7),
})
export const ARRAY_VALUE = message({ values: many(1, () => ANY_VALUE) })
export const KEY_VALUE_LIST = message({ values: many(1, () => KEY_VALUE) })
export const EVENT = message({
  timeUnixNano: fixed64(1),
  name: text(2),
  attributes: many(3, () => KEY_VALUE),
  droppedAttributesCount: varint(4),
})
export const LINK = message({
  traceId: hex(1),
  spanId: hex(2),
  traceState: text(3),
  attributes: many(4, () => KEY_VALUE),
  droppedAttributesCount: varint(5),
  flags: fixed32(6),
})
export const STATUS = message({ message: text(2), code: varint(3) })
export const SPAN = message({
  traceId: hex(1),
  spanId: hex(2),
  traceState: text(3),
  parentSpanId: hex(4),
  name: text(5),
  kind: varint(6),
  startTimeUnixNano: fixed64(7),
  endTimeUnixNano: fixed64(8),
  attributes: many(9, () => KEY_VALUE),
  droppedAttributesCount: varint(10),
  events: many(11, () => EVENT),
  droppedEventsCount: varint(12),
  links: many(13, () => LINK),
  droppedLinksCount: varint(14),
  status: one(15, () => STATUS),
  flags: fixed32(16),
})
export const LOG_RECORD = message({
  timeUnixNano: fixed64(1),
  severityNumber: varint(2),
  severityText: text(3),
  body: one(5, () => ANY_VALUE),
  attributes: many(6, () => KEY_VALUE),
  traceId: hex(9),
  spanId: hex(10),
  observedTimeUnixNano: fixed64(11),
  eventName: text(12),
})
export const RESOURCE = message({ attributes: many(1, () => KEY_VALUE) })
export const SCOPE = message({
  name: text(1),
  version: text(2),
  attributes: many(3, () => KEY_VALUE),
  droppedAttributesCount: varint(4),
})
/** `ScopeSpans`, `ResourceSpans` and the request; those of logs have the same numbers. */
export const SCOPE_ITEMS = message({
  scope: one(1, () => SCOPE),
  items: many(2, () => SPAN),
  schemaUrl: text(3),
})
export const RESOURCE_ITEMS = message({
  resource: one(1, () => RESOURCE),
  scopes: many(2, () => SCOPE_ITEMS),
  schemaUrl: text(3),
})
export const REQUEST = message({ resources: many(1, () => RESOURCE_ITEMS) })

function decode(reader: ProtobufReader, { byTag, lists }: Message): object {
  const value: Record<string, unknown> = {}
  for (const name of lists) value[name] = []
  while (!reader.done) {
    const tag = reader.tag()
    const field = byTag[tag]
    if (!field) reader.skip(tag)
    else if (field.isList) (value[field.name] as unknown[]).push(field.read(reader))
    else value[field.name] = field.read(reader)
  }
  return value
}

export const decodeSpan = (reader: ProtobufReader) => decode(reader, SPAN) as OtlpSpan
export const decodeEvent = (reader: ProtobufReader) => decode(reader, EVENT) as OtlpEvent
export const decodeStatus = (reader: ProtobufReader) =>
  decode(reader, STATUS) as { code?: number; message?: string }
export const decodeAnyValue = (reader: ProtobufReader) => decode(reader, ANY_VALUE)
export const decodeLogRecord = (reader: ProtobufReader) => decode(reader, LOG_RECORD) as OtlpLogRecord
export const decodeResource = (reader: ProtobufReader) => decode(reader, RESOURCE) as OtlpResource
export const decodeResourceItems = (reader: ProtobufReader) =>
  decode(reader, RESOURCE_ITEMS) as OtlpResourceItems
export const decodeScope = (reader: ProtobufReader) => decode(reader, SCOPE) as OtlpScope
