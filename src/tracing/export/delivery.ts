import type { Answer, Failure, Parcel, RequestLimits, SpanSender } from './parcel.ts'
import { explain } from './trouble.ts'
import { untraced } from './untraced.ts'

/** Where parcels come from. */
export interface ParcelSource {
  /** The oldest of those under way are delivered, or given up: they need not be kept any more. */
  settled(parcels: readonly Parcel[]): void
  /** One of them will be taken by nobody. Called before it is settled. True when it is kept elsewhere. */
  refused(parcel: Parcel, why: string): boolean
}

export interface DeliveryOptions {
  readonly maxBatchSpans: number
  readonly maxBatchChars: number
  /** Milliseconds of answers that no spans are taken there, after which it is believed. */
  readonly giveUpAfterMs: number
  /** Of what waits, for what is told: how many spans, and where they are. */
  readonly kept: () => string
  readonly onTrouble: (message: string) => void
}

const FIRST_BACKOFF_MS = 500
const LONGEST_BACKOFF_MS = 15_000
/** So many spans refused one after the other, and the reason may lie with the collector: no hurry to ask on. */
const HURRIED_REFUSALS = 8
/** How fast requests grow again after one was too large. */
const GROWTH = 1.1

/** Hands parcels to the sender, finds those that the collector refuses, and tells of trouble once until it is over. */
export class Delivery {
  readonly #sender: SpanSender
  readonly #options: DeliveryOptions
  #exported = 0
  #dropped = 0
  #rejected = 0
  #lastError: string | undefined
  #backoffMs = 0
  #maxChars: number
  #refusedInARow = 0
  #unwantedSince: number | undefined
  #toldPartial = false

  constructor(sender: SpanSender, options: DeliveryOptions) {
    this.#sender = sender
    this.#options = options
    this.#maxChars = options.maxBatchChars
  }

  get exported(): number {
    return this.#exported
  }

  /** Refused, or not taken although their request was. */
  get dropped(): number {
    return this.#dropped
  }

  get rejected(): number {
    return this.#rejected
  }

  /** Until something was sent again. */
  get lastError(): string | undefined {
    return this.#lastError
  }

  /** How long to wait before the next try. 0 after a success. */
  get backoffMs(): number {
    return this.#backoffMs
  }

  /** The collector has said for long enough that it takes no spans there, or not like this. */
  get isHopeless(): boolean {
    const { giveUpAfterMs } = this.#options
    return this.#unwantedSince !== undefined && performance.now() - this.#unwantedSince >= giveUpAfterMs
  }

  get limits(): RequestLimits {
    return { spans: this.#options.maxBatchSpans, chars: this.#maxChars }
  }

  /** True when all of them are settled. Never rejects. */
  async send(parcels: readonly Parcel[], source: ParcelSource): Promise<boolean> {
    const trouble = await this.#send(parcels, source)
    if (trouble !== undefined) this.#failed(trouble)
    return trouble === undefined
  }

  async #send(parcels: readonly Parcel[], source: ParcelSource): Promise<Answer | undefined> {
    const answer = await untraced(() => this.#sender.send(parcels))
    if (answer.state === 'accepted') {
      source.settled(parcels)
      this.#accepted(parcels.length, answer)
      return undefined
    }
    if (answer.state !== 'refused') return answer
    if (parcels.length === 1) return this.#refused(parcels[0] as Parcel, answer, source)
    const middle = Math.ceil(parcels.length / 2)
    if (answer.status === 413) {
      this.#maxChars = Math.max(
        1,
        parcels.slice(0, middle).reduce((sum, { size }) => sum + size, 0),
      )
    }
    return (
      (await this.#send(parcels.slice(0, middle), source)) ??
      (await this.#send(parcels.slice(middle), source))
    )
  }

  #accepted(count: number, { rejected, message }: Extract<Answer, { state: 'accepted' }>): void {
    const lost = Math.min(rejected, count)
    this.#exported += count - lost
    this.#dropped += lost
    this.#rejected += lost
    this.#backoffMs = 0
    this.#refusedInARow = 0
    this.#unwantedSince = undefined
    this.#maxChars = Math.min(this.#maxChars * GROWTH, this.#options.maxBatchChars)
    if (this.#lastError !== undefined) this.#tell('Spans are delivered again.')
    this.#lastError = undefined
    this.#tellPartial(count, lost, message)
  }

  #tellPartial(count: number, lost: number, message: string | undefined): void {
    const isPartial = lost > 0 || message !== undefined
    const why = message === undefined ? '' : `: ${message}`
    if (isPartial && !this.#toldPartial) {
      this.#tell(
        lost > 0
          ? `The collector took a request and rejected ${lost} of its ${count} spans${why}. They are lost.`
          : `The collector took ${count} spans with a warning${why}.`,
      )
    }
    this.#toldPartial = isPartial
  }

  /** One span the collector refuses does not hold up its neighbours. */
  #refused(
    parcel: Parcel,
    answer: Extract<Answer, { state: 'refused' }>,
    source: ParcelSource,
  ): Failure | undefined {
    const isKept = source.refused(parcel, answer.message)
    source.settled([parcel])
    this.#dropped++
    if (this.#lastError === undefined) this.#tell(explain(answer, { isKept }))
    this.#lastError = answer.message
    return ++this.#refusedInARow > HURRIED_REFUSALS ? { state: 'failed', message: answer.message } : undefined
  }

  #failed(answer: Answer): void {
    if (answer.state === 'unwanted') this.#unwantedSince ??= performance.now()
    else this.#unwantedSince = undefined
    const wanted = answer.state === 'failed' ? (answer.retryAfterMs ?? 0) : 0
    this.#backoffMs = Math.max(
      wanted,
      Math.min(Math.max(this.#backoffMs * 2, FIRST_BACKOFF_MS), LONGEST_BACKOFF_MS),
    )
    if (this.#lastError === undefined) this.#tell(`${explain(answer)} ${this.#options.kept()}`)
    this.#lastError = answer.message ?? ''
  }

  #tell(message: string): void {
    this.#options.onTrouble(message)
  }

  shutdown(): Promise<void> {
    return this.#sender.shutdown()
  }
}
