import { existsSync, renameSync, rmSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { TAIL } from '../otlp-json.ts'
import type { Parcel, Place, RequestLimits } from '../parcel.ts'
import { ACKED, AckedFile, readAcked } from './acked-file.ts'
import type { FolderLock } from './folder-lock.ts'
import { type Line, readLines } from './read-lines.ts'
import { interruptedText, readRecord, startedSpanId } from './records.ts'
import { segmentPath, segmentsIn } from './segment-log.ts'
import type { SetAside } from './set-aside.ts'

interface Started {
  readonly segment: number
  readonly head: string
  readonly text: string
}

/** The first byte of a span that ended. */
const ENDED = 'e'.charCodeAt(0)
/** For records whose head is unreadable: the span is worth more than the name of its service. */
const NO_HEAD =
  '{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"unknown_service"}}]},"scopeSpans":[{"scope":{"name":"hookspan"},"spans":['

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

  /** @throws what the system says. */
  constructor(lock: FolderLock, setAside: SetAside) {
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
    let spans = 0
    for (const { bytes: line, end } of readLines(path)) {
      if (line[0] === ENDED && !this.#isAcked(number, end)) spans++
    }
    this.#given = this.#given.filter(({ place }) => place?.segment !== number)
    this.#segments.shift()
    unlinkSync(path)
    return { bytes, spans }
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
    for (const { head, text } of this.#open.values()) {
      const interrupted = interruptedText(head, text)
      yield { text: interrupted, size: interrupted.json.length }
    }
  }

  *#readSegment(number: number): Generator<Parcel> {
    let start = 0
    for (const { bytes, end } of this.#linesOf(number)) {
      const place = { segment: number, start, end }
      start = end
      try {
        const parcel = this.#readLine(bytes, place)
        if (parcel !== undefined) yield parcel
      } catch {
        this.#setAside.add('unreadable', bytes.toString())
      }
    }
  }

  /** One file that cannot be read does not hold up the others. */
  *#linesOf(number: number): Generator<Line> {
    try {
      yield* readLines(segmentPath(this.#lock.folder, number))
    } catch (error) {
      this.#unreadable ??= error
    }
  }

  /** @throws for a line that is no record of ours. */
  #readLine(line: Buffer, place: Place): Parcel | undefined {
    const record = readRecord(line)
    if (record === undefined) throw new Error('no record')
    const text = record.body.toString()
    if (record.kind === 'h') {
      JSON.parse(text + TAIL)
      this.#heads.set(record.head, text)
      return undefined
    }
    const head = this.#heads.get(record.head) ?? NO_HEAD
    if (record.kind === 's') {
      this.#open.set(startedSpanId(text), { segment: place.segment, head, text })
      return undefined
    }
    if (record.kind === 'p') {
      this.#open.delete(text)
      return undefined
    }
    const { spanId } = JSON.parse(text) as { spanId: string }
    this.#open.delete(spanId)
    if (this.#isAcked(place.segment, place.end)) return undefined
    return { text: { head, json: record.body }, size: record.body.byteLength, place }
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
