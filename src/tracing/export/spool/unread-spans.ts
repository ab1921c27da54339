import { errorSentence } from '../../../internal/errors.ts'
import type { Parcel, Place, RequestLimits } from '../parcel.ts'
import { readRecords } from './read-records.ts'
import type { Segment } from './segment-log.ts'
import type { SetAside } from './set-aside.ts'

export interface UnreadSpansOptions {
  /** Undefined when it is gone. */
  readonly segment: (number: number) => Segment | undefined
  readonly head: (number: number) => string | undefined
  readonly setAside: SetAside
  readonly onTrouble: (message: string) => void
}

/** Of a file that cannot be read: it may be that too many are open just now. The queue asks once a delay. */
const TRIES = 10

/** Ended spans of this process that are on disk and in no memory: all from one place on. No method throws. */
export class UnreadSpans {
  readonly #options: UnreadSpansOptions
  #from: Place | undefined
  #count = 0
  #unreadable = 0
  /** In a row. */
  #failures = 0

  constructor(options: UnreadSpansOptions) {
    this.#options = options
  }

  get count(): number {
    return this.#count
  }

  /** Spans that could not be read, and are given up. */
  get unreadable(): number {
    return this.#unreadable
  }

  /** That span, older or newer than all of them, is one of them from now on. */
  add(place: Place, segment: Segment): void {
    segment.unread++
    this.#count++
    if (this.#from === undefined || isBefore(place, this.#from)) this.#from = place
  }

  /** The next of them, oldest first, which are in memory then. None while they cannot be read; past ten tries a file's are given up. */
  read(limits: RequestLimits): Parcel[] {
    const parcels: Parcel[] = []
    let chars = 0
    while (this.#from !== undefined && parcels.length < limits.spans && chars < limits.chars) {
      const segment = this.#options.segment(this.#from.segment)
      if (segment === undefined) break
      for (const parcel of this.#readSegment(segment, this.#from.start)) {
        parcels.push(parcel)
        chars += parcel.size
        if (parcels.length >= limits.spans || chars >= limits.chars) break
      }
      if (this.#failures > 0) break
    }
    return parcels
  }

  /** Those of a segment are waited for no more. How many. */
  giveUp(segment: Segment): number {
    const { unread } = segment
    this.#count -= unread
    segment.settled += unread
    segment.unread = 0
    return unread
  }

  /** What comes next is behind that segment. */
  goOnAfter(segment: number): void {
    if (this.#from === undefined || this.#from.segment > segment) return
    this.#from = this.#count > 0 ? { segment: segment + 1, start: 0, end: 0 } : undefined
  }

  *#readSegment(segment: Segment, from: number): Generator<Parcel> {
    const { setAside, onTrouble } = this.#options
    let start = from
    try {
      for (const { kind, head: number, bytes, end } of readRecords(segment.path, from, segment.bytes)) {
        const place = { segment: segment.number, start, end }
        start = end
        this.#failures = 0
        if (kind === undefined) setAside.addUnreadable(bytes)
        const head = number === undefined ? undefined : this.#options.head(number)
        if (kind !== 'e' || head === undefined) continue
        segment.unread--
        this.#count--
        // What comes after the last one is in memory, too.
        this.#from = this.#count > 0 ? { segment: segment.number, start: end, end } : undefined
        yield { bytes: { head, bytes }, size: bytes.length, place }
        if (this.#from === undefined) return
      }
    } catch (error) {
      if (++this.#failures < TRIES) return
      this.#failures = 0
      onTrouble(`Cannot read ${segment.unread} spans back from \`spoolDir\`: ${errorSentence(error)}`)
    }
    this.#unreadable += this.giveUp(segment)
    this.goOnAfter(segment.number)
  }
}

function isBefore(a: Place, b: Place): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.start < b.start)
}
