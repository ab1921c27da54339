import { describeValue, errorSentence, HookspanError } from '../../../internal/errors.ts'
import { bytesOf, type Parcel, type Place, type RequestLimits } from '../parcel.ts'
import { headOf, type SpanBytes, spanBytes } from '../span-bytes.ts'
import { endedBytes, startedBytes } from '../started-bytes.ts'
import type { ReadableSpan } from '../types.ts'
import { DiskPause } from './disk-pause.ts'
import { OpenSpans } from './open-spans.ts'
import { OwnFolder } from './own-folder.ts'
import { RecordWriter } from './record-writer.ts'
import type { RecordKind } from './records.ts'
import type { Segment, SegmentLog } from './segment-log.ts'
import type { SetAside } from './set-aside.ts'
import { UnreadSpans } from './unread-spans.ts'

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
/** What may lie around delivered before it is worth the work of removing it: so much of a file's length. */
const SLACK = 1 / 4

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
  /** The number of the first file of a folder that is made. */
  #firstSegment = 1
  readonly #open = new OpenSpans()
  /** Spans that are over while the disk tells of them as open and takes nothing, and their heads. */
  readonly #unwrittenHandovers = new Map<string, string>()
  /** The span of bytes that are in memory alone, though the disk tells of its start. */
  readonly #startedOnDisk = new WeakMap<SpanBytes, string>()
  readonly #records = new RecordWriter()
  readonly #unread: UnreadSpans
  #dropped = 0
  #toldLimit = false
  readonly #pausing = new DiskPause()
  #closed = false

  /** @throws HookspanError `INVALID_OPTION` when the folder cannot be made. */
  constructor(options: SpoolOptions) {
    this.#options = options
    this.#unread = new UnreadSpans({
      segment: (number) => this.#own?.log.segment(number),
      head: (number) => this.#records.head(number),
      setAside: options.setAside,
      onTrouble: options.onTrouble,
    })
    const aSixteenth = Math.floor(options.maxBytes / 16)
    this.#segmentBytes = Math.max(LEAST_SEGMENT_BYTES, Math.min(SEGMENT_BYTES, aSixteenth))
    try {
      this.#own = this.#make()
    } catch (error) {
      // A disk that is full or read-only may be so no longer in a while; a folder that nobody can make is a mistake.
      if (!isTrouble(error)) {
        throw new HookspanError(
          'INVALID_OPTION',
          `Cannot write spans to \`spoolDir\` ${describeValue(options.folder)}: ${errorSentence(error)}`,
        )
      }
      this.#pause(error)
    }
  }

  /** Ended spans that are on disk alone. */
  get unreadCount(): number {
    return this.#unread.count
  }

  /** Spans that were given up: the limit was reached, or they could not be read. */
  get dropped(): number {
    return this.#dropped + this.#unread.unreadable
  }

  get bytes(): number {
    return this.#own?.log.bytes ?? 0
  }

  /** Its name in the folder of all. */
  get path(): string | undefined {
    return this.#own?.path
  }

  /** Whether spans are written, for all that is known. */
  get takesSpans(): boolean {
    return !this.#closed && !this.#pausing.isOn
  }

  /** Whether a write may be tried now. */
  get isWritable(): boolean {
    return !this.#closed && this.#pausing.mayTry
  }

  started(span: ReadableSpan): void {
    if (this.#closed || this.#open.isFull) return
    const started = startedBytes(span)
    const segment = this.#write('s', started.head, started.bytes)?.segment
    this.#open.add(span.spanContext().spanId, { started, segment })
  }

  /** Another process ends it: it does not end with this one. */
  handedOver(span: ReadableSpan): void {
    this.#open.remove(span)
    this.#endsElsewhere(span.spanContext().spanId, headOf(span))
  }

  #endsElsewhere(spanId: string, head: string): void {
    if (this.#write('p', head, idBytes(spanId)) === undefined) this.#unwrittenHandovers.set(spanId, head)
  }

  /** The span as it is sent. Without a place when the disk takes nothing. */
  ended(span: ReadableSpan): Parcel {
    // First: what makes room for its end must not tell of its start again.
    const open = this.#open.remove(span)
    const bytes = open === undefined ? spanBytes(span) : endedBytes(span, open.started)
    const place = this.#writeEnded(bytes)
    if (place === undefined && open?.segment !== undefined) {
      this.#startedOnDisk.set(bytes, span.spanContext().spanId)
    }
    return { bytes, size: bytes.bytes.length, ...(place && { place }) }
  }

  /** Writes an ended span that has no place yet. False when the disk takes nothing. */
  keep(parcel: Parcel): boolean {
    const place = this.#writeEnded(bytesOf(parcel))
    if (place !== undefined) parcel.place = place
    return place !== undefined
  }

  #writeEnded({ head, bytes }: SpanBytes): Place | undefined {
    const place = this.#write('e', head, bytes)
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
      if (place === undefined || segment === undefined) this.#dropped++
      else this.#unread.add(place, segment)
    }
  }

  /** The next ended spans that are on disk alone, oldest first. */
  readBack(limits: RequestLimits): Parcel[] {
    return this.#unread.read(limits)
  }

  /** They are delivered, or given up. The parcels are the oldest that were not settled yet. */
  settled(parcels: readonly Parcel[]): void {
    const own = this.#own
    let last: Place | undefined
    for (const { place, bytes } of parcels) {
      if (place === undefined) {
        const spanId = bytes && this.#startedOnDisk.get(bytes)
        if (spanId !== undefined) this.#endsElsewhere(spanId, (bytes as SpanBytes).head)
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
    this.#reclaim(SLACK * this.#segmentBytes + 2 * this.#open.bytes)
  }

  /**
   * Whether somebody has removed the folder, or all of them, since the last look. Then there is a new one, in which spans that are open
   * are told of again; those that were on disk alone are lost.
   */
  isRemoved(): boolean {
    const own = this.#own
    if (this.#closed || own === undefined || !own.isGone) return false
    const lost = own.log.segments.reduce((sum, segment) => sum + this.#unread.giveUp(segment), 0)
    this.#unread.goOnAfter(own.log.next)
    this.#dropped += lost
    this.#firstSegment = own.log.next
    this.#own = undefined
    this.#tell(
      `${describeValue(own.path)}, where this process writes its spans, was removed: ${lost} spans that were there alone are lost. ` +
        'It goes on in a new folder. Leave `spoolDir` to the processes that use it.',
    )
    try {
      own.close({ keep: true })
      this.#own = this.#make()
      this.#recordOpen(this.#own.log, own.log.next)
    } catch (error) {
      this.#pause(error)
    }
    return true
  }

  /** @throws what the system says. */
  #make(): OwnFolder {
    return OwnFolder.make(this.#options.folder, this.#segmentBytes, this.#firstSegment)
  }

  /** Tells a disk that took nothing, and may again, of what is open: no span may end for long, as while a human is waited for. */
  tryAgain(): void {
    if (!this.#pausing.isOn || !this.isWritable) return
    try {
      this.#own ??= this.#make()
      this.#catchUp(this.#own.log)
    } catch (error) {
      this.#pause(error)
    }
  }

  /** Gives a disk that takes nothing one more try: what it has not by then is lost. */
  tryAtLast(): void {
    this.#pausing.end()
    this.tryAgain()
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
  #write(kind: RecordKind, head: string, body: Uint8Array, again = false): Place | undefined {
    if (!this.isWritable) return undefined
    try {
      this.#own ??= this.#make()
      if (this.#records.isAtNewSegment(this.#own.log)) this.#keepWithinLimit(this.#own.log)
      if (this.#pausing.isOn) this.#catchUp(this.#own.log)
      const place = this.#records.append(this.#own.log, kind, head, body)
      if (this.#pausing.took(place.end - place.start)) this.#tell('Spans are written to `spoolDir` again.')
      return place
    } catch (error) {
      // What is delivered already may be what fills the disk.
      if (!again && this.#makeRoom()) return this.#write(kind, head, body, true)
      this.#pause(error)
      return undefined
    }
  }

  /** What is told of open spans in no segment after that one is told again. @throws what the system says. */
  #recordOpen(log: SegmentLog, notAfter: number): void {
    for (const open of this.#open.notAfter(notAfter)) {
      const { head, bytes } = open.started
      open.segment = this.#records.append(log, 's', head, bytes).segment
    }
  }

  /** Whether anything is removed that is delivered. */
  #makeRoom(): boolean {
    let removed = false
    try {
      removed = this.#own?.log.removeSpare() ?? false
    } catch {
      // There may be more.
    }
    return this.#reclaim(0) || removed
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
    this.#dropThrough(through, { mayKeep: slackBytes > 0 })
    return true
  }

  /**
   * Removes the oldest segments; one may be kept to be written over. What they tell of spans that are open is written anew
   * before, or after on a full disk.
   */
  #dropThrough(through: number, options: { mayKeep: boolean }): void {
    const log = this.#own?.log
    if (log === undefined) return
    this.#unread.goOnAfter(through)
    try {
      if (log.segments.at(-1)?.number === through) log.rotate()
      this.#recordOpen(log, through)
    } catch {
      // No room yet.
    }
    try {
      while ((log.segments[0]?.number ?? Number.POSITIVE_INFINITY) <= through) log.dropOldest(options)
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
      over -= leftover?.bytes ?? (oldest as Segment).bytes
      lost += leftover?.spans ?? this.#giveUp(oldest as Segment)
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

  /** How many spans are dropped by that. */
  #giveUp(segment: Segment): number {
    const unread = this.#unread.giveUp(segment)
    this.#dropThrough(segment.number, { mayKeep: false })
    return unread
  }

  #pause(error: unknown): void {
    if (!this.#pausing.prolong()) return
    this.#tell(
      `Spans cannot be written to \`spoolDir\`: ${errorSentence(error)} Until they can, they are kept in memory alone.`,
    )
  }

  /** Writes what the disk did not take before. @throws what the system says, when it takes nothing yet. */
  #catchUp(log: SegmentLog): void {
    // Of those too that only a file told of that is removed.
    this.#recordOpen(log, log.current().number - log.segments.length)
    for (const [spanId, head] of this.#unwrittenHandovers) {
      this.#records.append(log, 'p', head, idBytes(spanId))
      this.#unwrittenHandovers.delete(spanId)
    }
  }

  #tell(message: string): void {
    try {
      this.#options.onTrouble(message)
    } catch {
      // What was written is written.
    }
  }
}

function idBytes(spanId: string): Uint8Array {
  return Buffer.from(spanId, 'latin1')
}

function isSettled({ ended, settled }: Segment): boolean {
  return settled >= ended
}

/** Of the disk, not of the path. */
function isTrouble(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException
  return !['ENOTDIR', 'ENOENT', 'ENAMETOOLONG', 'ELOOP', 'EINVAL', 'ERR_INVALID_ARG_TYPE'].includes(code)
}
