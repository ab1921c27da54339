import { describeValue, errorMessage, HookspanError } from '../../../internal/errors.ts'
import { headOf, type SpanText, spanText } from '../otlp-json.ts'
import { type Parcel, type Place, type RequestLimits, textOf } from '../parcel.ts'
import type { ReadableSpan } from '../types.ts'
import { OpenSpans } from './open-spans.ts'
import { OwnFolder } from './own-folder.ts'
import { readLines } from './read-lines.ts'
import { type RecordKind, readRecord, startedText } from './records.ts'
import type { Segment, SegmentLog } from './segment-log.ts'
import type { SetAside } from './set-aside.ts'

export interface SpoolOptions {
  readonly folder: string
  /** Of all that is in the folder. */
  readonly maxBytes: number
  readonly setAside: SetAside
  readonly onTrouble: (message: string) => void
  /** Bytes in the folder beside this process's own. */
  readonly otherBytes: () => number
  /** Gives up the oldest of what dead processes left. Undefined when there is nothing to give up. */
  readonly dropLeftover: () => { readonly bytes: number; readonly spans: number } | undefined
}

const SEGMENT_BYTES = 1024 * 1024
const LEAST_SEGMENT_BYTES = 16 * 1024
/** What may lie around delivered before it is worth the work of removing it. */
const SLACK_BYTES = 256 * 1024
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000

/**
 * One process's spans on disk, each from its start until it is delivered. What is written survives the process, SIGKILL
 * included, because the system has it; it is not synced, so the loss of power may take the last of it.
 *
 * No method throws. While the disk takes nothing, spans have no place there, and memory has their only copy.
 */
export class Spool {
  readonly #options: SpoolOptions
  readonly #segmentBytes: number
  #own: OwnFolder | undefined
  readonly #open = new OpenSpans()
  /** Spans that are over while the disk tells of them as open and takes nothing, and their heads. */
  readonly #unwrittenHandovers = new Map<string, string>()
  /** The span of a text that is in memory alone, though the disk tells of its start. */
  readonly #startedOnDisk = new WeakMap<SpanText, string>()
  readonly #heads: string[] = []
  readonly #headNumbers = new Map<string, number>()
  /** Which segment was written to last, and the heads that it has. */
  #segment: Segment | undefined
  readonly #headsThere = new Set<number>()
  /** From where on ended spans are in no memory. */
  #unread: Place | undefined
  #unreadCount = 0
  #dropped = 0
  #toldLimit = false
  /** 0 while the disk takes what is written. */
  #pausedUntil = 0
  #pauseMs = 0
  #closed = false

  /** @throws HookspanError `INVALID_OPTION` when the folder cannot be made. */
  constructor(options: SpoolOptions) {
    this.#options = options
    const aSixteenth = Math.floor(options.maxBytes / 16)
    this.#segmentBytes = Math.max(LEAST_SEGMENT_BYTES, Math.min(SEGMENT_BYTES, aSixteenth))
    try {
      this.#own = OwnFolder.make(options.folder, this.#segmentBytes)
    } catch (error) {
      // A disk that is full or read-only may be so no longer in a while; a folder that nobody can make is a mistake.
      if (!isTrouble(error)) {
        throw new HookspanError(
          'INVALID_OPTION',
          `Cannot write spans to \`spoolDir\` ${describeValue(options.folder)}: ${errorMessage(error)}.`,
        )
      }
      this.#pause(error)
    }
  }

  /** Ended spans that are on disk alone. */
  get unreadCount(): number {
    return this.#unreadCount
  }

  /** Spans that were given up because the limit was reached. */
  get dropped(): number {
    return this.#dropped
  }

  get bytes(): number {
    return this.#own?.log.bytes ?? 0
  }

  /** Its name in the folder of all. */
  get path(): string | undefined {
    return this.#own?.path
  }

  /** Whether a write may be tried now. */
  get isWritable(): boolean {
    return !this.#closed && (this.#pausedUntil === 0 || performance.now() >= this.#pausedUntil)
  }

  started(span: ReadableSpan): void {
    if (this.#closed || this.#open.isFull) return
    const head = headOf(span)
    const text = startedText(span)
    const segment = this.#write('s', head, text)?.segment
    this.#open.add(span.spanContext().spanId, { head, text, segment })
  }

  /** Another process ends it: it does not end with this one. */
  handedOver(span: ReadableSpan): void {
    this.#open.remove(span)
    this.#endsElsewhere(span.spanContext().spanId, headOf(span))
  }

  #endsElsewhere(spanId: string, head: string): void {
    if (this.#write('p', head, spanId) === undefined) this.#unwrittenHandovers.set(spanId, head)
  }

  /** The span as it is sent. Without a place when the disk takes nothing. */
  ended(span: ReadableSpan): Parcel {
    const text = spanText(span)
    // First: what makes room for its end must not tell of its start again.
    const open = this.#open.remove(span)
    const place = this.#writeEnded(text)
    if (place === undefined && open?.segment !== undefined) {
      this.#startedOnDisk.set(text, span.spanContext().spanId)
    }
    return { text, size: text.json.byteLength, ...(place && { place }) }
  }

  /** Writes an ended span that has no place yet. False when the disk takes nothing. */
  keep(parcel: Parcel): boolean {
    const place = this.#writeEnded(textOf(parcel))
    if (place !== undefined) parcel.place = place
    return place !== undefined
  }

  #writeEnded({ head, json }: SpanText): Place | undefined {
    const place = this.#write('e', head, json)
    const segment = place && this.#own?.log.segment(place.segment)
    if (segment !== undefined) segment.ended++
    return place
  }

  /** Whether the disk still has it: past the limit the oldest go. */
  has({ place }: Parcel): boolean {
    return place !== undefined && this.#own?.log.segment(place.segment) !== undefined
  }

  /**
   * The parcels, the oldest that are in memory alone or the newest of all, are let go of; `readBack` gives them again.
   * One that was past the limit meanwhile is dropped, and counted.
   */
  leave(parcels: readonly Parcel[]): void {
    for (const { place } of parcels) {
      const segment = place && this.#own?.log.segment(place.segment)
      if (place === undefined || segment === undefined) {
        this.#dropped++
        continue
      }
      segment.unread++
      this.#unreadCount++
      if (this.#unread === undefined || isBefore(place, this.#unread)) this.#unread = place
    }
  }

  /** The next ended spans that are on disk alone, oldest first. */
  readBack(limits: RequestLimits): Parcel[] {
    const parcels: Parcel[] = []
    let chars = 0
    while (this.#unread !== undefined && parcels.length < limits.spans && chars < limits.chars) {
      const segment = this.#own?.log.segment(this.#unread.segment)
      if (segment === undefined) break
      for (const parcel of this.#readSegment(segment, this.#unread.start)) {
        parcels.push(parcel)
        chars += parcel.size
        if (parcels.length >= limits.spans || chars >= limits.chars) break
      }
    }
    return parcels
  }

  *#readSegment(segment: Segment, from: number): Generator<Parcel> {
    let start = from
    try {
      for (const { bytes, end } of readLines(segment.path, from, segment.bytes)) {
        const place = { segment: segment.number, start, end }
        start = end
        const record = readRecord(bytes)
        const head = record && this.#heads[record.head]
        if (record?.kind !== 'e' || head === undefined) {
          if (record === undefined) this.#options.setAside.add('unreadable', bytes.toString())
          continue
        }
        segment.unread--
        this.#unreadCount--
        // What comes after the last one is in memory, too.
        this.#unread = this.#unreadCount > 0 ? { segment: segment.number, start: end, end } : undefined
        yield { text: { head, json: record.body }, size: record.body.byteLength, place }
        if (this.#unread === undefined) return
      }
    } catch (error) {
      this.#options.onTrouble(
        `Cannot read ${segment.unread} spans back from \`spoolDir\`: ${errorMessage(error)}.`,
      )
    }
    this.#passOver(segment)
  }

  /** What could not be read of a segment is waited for no more. */
  #passOver(segment: Segment): void {
    this.#unreadCount -= segment.unread
    this.#dropped += segment.unread
    segment.settled += segment.unread
    segment.unread = 0
    this.#readOnAfter(segment.number)
  }

  #readOnAfter(segment: number): void {
    this.#unread = this.#unreadCount > 0 ? { segment: segment + 1, start: 0, end: 0 } : undefined
  }

  /** They are delivered, or given up. The parcels are the oldest that were not settled yet. */
  settled(parcels: readonly Parcel[]): void {
    const own = this.#own
    let last: Place | undefined
    for (const { place, text } of parcels) {
      if (place === undefined) {
        const spanId = text && this.#startedOnDisk.get(text)
        if (spanId !== undefined) this.#endsElsewhere(spanId, (text as SpanText).head)
        continue
      }
      last = place
      const segment = own?.log.segment(place.segment)
      if (segment !== undefined) segment.settled++
    }
    if (own === undefined || last === undefined || this.#closed) return
    try {
      own.acked(last)
    } catch (error) {
      this.#pause(error)
    }
    this.#reclaim(SLACK_BYTES + 4 * this.#open.chars)
  }

  /** Ends. What is not delivered stays for whoever looks next. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    try {
      const keep = this.#own?.log.segments.some((segment) => !isSettled(segment)) ?? false
      this.#own?.close({ keep })
    } catch {
      // What is left there is found by the next process.
    }
  }

  /** Nothing is written between the record and the return, so that what is told of its place is of this record. */
  #write(kind: RecordKind, head: string, text: string | Uint8Array, again = false): Place | undefined {
    if (!this.isWritable) return undefined
    try {
      this.#own ??= OwnFolder.make(this.#options.folder, this.#segmentBytes)
      if (this.#own.log.current() !== this.#segment) this.#keepWithinLimit(this.#own.log)
      if (this.#pausedUntil > 0) this.#resume(this.#own.log)
      return this.#append(this.#own.log, kind, head, text)
    } catch (error) {
      // What is delivered already may be what fills the disk.
      if (!again && this.#reclaim(0)) return this.#write(kind, head, text, true)
      this.#pause(error)
      return undefined
    }
  }

  /** @throws what the system says. */
  #append(log: SegmentLog, kind: RecordKind, head: string, text: string | Uint8Array): Place {
    const segment = log.current()
    if (segment !== this.#segment) {
      this.#segment = segment
      this.#headsThere.clear()
    }
    const number = this.#numberOf(head)
    const lead = `${kind} ${number} `
    if (this.#headsThere.has(number)) return log.append(lead, text)
    const place = log.append(`h ${number} ${head}\n${lead}`, text)
    this.#headsThere.add(number)
    return place
  }

  /** What is told of open spans in no segment after that one is told again. @throws what the system says. */
  #recordOpen(log: SegmentLog, notAfter: number): void {
    for (const open of this.#open.notAfter(notAfter)) {
      open.segment = this.#append(log, 's', open.head, open.text).segment
    }
  }

  #numberOf(head: string): number {
    let number = this.#headNumbers.get(head)
    if (number === undefined) {
      number = this.#heads.push(head) - 1
      this.#headNumbers.set(head, number)
    }
    return number
  }

  /** Removes what is delivered, if it is more than so many bytes. */
  #reclaim(slackBytes: number): boolean {
    const segments = this.#own?.log.segments ?? []
    let through = 0
    let bytes = 0
    for (const segment of segments) {
      if (!isSettled(segment)) break
      through = segment.number
      bytes += segment.bytes
    }
    if (bytes <= slackBytes) return false
    this.#dropThrough(through)
    return true
  }

  /** Removes the oldest segments. What they tell of spans that are open is written anew before, or after on a full disk. */
  #dropThrough(through: number): void {
    const log = this.#own?.log
    if (log === undefined) return
    if (this.#unread !== undefined && this.#unread.segment <= through) this.#readOnAfter(through)
    try {
      if (log.segments.at(-1)?.number === through) log.rotate()
      this.#recordOpen(log, through)
    } catch {
      // No room yet.
    }
    try {
      while ((log.segments[0]?.number ?? Number.POSITIVE_INFINITY) <= through) log.dropOldest()
      this.#recordOpen(log, through)
    } catch (error) {
      this.#pause(error)
    }
  }

  #keepWithinLimit(log: SegmentLog): void {
    const { maxBytes, otherBytes, dropLeftover, onTrouble } = this.#options
    let over = otherBytes() + log.bytes + this.#segmentBytes - maxBytes
    let lost = 0
    while (over > 0) {
      const leftover = dropLeftover()
      const [oldest] = log.segments
      if (leftover === undefined && (oldest === undefined || oldest === log.segments.at(-1))) break
      lost += leftover?.spans ?? (oldest as Segment).unread
      over -= leftover?.bytes ?? (oldest as Segment).bytes
      if (leftover === undefined) this.#giveUp(oldest as Segment)
    }
    if (lost === 0) return
    this.#dropped += lost
    if (!this.#toldLimit) {
      onTrouble(
        `\`spoolDir\` has reached its limit of ${maxBytes} bytes (\`maxSpoolBytes\`): the oldest spans are dropped.`,
      )
    }
    this.#toldLimit = true
  }

  #giveUp(segment: Segment): void {
    this.#unreadCount -= segment.unread
    segment.settled += segment.unread
    segment.unread = 0
    this.#dropThrough(segment.number)
  }

  #pause(error: unknown): void {
    const first = this.#pausedUntil === 0
    this.#pauseMs = Math.min(Math.max(this.#pauseMs * 2, FIRST_PAUSE_MS), LONGEST_PAUSE_MS)
    this.#pausedUntil = performance.now() + this.#pauseMs
    if (!first) return
    this.#options.onTrouble(
      `Spans cannot be written to \`spoolDir\`: ${errorMessage(error)}. Until they can, they are kept in memory alone.`,
    )
  }

  /** @throws what the system says, when the disk takes nothing yet. */
  #resume(log: SegmentLog): void {
    // Of those too that only a file told of that is removed.
    this.#recordOpen(log, log.current().number - log.segments.length)
    for (const [spanId, head] of this.#unwrittenHandovers) {
      this.#append(log, 'p', head, spanId)
      this.#unwrittenHandovers.delete(spanId)
    }
    this.#pausedUntil = 0
    this.#pauseMs = 0
    this.#options.onTrouble('Spans are written to `spoolDir` again.')
  }
}

function isSettled({ ended, settled }: Segment): boolean {
  return settled >= ended
}

function isBefore(a: Place, b: Place): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.start < b.start)
}

/** Of the disk, not of the path. */
function isTrouble(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException
  return !['ENOTDIR', 'ENOENT', 'ENAMETOOLONG', 'ELOOP', 'EINVAL', 'ERR_INVALID_ARG_TYPE'].includes(code)
}
