import type { Place } from '../parcel.ts'
import type { RecordKind } from './records.ts'
import type { Segment, SegmentLog } from './segment-log.ts'

/** Appends records to a log, and before them, once in each segment, the heads that they name by number. */
export class RecordWriter {
  readonly #heads: string[] = []
  readonly #numbers = new Map<string, number>()
  /** Which segment was written to last, and the heads that it has. */
  #segment: Segment | undefined
  readonly #there = new Set<number>()

  /** The head that records of this process name so. */
  head(number: number): string | undefined {
    return this.#heads[number]
  }

  /** Whether nothing is in the segment that is written to next. @throws what the system says. */
  isAtNewSegment(log: SegmentLog): boolean {
    return log.current() !== this.#segment
  }

  /** @throws what the system says; nothing of the record is kept then. */
  append(log: SegmentLog, kind: RecordKind, head: string, body: Uint8Array): Place {
    const segment = log.current()
    if (segment !== this.#segment) {
      this.#segment = segment
      this.#there.clear()
    }
    const number = this.#numberOf(head)
    if (this.#there.has(number)) return log.append(kind, number, body)
    const place = log.append(kind, number, body, Buffer.from(head, 'latin1'))
    this.#there.add(number)
    return place
  }

  #numberOf(head: string): number {
    let number = this.#numbers.get(head)
    if (number === undefined) {
      number = this.#heads.push(head) - 1
      this.#numbers.set(head, number)
    }
    return number
  }
}
