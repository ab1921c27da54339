import { ProtobufReader } from '../../../internal/otlp/protobuf-reader.ts'
import { HOOKSPAN } from '../../../spans/names.ts'
import { SCOPE_SPANS, SPAN } from '../otlp-protobuf.ts'
import { writeAttributes } from '../protobuf-attributes.ts'
import { ProtobufWriter } from '../protobuf-writer.ts'

/**
 * What a record of the spool is: the head that later records name by its number, a span that started, one that ended, or
 * the id of one that was handed over to another process. Spans stand as in a protobuf request, so that what is sent is
 * what was written.
 */
export type RecordKind = 'h' | 's' | 'e' | 'p'

/** Before each record: a mark, its kind, a check of the rest, the number of its head and the length of its body. */
export const FRAME_BYTES = 12
/** Behind each, so that one whose writer died over it is told from a whole one, in a file that was longer before. */
export const END_BYTES = 1
const MARK = 0xb5
const END = 0xe5
const KINDS: readonly RecordKind[] = ['h', 's', 'e', 'p']
const CODES = new Map(KINDS.map((kind) => [kind, kind.charCodeAt(0)]))

export interface Frame {
  readonly kind: RecordKind
  readonly head: number
  readonly length: number
}

export function putFrame(bytes: Buffer, at: number, kind: RecordKind, head: number, length: number): void {
  const code = CODES.get(kind) as number
  bytes[at] = MARK
  bytes[at + 1] = code
  bytes.writeUInt16LE(checkOf(code, head, length), at + 2)
  bytes.writeUInt32LE(head, at + 4)
  bytes.writeUInt32LE(length, at + 8)
}

/** At the end of a record. */
export function putEnd(bytes: Buffer, at: number): void {
  bytes[at] = END
}

export function isEnd(byte: number | undefined): boolean {
  return byte === END
}

/** Undefined where none begins: the disk changed it. */
export function frameAt(bytes: Buffer, at: number): Frame | undefined {
  if (bytes[at] !== MARK) return undefined
  const code = bytes[at + 1] as number
  const kind = KINDS.find((one) => CODES.get(one) === code)
  const head = bytes.readUInt32LE(at + 4)
  const length = bytes.readUInt32LE(at + 8)
  if (kind === undefined || bytes.readUInt16LE(at + 2) !== checkOf(code, head, length)) return undefined
  return { kind, head, length }
}

/** Where a record may begin, at or after that byte. -1 for nowhere. */
export function nextMark(bytes: Buffer, from: number): number {
  return bytes.indexOf(MARK, from)
}

/** 16 bits that a changed byte changes. */
function checkOf(code: number, head: number, length: number): number {
  const mixed =
    Math.imul(Math.imul(code ^ 0x9e37, 0x85ebca6b) ^ head, 0xc2b2ae35) ^ Math.imul(length, 0x27d4eb2f)
  return (mixed ^ (mixed >>> 16)) & 0xffff
}

/**
 * A span whose process died before it ended, told as interrupted: it ended when it started, for all that is known.
 *
 * @throws RangeError for what is no span.
 */
export function interruptedBytes(started: Uint8Array): Uint8Array {
  const bytes = Buffer.from(started.buffer, started.byteOffset, started.byteLength)
  const outer = new ProtobufReader(bytes)
  outer.tag()
  const span = outer.message()
  const writer = new ProtobufWriter(started.length + 64)
  writer.byte(SCOPE_SPANS.spans)
  const start = writer.open()
  while (!span.done) {
    const from = span.pos
    const tag = span.tag()
    span.skip(tag)
    if (tag === SPAN.endTime) continue
    writer.raw(bytes.subarray(from, span.pos))
    if (tag === SPAN.startTime) {
      writer.byte(SPAN.endTime)
      writer.raw(bytes.subarray(from + 1, span.pos))
    }
  }
  writeAttributes(writer, SPAN.attributes, { [HOOKSPAN.spanState]: 'interrupted' })
  writer.close(start)
  return writer.written(0, writer.at)
}
