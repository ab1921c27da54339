import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { END_BYTES, FRAME_BYTES, type Frame, frameAt, isEnd, nextMark } from './records.ts'

export interface StoredRecord extends Partial<Frame> {
  /** Its body; or, without a kind, bytes between records that are none: the disk changed them. */
  readonly bytes: Buffer
  /** Where the next record begins. */
  readonly end: number
}

const CHUNK_BYTES = 256 * 1024
/** No record is so long; what is, is no record, and must not fill memory. */
const MAX_RECORD_BYTES = 256 * 1024 * 1024
/** No file of ours is nearly so long: it ends with the record that reaches a megabyte. What is, would be read through for minutes. */
const MAX_FILE_BYTES = 4 * MAX_RECORD_BYTES
/** Of what is no record, so much is given. */
const MAX_OTHER_BYTES = 64 * 1024

/**
 * The records of a file from byte `from` on, before byte `upTo`, a chunk at a time. A last one that is not whole was cut off
 * by the death of its writer, and is left out, as are zeros behind the last.
 *
 * @throws what the system says; Error where there is something, and no record at all.
 */
export function* readRecords(
  path: string,
  from = 0,
  upTo = Number.POSITIVE_INFINITY,
): Generator<StoredRecord> {
  // A pipe would be waited for until somebody writes to it.
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) throw new Error(`${path} is no file`)
    if (stats.size > MAX_FILE_BYTES) throw new Error(`${path} is longer than any file of hookspan`)
    const until = Math.min(upTo, stats.size)
    const file = new Window(fd, until)
    for (let at = from, end = from; at < until; at = end) {
      const record = file.recordAt(at)
      if (record !== undefined) {
        end = record.end
        const { frame } = record
        const start = at + FRAME_BYTES
        yield { ...frame, bytes: Buffer.from(file.bytes(start, start + frame.length)), end }
        continue
      }
      end = file.nextRecord(at + 1)
      const other = withoutZerosAtEnd(file.bytes(at, Math.min(end, at + MAX_OTHER_BYTES)))
      const isCut = other.length < FRAME_BYTES || file.frameAt(at) !== undefined
      if (end === until && isCut) return
      if (at === 0 && end === until) throw new Error('it holds no record of this version of hookspan')
      yield { bytes: Buffer.from(other), end }
    }
  } finally {
    close(fd)
  }
}

/** Some bytes of a file, moved along it. */
class Window {
  readonly #fd: number
  readonly #until: number
  #chunk = Buffer.alloc(0)
  #at = 0

  constructor(fd: number, until: number) {
    this.#fd = fd
    this.#until = until
  }

  /** Good until the next call. Shorter where the file ends. @throws what the system says. */
  bytes(start: number, end: number): Buffer {
    if (start < this.#at || end > this.#at + this.#chunk.length)
      this.#load(start, Math.max(end - start, CHUNK_BYTES))
    return this.#chunk.subarray(start - this.#at, end - this.#at)
  }

  /**
   * A record that begins there and is whole, and where the next begins. Behind one that an earlier version wrote, before files
   * were written over, stands no mark, but the next record or the file's end.
   */
  recordAt(at: number): { readonly frame: Frame; readonly end: number } | undefined {
    const frame = this.frameAt(at)
    if (frame === undefined) return undefined
    const end = at + FRAME_BYTES + frame.length
    if (end < this.#until && isEnd(this.bytes(at, end + END_BYTES)[end - at]))
      return { frame, end: end + END_BYTES }
    return end === this.#until || this.frameAt(end) !== undefined ? { frame, end } : undefined
  }

  /** Undefined where no record of a length that may be begins. */
  frameAt(at: number): Frame | undefined {
    const bytes = this.bytes(at, at + FRAME_BYTES)
    const frame = bytes.length < FRAME_BYTES ? undefined : frameAt(bytes, 0)
    return frame !== undefined && frame.length <= MAX_RECORD_BYTES ? frame : undefined
  }

  /** Where the next record begins, or the file's end. */
  nextRecord(from: number): number {
    for (let at = from; at < this.#until; ) {
      const bytes = this.bytes(at, Math.min(at + CHUNK_BYTES, this.#until))
      const mark = nextMark(bytes, 0)
      if (mark === -1) at += bytes.length
      else {
        at += mark
        if (this.recordAt(at) !== undefined) return at
        at++
      }
    }
    return this.#until
  }

  #load(start: number, length: number): void {
    const wanted = Math.max(0, Math.min(length, this.#until - start))
    const chunk = Buffer.allocUnsafe(wanted)
    let read = 0
    while (read < wanted) {
      const bytes = readSync(this.#fd, chunk, read, wanted - read, start + read)
      if (bytes === 0) break
      read += bytes
    }
    this.#chunk = chunk.subarray(0, read)
    this.#at = start
  }
}

function withoutZerosAtEnd(bytes: Buffer): Buffer {
  let { length } = bytes
  while (bytes[length - 1] === 0) length--
  return bytes.subarray(0, length)
}

function close(fd: number): void {
  try {
    closeSync(fd)
  } catch {
    // Nothing was written to it.
  }
}
