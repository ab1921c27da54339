import { unref } from '../../internal/async.ts'
import { type SpanSender, sizeOf } from './parcel.ts'
import type { SpanSink } from './span-queue.ts'
import { snapshotSpan } from './start-snapshot.ts'
import type { ReadableSpan } from './types.ts'
import { untraced } from './untraced.ts'

/** How long started spans are collected before they are sent. */
const GATHER_MS = 100
/** Nobody answered: a viewer may be started later, or was too busy. It is asked again while there are open spans to show. */
const ASK_AGAIN_MS = 5_000
/** The viewer was there a moment ago, and did not take what was sent. */
const SEND_AGAIN_MS = 1_000
/** Spans that wait to be shown. The oldest stay: a run is nothing without its beginning. */
const MAX_WAITING = 1_000
/** Those of them that no end of theirs takes away again. */
const MAX_PARKED = 100

/**
 * Sends spans at their start, so that a run is visible while it goes on. Only to our own viewer, which says what it
 * is at `/v1/hookspan`: other backends would show such a span beside the ended one. What is not taken is sent again
 * until it is, or has ended.
 */
export class ViewerLink implements SpanSink {
  readonly #sender: SpanSender
  readonly #tracesUrl: string
  #answered: 'not yet' | 'by a viewer' | 'by another' = 'not yet'
  /** A request is under way. */
  #busy = false
  #askAtMs = 0
  readonly #waiting = new Map<string, { span: ReadableSpan; sinceMs: number }>()
  /** Ids of those that another process ends. */
  readonly #parked = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(sender: SpanSender, tracesUrl: string) {
    this.#sender = sender
    this.#tracesUrl = tracesUrl
    this.#busy = true
    // The SDK, which starts next, brings what hides the request from its instrumentations.
    queueMicrotask(() => void untraced(() => this.#ask()))
  }

  started(span: ReadableSpan): void {
    if (this.#answered === 'by another' || this.#waiting.size >= MAX_WAITING) return
    this.#waiting.set(span.spanContext().spanId, { span, sinceMs: Date.now() })
    this.#later(GATHER_MS)
  }

  /** A span that ended before it was shown needs no snapshot. */
  ended(span: ReadableSpan): void {
    // Mostly so: nobody shows them, and an id is not hashed in vain.
    if (this.#waiting.size > 0 || this.#parked.size > 0) this.#forget(span.spanContext().spanId)
  }

  /** It is shown as it is now, until another process ends it. */
  handedOver(span: ReadableSpan): void {
    if (this.#answered === 'by another') return
    const { spanId } = span.spanContext()
    const [oldest] = this.#parked
    if (oldest !== undefined && this.#parked.size >= MAX_PARKED) this.#forget(oldest)
    this.#parked.add(spanId)
    this.started(span)
  }

  #forget(spanId: string): void {
    this.#waiting.delete(spanId)
    this.#parked.delete(spanId)
  }

  #later(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      if (!this.#busy && this.#waiting.size > 0) void untraced(() => this.#go())
    }, ms)
    unref(this.#timer)
  }

  async #go(): Promise<void> {
    if (this.#answered === 'by a viewer') return this.#send()
    const waitMs = this.#askAtMs - performance.now()
    if (waitMs > 0) this.#later(Math.min(waitMs, ASK_AGAIN_MS))
    else await this.#ask()
  }

  async #ask(): Promise<void> {
    this.#busy = true
    try {
      const answer = await fetch(new URL('/v1/hookspan', this.#tracesUrl), {
        signal: AbortSignal.timeout(1_000),
      })
      // Who answers and is no viewer is another backend, and left in peace.
      this.#answered = 'by another'
      const { name } = (await answer.json()) as { name?: unknown }
      if (name === 'hookspan-viewer') this.#answered = 'by a viewer'
    } catch {
      this.#askAtMs = performance.now() + ASK_AGAIN_MS
    }
    if (this.#answered === 'by another') {
      this.#waiting.clear()
      this.#parked.clear()
    }
    this.#busy = false
    // A run that began with its process waited for the answer.
    if (this.#waiting.size > 0) this.#later(this.#answered === 'by a viewer' ? 0 : ASK_AGAIN_MS)
  }

  async #send(): Promise<void> {
    const sent = [...this.#waiting].map(([id, one]) => ({ id, ...one, isParked: this.#parked.has(id) }))
    const parcels = sent.map(({ span, sinceMs, isParked }) => ({
      span: snapshotSpan(span, isParked ? 'parked' : 'started', sinceMs),
      size: sizeOf(span),
    }))
    this.#busy = true
    const { state } = await this.#sender.send(parcels)
    this.#busy = false
    if (state === 'failed') {
      this.#answered = 'not yet'
      this.#askAtMs = 0
      return this.#later(SEND_AGAIN_MS)
    }
    for (const { id, isParked } of sent) {
      // What was handed over meanwhile has yet to be shown as such.
      if (this.#parked.has(id) === isParked) this.#forget(id)
    }
    if (this.#waiting.size > 0) this.#later(GATHER_MS)
  }
}
