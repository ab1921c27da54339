import type { Parcel, RequestLimits } from './parcel.ts'
import type { Spool } from './spool/spool.ts'

/**
 * Parcels in memory, in the order in which they are sent. Memory is the fast path; with a spool, the disk has each until
 * it is delivered, and memory no more than it may.
 */
export class WaitingSpans {
  readonly #maxSpans: number
  readonly #spool: Spool | undefined
  /** Those with a place are in the order of their places. */
  #parcels: Parcel[] = []
  /** Parcels at their head that are on their way. */
  #inFlight = 0
  /** Some may have no place, though the disk might take them by now. */
  #mayLackPlace = false
  /** Some of them that are not on their way may have one. */
  #mayHavePlace = false
  #overflowed = 0

  constructor(maxSpans: number, spool: Spool | undefined) {
    this.#maxSpans = maxSpans
    this.#spool = spool
  }

  get count(): number {
    return this.#parcels.length
  }

  /** How many were dropped because there was no room. */
  get overflowed(): number {
    return this.#overflowed
  }

  /** How many memory has the only copy of. */
  get onlyHere(): number {
    return this.#parcels.filter((parcel) => !this.#isOnDisk(parcel)).length
  }

  /** Where there is no disk. */
  add(parcel: Parcel): void {
    this.#parcels.push(parcel)
    this.#makeRoom()
  }

  /** What the disk was just given, into memory where there is room and nothing older is on disk alone. */
  addWritten(parcel: Parcel, spool: Spool): void {
    const isFull = this.#parcels.length - this.#inFlight >= this.#maxSpans
    if (parcel.place !== undefined && (isFull || spool.unreadCount > 0)) spool.leave([parcel])
    else {
      this.#mayLackPlace ||= parcel.place === undefined
      this.#mayHavePlace ||= parcel.place !== undefined
      this.#parcels.push(parcel)
    }
    this.#makeRoom()
  }

  /** To be called before the disk is given something newer: the newest of what it has not, so that places stay in order. */
  place(spool: Spool): void {
    if (!this.#mayLackPlace || !spool.isWritable) return
    const from = Math.max(this.#parcels.findLastIndex(({ place }) => place !== undefined) + 1, this.#inFlight)
    const unplaced = this.#parcels.slice(from)
    const placed = unplaced.findIndex((parcel) => !spool.keep(parcel))
    this.#mayLackPlace = placed !== -1
    this.#mayHavePlace = true
    if (spool.unreadCount === 0) return
    // They come after what is on disk alone.
    spool.leave(placed === -1 ? unplaced : unplaced.slice(0, placed))
    this.#parcels.splice(from, placed === -1 ? unplaced.length : placed)
  }

  /** Nothing is sent from here any more, so that places may be in any order: the disk is given all that it never had. */
  leaveAll(spool: Spool): void {
    for (const parcel of this.#parcels) {
      if (parcel.place === undefined && !spool.keep(parcel)) return
    }
  }

  /** The disk has lost what it had: what is in memory and not on its way is to be given to it again. */
  unplace(): void {
    for (const parcel of this.#parcels.slice(this.#inFlight)) delete parcel.place
    this.#mayLackPlace = this.#parcels.length > this.#inFlight
    this.#mayHavePlace = false
  }

  /** More of what is on disk alone. False when there is no more. */
  readBack(limits: RequestLimits): boolean {
    const parcels = this.#spool?.readBack(limits) ?? []
    this.#parcels.push(...parcels)
    this.#mayHavePlace ||= parcels.length > 0
    return parcels.length > 0
  }

  /** One request's worth. */
  batchFrom(from: number, limits: RequestLimits): Parcel[] {
    let chars = 0
    let to = from
    for (; to < this.#parcels.length && to - from < limits.spans; to++) {
      chars += (this.#parcels[to] as Parcel).size
      if (to > from && chars > limits.chars) break
    }
    return this.#parcels.slice(from, to)
  }

  /** So many of the oldest are on their way, until `landed`. */
  takeOff(count: number): void {
    this.#inFlight = count
  }

  landed(): void {
    this.#inFlight = 0
    this.#mayHavePlace = this.#spool !== undefined
  }

  /** The oldest are delivered, or given up. */
  settled(parcels: readonly Parcel[]): void {
    this.#parcels.splice(0, parcels.length)
    this.#inFlight = Math.max(0, this.#inFlight - parcels.length)
    this.#spool?.settled(parcels)
  }

  /** Lets go of what the disk has, and drops the others. How many. */
  drop(): number {
    this.#leaveOnDisk()
    const count = this.#parcels.length
    this.#parcels = []
    this.#overflowed += count
    return count
  }

  /** Forgets all of them. */
  clear(): void {
    this.#parcels = []
  }

  #makeRoom(): void {
    const excess = this.#parcels.length - this.#inFlight - this.#maxSpans
    // Moving up a long queue costs more than a span: some are let in and go together.
    if (excess <= Math.floor(this.#maxSpans / 1_000)) return
    // Looked for once: of what the disk takes nothing of, each would be asked anew for each span that ends.
    if (this.#mayHavePlace && this.#leaveOnDisk()) return
    this.#parcels.splice(this.#inFlight, excess)
    this.#overflowed += excess
  }

  #isOnDisk(parcel: Parcel): boolean {
    return this.#spool?.has(parcel) ?? false
  }

  /** Lets go of all in memory that the disk has and that is not on its way. */
  #leaveOnDisk(): boolean {
    this.#mayHavePlace = false
    const onDisk = new Set(this.#parcels.slice(this.#inFlight).filter((parcel) => this.#isOnDisk(parcel)))
    if (onDisk.size === 0) return false
    this.#spool?.leave([...onDisk])
    this.#parcels = this.#parcels.filter((parcel) => !onDisk.has(parcel))
    return true
  }
}
