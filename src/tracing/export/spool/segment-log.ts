import { closeSync, ftruncateSync, openSync, readdirSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Place } from '../parcel.ts'

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
const NEWLINE = 10
const SCRATCH_BYTES = 192 * 1024
const SHORT_LEAD = 12

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

/** Text appended to a row of files, of which the oldest go first. Not safe against the loss of power: nothing is synced. */
export class SegmentLog {
  readonly #folder: string
  readonly #maxBytes: number
  readonly #segments: Segment[] = []
  #fd: number | undefined
  #next = 1
  readonly #scratch = Buffer.allocUnsafe(SCRATCH_BYTES)

  /** `maxBytes`: of one file; the one that reaches it is the last to be added to. */
  constructor(folder: string, maxBytes: number) {
    this.#folder = folder
    this.#maxBytes = maxBytes
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
    this.#fd = openSync(path, 'a', 0o600)
    this.#next++
    const segment = { number, path, bytes: 0, ended: 0, settled: 0, unread: 0 }
    this.#segments.push(segment)
    return segment
  }

  /** A line, to be called right after `current()`. @throws what the system says; nothing of the line is kept then. */
  append(lead: string, body: string | Uint8Array): Place {
    const segment = this.#segments.at(-1) as Segment
    const fd = this.#fd as number
    // No unit of a string needs more than three bytes of UTF-8.
    const needed = (lead.length + body.length) * 3 + 1
    const line = needed <= SCRATCH_BYTES ? this.#scratch : Buffer.allocUnsafe(needed)
    const bodyAt = putLead(line, lead)
    const bodyEnd =
      bodyAt + (typeof body === 'string' ? line.write(body, bodyAt) : putBytes(line, bodyAt, body))
    line[bodyEnd] = NEWLINE
    const length = bodyEnd + 1
    if (writeSync(fd, line, 0, length) < length) {
      this.#takeBack(fd, segment)
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    }
    const start = segment.bytes
    segment.bytes += length
    return { segment: segment.number, start, end: segment.bytes }
  }

  /** The next text goes to a new file. @throws what the system says; the file is closed all the same. */
  rotate(): void {
    const fd = this.#fd
    this.#fd = undefined
    if (fd !== undefined) closeSync(fd)
  }

  /** Removes the oldest file. @throws what the system says; the file is still there then. */
  dropOldest(): void {
    const [oldest] = this.#segments
    if (oldest === undefined) return
    if (this.#segments.length === 1) this.rotate()
    try {
      unlinkSync(oldest.path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    this.#segments.shift()
  }

  #takeBack(fd: number, { bytes }: Segment): void {
    try {
      ftruncateSync(fd, bytes)
    } catch {
      // The half line stays at the end of its file, where a reader passes over it.
      this.rotate()
    }
  }
}

/** Without a head it is a few signs of ASCII, which a loop writes faster than the call does. */
function putLead(line: Buffer, lead: string): number {
  if (lead.length > SHORT_LEAD) return line.write(lead)
  for (let i = 0; i < lead.length; i++) line[i] = lead.charCodeAt(i)
  return lead.length
}

function putBytes(line: Buffer, at: number, body: Uint8Array): number {
  line.set(body, at)
  return body.byteLength
}
