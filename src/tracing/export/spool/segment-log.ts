import {
  closeSync,
  ftruncateSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Place } from '../parcel.ts'
import { END_BYTES, FRAME_BYTES, putEnd, putFrame, type RecordKind } from './records.ts'

export interface Segment {
  readonly number: number
  readonly path: string
  bytes: number
  /** Spans that ended in it. */
  ended: number
  /** Those of them that need not be kept any more. */
  settled: number
  /** Those of them that are in no memory. */
  unread: number
}

const NAME = /^(\d+)\.spans$/
const SCRATCH_BYTES = 64 * 1024
const ZEROS = Buffer.alloc(64 * 1024)
/** The name of a file that is kept to be written over: no segment's. */
const SPARE = 'spare'

/** Whether a file of that name in a folder belongs to the log in it. */
export function isOfLog(name: string): boolean {
  return name === SPARE || NAME.test(name)
}

export function segmentPath(folder: string, number: number): string {
  return join(folder, `${number}.spans`)
}

/** The numbers of the segments in a folder, oldest first. @throws what the system says. */
export function segmentsIn(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
}

/**
 * Records appended to a row of files, of which the oldest go first. Not safe against the loss of power: nothing is synced.
 *
 * A file that is over is written over as the next one, with zeros first, behind which nobody looks for records: the system
 * takes half as long for bytes that a file has as for those that make it longer.
 */
export class SegmentLog {
  readonly #folder: string
  readonly #maxBytes: number
  readonly #segments: Segment[] = []
  #fd: number | undefined
  #next: number
  readonly #scratch = Buffer.allocUnsafe(SCRATCH_BYTES)
  /** How much of the spare file is no zeros. 0: there is none. */
  #spareBytes = 0

  /** `maxBytes`: of one file; the one that reaches it is the last to be added to. `first`: its number. */
  constructor(folder: string, maxBytes: number, first = 1) {
    this.#folder = folder
    this.#maxBytes = maxBytes
    this.#next = first
  }

  /** Of the next file. */
  get next(): number {
    return this.#next
  }

  /** Oldest first. */
  get segments(): readonly Segment[] {
    return this.#segments
  }

  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Undefined when it is gone. */
  segment(number: number): Segment | undefined {
    return this.#segments[number - (this.#segments[0]?.number ?? 0)]
  }

  /** What is appended to. @throws what the system says when a new file cannot be made. */
  current(): Segment {
    const last = this.#segments.at(-1)
    if (this.#fd !== undefined && last !== undefined && last.bytes < this.#maxBytes) return last
    this.rotate()
    const number = this.#next
    const path = segmentPath(this.#folder, number)
    this.#fd = this.#openSpareAs(path) ?? openSync(path, 'w', 0o600)
    this.#next++
    const segment = { number, path, bytes: 0, ended: 0, settled: 0, unread: 0 }
    this.#segments.push(segment)
    return segment
  }

  /**
   * A record, to be called right after `current()`. `before`: the body of its head, where the file does not have it yet.
   *
   * @throws what the system says; nothing of the record is kept then.
   */
  append(kind: RecordKind, head: number, body: Uint8Array, before?: Uint8Array): Place {
    const segment = this.#segments.at(-1) as Segment
    const fd = this.#fd as number
    const length = (before ? sizeOf(before) : 0) + sizeOf(body)
    const bytes = length <= SCRATCH_BYTES ? this.#scratch : Buffer.allocUnsafe(length)
    const at = before === undefined ? 0 : putRecord(bytes, 0, 'h', head, before)
    putRecord(bytes, at, kind, head, body)
    if (writeSync(fd, bytes, 0, length, segment.bytes) < length) {
      this.#takeBack(fd, segment)
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    }
    const start = segment.bytes + at
    segment.bytes += length
    return { segment: segment.number, start, end: segment.bytes }
  }

  /** The next text goes to a new file. @throws what the system says; the file is closed all the same. */
  rotate(): void {
    const fd = this.#fd
    this.#fd = undefined
    if (fd !== undefined) closeSync(fd)
  }

  /**
   * Removes the oldest file, or keeps it to be written over.
   *
   * @throws what the system says; the file is still there then.
   */
  dropOldest({ mayKeep = false } = {}): void {
    const [oldest] = this.#segments
    if (oldest === undefined) return
    if (this.#segments.length === 1) this.rotate()
    try {
      if (mayKeep && this.#spareBytes === 0) {
        renameSync(oldest.path, join(this.#folder, SPARE))
        this.#spareBytes = oldest.bytes
      } else unlinkSync(oldest.path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    this.#segments.shift()
  }

  /** Whether there was a spare file. @throws what the system says. */
  removeSpare(): boolean {
    const was = this.#spareBytes > 0
    this.#spareBytes = 0
    removeSpareIn(this.#folder)
    return was
  }

  /** Undefined when there is none, or it cannot be used. */
  #openSpareAs(path: string): number | undefined {
    const bytes = this.#spareBytes
    if (bytes === 0) return undefined
    this.#spareBytes = 0
    const spare = join(this.#folder, SPARE)
    let fd: number | undefined
    try {
      fd = openSync(spare, 'r+')
      for (let at = 0; at < bytes; at += ZEROS.length) {
        if (writeSync(fd, ZEROS, 0, ZEROS.length, at) < ZEROS.length) throw new Error('ENOSPC')
      }
      renameSync(spare, path)
      return fd
    } catch {
      // It is a new file then, or what is wrong with that is told.
      if (fd !== undefined) closeSync(fd)
      return undefined
    }
  }

  #takeBack(fd: number, { bytes }: Segment): void {
    try {
      ftruncateSync(fd, bytes)
    } catch {
      // The half record stays at the end of its file, where a reader passes over it.
      this.rotate()
    }
  }
}

function sizeOf(body: Uint8Array): number {
  return FRAME_BYTES + body.length + END_BYTES
}

/** Where the next one begins. */
function putRecord(bytes: Buffer, at: number, kind: RecordKind, head: number, body: Uint8Array): number {
  putFrame(bytes, at, kind, head, body.length)
  bytes.set(body, at + FRAME_BYTES)
  putEnd(bytes, at + FRAME_BYTES + body.length)
  return at + sizeOf(body)
}

/** @throws what the system says. */
export function removeSpareIn(folder: string): void {
  rmSync(join(folder, SPARE), { force: true })
}
