import type { Attributes } from '@opentelemetry/api'
import { ProtobufWriter, tagOf } from './protobuf-writer.ts'

// Field numbers of opentelemetry/proto/common/v1.
const KEY_VALUE = { key: tagOf(1, 'length'), value: tagOf(2, 'length') }
const LIST = { values: tagOf(1, 'length') }
const VALUE = {
  string: tagOf(1, 'length'),
  bool: tagOf(2, 'varint'),
  int: tagOf(3, 'varint'),
  double: tagOf(4, 'fixed64'),
  array: tagOf(5, 'length'),
  kvlist: tagOf(6, 'length'),
  bytes: tagOf(7, 'length'),
}

export function writeText(writer: ProtobufWriter, tag: number, text: string): void {
  writer.byte(tag)
  writer.text(text)
}

export function writeCount(writer: ProtobufWriter, tag: number, count: number): void {
  writer.count(tag, count)
}

/** All bits of the numbers below 2^28. */
const SMALL = 2 ** 28 - 1

const KNOWN_KEYS = 1_000
const keys = new Map<string, Uint8Array>()

/** Attributes have few names: each is encoded once. */
function keyField(key: string): Uint8Array {
  const known = keys.get(key)
  if (known !== undefined) return known
  const writer = new ProtobufWriter()
  writeText(writer, KEY_VALUE.key, key)
  const field = writer.written(0, writer.at)
  // Names that are made up as a program runs do not fill the memory.
  if (keys.size >= KNOWN_KEYS) keys.clear()
  keys.set(key, field)
  return field
}

/** All but the first so many of them. */
export function writeAttributes(
  writer: ProtobufWriter,
  tag: number,
  attributes: Attributes | undefined,
  but = 0,
): void {
  let skipped = 0
  for (const key in attributes) {
    if (skipped < but) {
      skipped++
      continue
    }
    if (!Object.hasOwn(attributes, key)) continue
    const value = attributes[key]
    // What most attributes are goes in one call.
    if (typeof value === 'string') {
      writer.textAttribute(tag, keyField(key), KEY_VALUE.value, VALUE.string, value)
    } else if (typeof value === 'number' && (value & SMALL) === value) {
      writer.varintAttribute(tag, keyField(key), KEY_VALUE.value, VALUE.int, value)
    } else if (typeof value === 'boolean') {
      writer.varintAttribute(tag, keyField(key), KEY_VALUE.value, VALUE.bool, value ? 1 : 0)
    } else writeAttribute(writer, tag, key, value)
  }
}

function writeAttribute(writer: ProtobufWriter, tag: number, key: string, value: unknown): void {
  writer.byte(tag)
  const start = writer.open()
  writer.raw(keyField(key))
  writer.byte(KEY_VALUE.value)
  const valueStart = writer.open()
  writeValue(writer, value)
  writer.close(valueStart)
  writer.close(start)
}

function writeValue(writer: ProtobufWriter, value: unknown): void {
  if (typeof value === 'string') writeText(writer, VALUE.string, value)
  else if (typeof value === 'boolean') writeCount(writer, VALUE.bool, value ? 1 : 0)
  else if (typeof value === 'number') writeNumber(writer, value)
  else if (typeof value !== 'object' || value === null) return
  else if (value instanceof Uint8Array) {
    writer.byte(VALUE.bytes)
    writer.bytes(value)
  } else if (Array.isArray(value)) {
    writer.byte(VALUE.array)
    const start = writer.open()
    for (const item of value) {
      writer.byte(LIST.values)
      const itemStart = writer.open()
      writeValue(writer, item)
      writer.close(itemStart)
    }
    writer.close(start)
  } else {
    writer.byte(VALUE.kvlist)
    const start = writer.open()
    for (const [key, item] of Object.entries(value)) writeAttribute(writer, LIST.values, key, item)
    writer.close(start)
  }
}

function writeNumber(writer: ProtobufWriter, value: number): void {
  if (Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63) {
    writeCount(writer, VALUE.int, value)
  } else {
    writer.byte(VALUE.double)
    writer.double(value)
  }
}
