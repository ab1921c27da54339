import { existsSync, readdirSync, renameSync, rmSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Parcel, Place, RequestLimits } from '../parcel.ts'
import { headOf } from '../span-bytes.ts'
import { readHead, readSpanBytes } from '../span-of-bytes.ts'
import type { ReadableSpan } from '../types.ts'
import { ACKED, AckedFile, readAcked } from './acked-file.ts'
import { type FolderLock, isOfLock } from './folder-lock.ts'
import { isOutOfFiles } from './out-of-files.ts'
import { readRecords, type StoredRecord } from './read-records.ts'
import { interruptedBytes } from './records.ts'
import { isOfLog, removeSpareIn, segmentPath, segmentsIn } from './segment-log.ts'
import type { SetAside } from './set-aside.ts'

interface Started {
  readonly segment: number
  readonly head: string
  readonly bytes: Uint8Array
}

/** For records whose head is unreadable: the span is worth more than the name of its service. */
const NO_HEAD = headOf({
  resource: { attributes: { 'service.name': 'unknown_service' } },
  instrumentationScope: { name: 'hookspan' },
} as unknown as ReadableSpan)

/**
 * What a dead process left in its folder, read in a stream: first the spans that ended and were not delivered, then the
 * ones that never ended, as interrupted. Who adopts it may die, too; the next one goes on from there.
 */
export class Leftover {
  readonly #lock: FolderLock
  readonly #setAside: SetAside
  readonly #segments: number[]
  readonly #heads = new Map<number, string>()
  readonly #open = new Map<string, Started>()
  #acked: Pick<Place, 'segment' | 'end'>
  readonly #ackedFile: AckedFile
  readonly #parcels: Generator<Parcel>
  /** Given, and not settled yet. */
  #given: Parcel[] = []
  #allGiven = false
  /** What was said of a file that could not be read. */
  #unreadable: unknown

  /** @throws what the system says; Error where there are files that this version of hookspan does not write. */
  constructor(lock: FolderLock, setAside: SetAside) {
    assertOurs(lock.folder)
    this.#lock = lock
    this.#setAside = setAside
    this.#segments = segmentsIn(lock.folder)
    this.#acked = readAcked(lock.folder)
    this.#ackedFile = new AckedFile(lock.folder, { isNew: !existsSync(join(lock.folder, ACKED)) })
    this.#parcels = this.#read()
  }

  /** The next spans; the same again until they are settled. @throws what the system says. */
  next(limits: RequestLimits): Parcel[] {
    let chars = this.#given.reduce((sum, { size }) => sum + size, 0)
    while (!this.#allGiven && this.#given.length < limits.spans && chars < limits.chars) {
      const { done, value } = this.#parcels.next()
      if (done) this.#allGiven = true
      else {
        this.#given.push(value)
        chars += value.size
      }
    }
    return this.#given.slice(0, limits.spans)
  }

  get isDone(): boolean {
    return this.#allGiven && this.#given.length === 0
  }

  /** Some of those given, the oldest, are delivered or given up. @throws what the system says. */
  settled(parcels: readonly Parcel[]): void {
    const settled = new Set(parcels)
    this.#given = this.#given.filter((parcel) => !settled.has(parcel))
    const place = parcels.findLast((parcel) => parcel.place !== undefined)?.place
    if (place === undefined) return
    this.#acked = place
    this.#ackedFile.write(place)
    this.#removeRead(place.segment)
  }

  /** Gives up the oldest file. Undefined when there is none. @throws what the system says. */
  dropOldest(): { readonly bytes: number; readonly spans: number } | undefined {
    const number = this.#segments[0]
    if (number === undefined) return undefined
    const path = segmentPath(this.#lock.folder, number)
    const { size: bytes } = statSync(path)
    const spans = this.#endedIn(path, number)
    this.#given = this.#given.filter(({ place }) => place?.segment !== number)
    this.#segments.shift()
    unlinkSync(path)
    return { bytes, spans }
  }

  /** As far as the file can be read: it goes all the same. */
  #endedIn(path: string, number: number): number {
    let spans = 0
    try {
      for (const { kind, end } of readRecords(path)) if (kind === 'e' && !this.#isAcked(number, end)) spans++
    } catch {}
    return spans
  }

  /**
   * Removes the folder, all of which is delivered.
   *
   * @throws what the system says; where a file could not be read, after the folder got a name by which nobody adopts it.
   */
  remove(): void {
    this.#ackedFile.close()
    if (this.#unreadable !== undefined) {
      this.#lock.release()
      renameSync(this.#lock.folder, `${this.#lock.folder}.unreadable`)
      throw this.#unreadable
    }
    for (const number of this.#segments) rmSync(segmentPath(this.#lock.folder, number), { force: true })
    removeSpareIn(this.#lock.folder)
    rmSync(join(this.#lock.folder, ACKED), { force: true })
    this.#lock.remove()
  }

  /** Lets go of the folder, for the next who looks. */
  release(): void {
    this.#ackedFile.close()
    this.#lock.release()
  }

  *#read(): Generator<Parcel> {
    for (const number of [...this.#segments]) yield* this.#readSegment(number)
    for (const { head, bytes: started } of this.#open.values()) {
      const bytes = interruptedBytes(started)
      yield { bytes: { head, bytes }, size: bytes.length }
    }
  }

  *#readSegment(number: number): Generator<Parcel> {
    let start = 0
    for (const record of this.#recordsOf(number)) {
      const place = { segment: number, start, end: record.end }
      start = record.end
      try {
        const parcel = this.#parcelOf(record, place)
        if (parcel !== undefined) yield parcel
      } catch {
        this.#setAside.addUnreadable(record.bytes)
      }
    }
  }

  /** One file that cannot be read does not hold up the others. */
  *#recordsOf(number: number): Generator<StoredRecord> {
    try {
      yield* readRecords(segmentPath(this.#lock.folder, number))
    } catch (error) {
      if (isOutOfFiles(error)) throw error
      this.#unreadable ??= error
    }
  }

  /** @throws for what is no record of ours. */
  #parcelOf({ kind, head: number = 0, bytes }: StoredRecord, place: Place): Parcel | undefined {
    if (kind === undefined) throw new Error('no record')
    if (kind === 'h') {
      const head = bytes.toString('latin1')
      readHead(head)
      this.#heads.set(number, head)
      return undefined
    }
    if (kind === 'p') {
      this.#open.delete(bytes.toString('latin1'))
      return undefined
    }
    const head = this.#heads.get(number) ?? NO_HEAD
    const { spanId } = readSpanBytes(bytes)
    if (kind === 's') {
      this.#open.set(spanId, { segment: place.segment, head, bytes })
      return undefined
    }
    this.#open.delete(spanId)
    if (this.#isAcked(place.segment, place.end)) return undefined
    return { bytes: { head, bytes }, size: bytes.length, place }
  }

  #isAcked(segment: number, end: number): boolean {
    return segment < this.#acked.segment || (segment === this.#acked.segment && end <= this.#acked.end)
  }

  /** The oldest first, and none that alone tells of a span that may be open: whoever adopts it next must see that. */
  #removeRead(before: number): void {
    const needed = new Set([...this.#open.values()].map(({ segment }) => segment))
    while (this.#segments[0] !== undefined && this.#segments[0] < before && !needed.has(this.#segments[0])) {
      unlinkSync(segmentPath(this.#lock.folder, this.#segments[0]))
      this.#segments.shift()
    }
  }
}

/** What another version keeps there would be lost with the folder; and who opens a pipe waits until somebody else does. */
function assertOurs(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const { name } = entry
    if (name === ACKED && !entry.isFile()) throw new Error(`"${name}" in it is no file`)
    if (!isOfLog(name) && !isOfLock(name) && name !== ACKED)
      throw new Error(
        `this version of hookspan does not know "${name}" in it. The one that wrote it delivers it.`,
      )
  }
}
