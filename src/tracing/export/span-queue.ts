import { MAX_TIMER_MS, unref } from '../../internal/async.ts'
import { Delivery, type ParcelSource } from './delivery.ts'
import { jsonRequest } from './otlp-json.ts'
import { type Parcel, type SpanSender, sizeOf, spanOf } from './parcel.ts'
import type { QueueSettings } from './queue-options.ts'
import type { Leftovers } from './spool/leftovers.ts'
import type { SetAside } from './spool/set-aside.ts'
import type { Spool } from './spool/spool.ts'
import type { ReadableSpan, SpanProcessor } from './types.ts'
import { UnendedSpans } from './unended-spans.ts'
import { WaitingSpans } from './waiting-spans.ts'

export interface ExportStats {
  /** Spans that wait to be sent, in memory and in this process's part of `spoolDir`. */
  readonly queued: number
  readonly exported: number
  /** Spans that were given up: the queue or the disk was full, or the collector refused them for good. */
  readonly dropped: number
  /** Those of them that the collector took the request of, and not themselves (`partialSuccess`). Absent when none. */
  readonly rejected?: number
  /** The last failure, until something was sent again. */
  readonly lastError?: string
  /** With `spoolDir`. */
  readonly spool?: {
    /** What this process has on disk. */
    readonly bytes: number
    /** Records that can be delivered to nobody, and are kept in `set-aside.ndjson`. */
    readonly setAside: number
  }
}

/** Told of each span, beside the sending of it. */
export interface SpanSink {
  started(span: ReadableSpan): void
  ended(span: ReadableSpan): void
  /** The span's run was parked: another process ends it. */
  handedOver(span: ReadableSpan): void
}

/** What a `spoolDir` brings. */
export interface Disk {
  readonly spool: Spool
  readonly leftovers: Leftovers
  readonly setAside: SetAside
}

export interface SpanQueueInit {
  readonly sender: SpanSender
  readonly settings: Omit<QueueSettings, 'requestTimeoutMs'>
  readonly disk?: Disk | undefined
  readonly sinks?: readonly SpanSink[]
  /** The sender wants the spans themselves, so that it pays to keep them beside their bytes. */
  readonly keepsSpans: boolean
}

/** How often is looked for what other processes have left. */
const LOOK_EVERY_MS = 5_000
/** Past its own spans, an end is not held up for long. */
const LEFTOVERS_AT_END_MS = 2_000
/** What is read from disk for a process that exits, which must not take long. */
const MAX_PARCELS_AT_EXIT = 20_000

/**
 * Sends spans in batches and keeps them while the collector is away: the stock processor drops a batch whose
 * sending failed. Never throws and never blocks whoever ends a span.
 */
export class SpanQueue implements SpanProcessor {
  readonly #settings: SpanQueueInit['settings']
  readonly #disk: Disk | undefined
  readonly #sinks: readonly SpanSink[]
  readonly #keepsSpans: boolean
  readonly #delivery: Delivery
  readonly #waiting: WaitingSpans
  readonly #unended = new UnendedSpans()
  #timer: NodeJS.Timeout | undefined
  /** The timer does not wait. */
  #isDue = false
  #lookTimer: NodeJS.Timeout | undefined
  #sending: Promise<boolean> | undefined
  /** What was sent last was not ours, and there may be more of it. */
  #sentLeftover = false
  #neverSent = 0
  #keptOnDisk = 0
  #ending: Promise<void> | undefined
  #closed = false
  #toldLate = false

  constructor({ sender, settings, disk, sinks = [], keepsSpans }: SpanQueueInit) {
    this.#settings = settings
    this.#disk = disk
    this.#sinks = sinks
    this.#keepsSpans = keepsSpans
    this.#waiting = new WaitingSpans(settings.maxQueueSpans, disk?.spool)
    this.#delivery = new Delivery(sender, {
      ...settings,
      onTrouble: (message) => this.#tell(message),
      kept: () =>
        `${this.#pending} spans are kept ${disk?.spool.takesSpans ? 'in `spoolDir`' : 'in memory'} and sent later.`,
    })
    if (disk !== undefined) {
      this.#lookTimer = setInterval(() => this.#look(), LOOK_EVERY_MS)
      unref(this.#lookTimer)
      unref(setImmediate(() => this.#look()))
    }
  }

  onStart(span: ReadableSpan): void {
    if (this.#closed || !isSampled(span)) return
    guard(() => this.#unended.add(span))
    for (const sink of this.#sinks) guard(() => sink.started(span))
    guard(() => this.#disk?.spool.started(span))
  }

  onEnd(span: ReadableSpan): void {
    if (!isSampled(span)) return
    if (this.#closed || this.#unended.wasTaken(span)) return this.#late()
    this.#unended.remove(span)
    this.#take(span)
  }

  #take(span: ReadableSpan): void {
    for (const sink of this.#sinks) guard(() => sink.ended(span))
    guard(() => {
      if (this.#disk === undefined) this.#waiting.add({ span, size: sizeOf(span) })
      else this.#write(span, this.#disk.spool)
    })
    const full = this.#pending >= this.#settings.maxBatchSpans && this.#delivery.backoffMs === 0
    this.#schedule(full ? 0 : this.#settings.delayMs)
  }

  /** Tells whoever keeps open spans that another process ends this one; `left`: it was that one's all along. */
  handOver(span: ReadableSpan, left: boolean): void {
    if (this.#closed || !isSampled(span)) return
    this.#unended.remove(span)
    for (const sink of this.#sinks) guard(() => (left ? sink.ended(span) : sink.handedOver(span)))
    guard(() => this.#disk?.spool.handedOver(span))
  }

  stats(): ExportStats {
    const { exported, dropped, rejected, lastError } = this.#delivery
    const { spool, setAside } = this.#disk ?? {}
    return {
      queued: this.#pending + this.#keptOnDisk,
      exported,
      dropped: dropped + this.#waiting.overflowed + this.#neverSent + (spool?.dropped ?? 0),
      ...(rejected > 0 && { rejected }),
      ...(lastError !== undefined && { lastError }),
      ...(spool && setAside && { spool: { bytes: spool.bytes, setAside: setAside.count } }),
    }
  }

  /** Sends what waits, once; gives up at the first failure. Never rejects. */
  async forceFlush(): Promise<void> {
    while (this.#pending > 0 && (await this.#sendNext())) {}
    await this.#sending
  }

  /** The same, and then what dead processes left, until so many milliseconds have passed. Never rejects. */
  async flushAll(deadlineMs: number): Promise<void> {
    const until = performance.now() + deadlineMs
    while (performance.now() < until && (await this.#sendNext())) {}
    await this.#sending
  }

  /** Its run went on after the end of tracing. */
  #late(): void {
    this.#neverSent++
    if (this.#ending === undefined || this.#toldLate) return
    this.#toldLate = true
    this.#tell(
      'A span ended after `shutdown()`, and is lost, as are those that follow: end runs before, and hand what `startTracing()` ' +
        'gives then to the dispatcher. They are counted in stats().',
    )
  }

  shutdown(): Promise<void> {
    this.#ending ??= this.#end()
    return this.#ending
  }

  async #end(): Promise<void> {
    clearTimeout(this.#timer)
    clearInterval(this.#lookTimer)
    await this.forceFlush()
    // What ended until now is told as what it is.
    for (const span of this.#unended.take()) this.#take(span)
    await this.forceFlush()
    // Of processes that all end at once, one must take what another left.
    if (this.#pending === 0) await this.flushAll(LEFTOVERS_AT_END_MS)
    this.#close()
    await this.#delivery.shutdown()
  }

  /** Spans that no disk has and that will not be sent any more. */
  get lost(): number {
    return this.#neverSent
  }

  /**
   * Takes out what waits, a request's worth each, for whoever can still send it while the process exits. `sent`: how many
   * of the batches were.
   */
  sendAtExit(send: (batches: Parcel[][]) => number): void {
    if (this.#closed) return
    const { limits } = this.#delivery
    while (this.#waiting.count < MAX_PARCELS_AT_EXIT && this.#waiting.readBack(limits)) {}
    const batches: Parcel[][] = []
    for (let from = 0; from < this.#waiting.count; from += batches.at(-1)?.length ?? 1) {
      batches.push(this.#waiting.batchFrom(from, limits))
    }
    const sent = batches.length === 0 ? 0 : send(batches)
    for (const batch of batches.slice(0, sent)) this.#waiting.settled(batch)
  }

  /** Nothing is taken any more. What is on disk stays there; what is not is lost. */
  closeAtExit(): void {
    this.#close()
  }

  #close(): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    clearInterval(this.#lookTimer)
    if (this.#disk !== undefined) {
      this.#disk.spool.tryAtLast()
      this.#waiting.leaveAll(this.#disk.spool)
    }
    const { onlyHere } = this.#waiting
    this.#neverSent += onlyHere
    this.#keptOnDisk = this.#pending - onlyHere
    this.#closed = true
    this.#waiting.clear()
    this.#disk?.spool.close()
    this.#disk?.leftovers.close()
  }

  get #pending(): number {
    return this.#waiting.count + (this.#closed ? 0 : (this.#disk?.spool.unreadCount ?? 0))
  }

  #write(span: ReadableSpan, spool: Spool): void {
    this.#waiting.place(spool)
    const written = spool.ended(span)
    this.#waiting.addWritten(this.#keepsSpans ? withSpan(written, span) : written, spool)
  }

  #look(): void {
    if (this.#closed || this.#disk === undefined) return
    const { spool, leftovers } = this.#disk
    if (spool.isRemoved()) this.#waiting.unplace()
    else spool.tryAgain()
    this.#waiting.place(spool)
    if (leftovers.look(spool.path)) this.#schedule(0)
  }

  #schedule(delayMs: number): void {
    if (this.#sending !== undefined || this.#closed) return
    // A longer one would overflow, and fire at once, again and again.
    const wait = Math.min(Math.max(delayMs, this.#delivery.backoffMs), MAX_TIMER_MS)
    if (this.#timer !== undefined) {
      if (wait > 0 || this.#isDue) return
      clearTimeout(this.#timer)
    }
    this.#isDue = wait === 0
    this.#timer = setTimeout(() => void this.#run(), wait)
    // A process that is done is not held by spans; beforeExit sends them.
    unref(this.#timer)
  }

  async #run(): Promise<void> {
    this.#timer = undefined
    if (this.#closed) return
    this.#sentLeftover = false
    const isSettled = await this.#sendNext()
    const goesOn =
      this.#pending >= this.#settings.maxBatchSpans ||
      this.#sentLeftover ||
      this.#disk?.leftovers.isAtWork === true
    if (isSettled && goesOn) return this.#schedule(0)
    if (this.#pending > 0 || this.#delivery.backoffMs > 0) this.#schedule(this.#settings.delayMs)
  }

  /** Sends one request's worth. True when it was settled, and the next may follow. */
  #sendNext(): Promise<boolean> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #send(): Promise<boolean> {
    const own = this.#nextBatch()
    if (own.length > 0) {
      this.#waiting.takeOff(own.length)
      const isSettled = await this.#delivery.send(own, this.#own)
      this.#waiting.landed()
      if (!isSettled && this.#delivery.isHopeless) this.#giveUp()
      return isSettled
    }
    const { leftovers, spool } = this.#disk ?? {}
    if (!leftovers?.look(spool?.path)) return false
    this.#sentLeftover = true
    const left = leftovers.next(this.#delivery.limits)
    return left.length === 0 || this.#delivery.send(left, this.#left)
  }

  #nextBatch(): Parcel[] {
    if (this.#closed) return []
    const { limits } = this.#delivery
    if (this.#waiting.count === 0) this.#waiting.readBack(limits)
    return this.#waiting.batchFrom(0, limits)
  }

  readonly #own: ParcelSource = {
    settled: (parcels) => this.#waiting.settled(parcels),
    refused: (parcel, why) => this.#setAside(parcel, why),
  }

  readonly #left: ParcelSource = {
    settled: (parcels) => this.#disk?.leftovers.settled(parcels),
    refused: (parcel, why) => this.#setAside(parcel, why),
  }

  #setAside(parcel: Parcel, why: string): boolean {
    if (this.#disk === undefined) return false
    guard(() => this.#disk?.setAside.add(why, jsonRequest([spanOf(parcel)]).toString()))
    return true
  }

  /** What waits in memory waits for nothing. */
  #giveUp(): void {
    const count = this.#waiting.drop()
    if (count === 0) return
    this.#tell(
      `${count} spans were dropped: ${this.#delivery.lastError}. Nothing else was answered for a while.`,
    )
  }

  #tell(message: string): void {
    guard(() => this.#settings.onTrouble(message))
  }
}

/** The bytes are on disk, where the sender does not need them. */
function withSpan({ bytes, size, place }: Parcel, span: ReadableSpan): Parcel {
  return place === undefined ? { span, ...(bytes && { bytes }), size } : { span, size, place }
}

function isSampled(span: ReadableSpan): boolean {
  return (span.spanContext().traceFlags & 1) === 1
}

function guard(fn: () => void): void {
  try {
    fn()
  } catch {
    // What watches spans must not reach whoever ends them; the queue's own counters tell what was lost.
  }
}
