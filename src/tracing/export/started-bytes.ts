import type { Attributes, HrTime } from '@opentelemetry/api'
import {
  SCOPE_SPANS,
  SPAN,
  SPAN_LENGTH_BYTES,
  writeBeginning,
  writeRest,
  writeTime,
} from './otlp-protobuf.ts'
import { writeAttributes } from './protobuf-attributes.ts'
import { ProtobufWriter } from './protobuf-writer.ts'
import { headOf, type SpanBytes, spanBytes } from './span-bytes.ts'
import type { ReadableSpan } from './types.ts'

/** A span as it was written when it started, of which its end repeats most. */
export interface StartedBytes extends SpanBytes {
  readonly bytes: Buffer
  readonly name: string
  readonly startTime: HrTime
  /** A key, its value, the next key, ... */
  readonly attributes: readonly unknown[]
  /** Where in the bytes the time of its end is, and where what comes after the attributes begins. */
  readonly endTimeAt: number
  readonly restAt: number
}

/** A buffer that one span made larger than this is not kept for the next. */
const KEPT_BYTES = 256 * 1024
const scratch = new ProtobufWriter(16 * 1024)
/** The tag and the value of a time. */
const TIME_BYTES = 9

/** The same bytes as those of `spanBytes`. */
export function startedBytes(span: ReadableSpan): StartedBytes {
  scratch.reset(KEPT_BYTES)
  scratch.byte(SCOPE_SPANS.spans)
  const start = scratch.open(SPAN_LENGTH_BYTES)
  writeBeginning(scratch, span)
  const endTimeAt = scratch.at
  writeTime(scratch, SPAN.endTime, span.endTime)
  writeAttributes(scratch, SPAN.attributes, span.attributes)
  const restAt = scratch.at
  writeRest(scratch, span)
  const end = scratch.at
  scratch.close(start, SPAN_LENGTH_BYTES)
  // The length may take less than was left for it, or more.
  const moved = scratch.at - end
  return {
    head: headOf(span),
    bytes: scratch.copy(0, scratch.at),
    name: span.name,
    startTime: span.startTime,
    attributes: listed(span.attributes),
    endTimeAt: endTimeAt + moved,
    restAt: restAt + moved,
  }
}

/** The same bytes as those of `spanBytes`: what was written at the start is taken as it is, unless it was changed since. */
export function endedBytes(span: ReadableSpan, before: StartedBytes): SpanBytes {
  const { name, startTime, attributes, bytes, endTimeAt, restAt } = before
  const isSame = name === span.name && startTime === span.startTime && beginWith(span.attributes, attributes)
  if (!isSame) return spanBytes(span)
  scratch.reset(KEPT_BYTES)
  scratch.byte(SCOPE_SPANS.spans)
  const start = scratch.open(SPAN_LENGTH_BYTES)
  scratch.part(bytes, contentAt(bytes), endTimeAt)
  writeTime(scratch, SPAN.endTime, span.endTime)
  scratch.part(bytes, endTimeAt + TIME_BYTES, restAt)
  writeAttributes(scratch, SPAN.attributes, span.attributes, attributes.length / 2)
  writeRest(scratch, span)
  scratch.close(start, SPAN_LENGTH_BYTES)
  return { head: headOf(span), bytes: scratch.copy(0, scratch.at) }
}

/** Behind the tag and the length. */
function contentAt(bytes: Uint8Array): number {
  let at = 1
  while ((bytes[at] as number) > 127) at++
  return at + 1
}

/** Equal to nothing that an attribute may be. */
const UNEQUAL = Symbol('unequal')

/** Lists and objects may change inside without a trace. */
function listed(attributes: Attributes): unknown[] {
  const list: unknown[] = []
  for (const key in attributes) {
    if (!Object.hasOwn(attributes, key)) continue
    const value = attributes[key]
    list.push(key, typeof value === 'object' ? UNEQUAL : value)
  }
  return list
}

function beginWith(attributes: Attributes, list: readonly unknown[]): boolean {
  let at = 0
  for (const key in attributes) {
    if (at === list.length) return true
    if (list[at++] !== key || list[at++] !== attributes[key]) return false
  }
  return at === list.length
}
