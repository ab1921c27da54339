import { type SpanSender, sizeOf } from './parcel.ts'
import type { SpanSink } from './span-queue.ts'
import { snapshotSpan } from './start-snapshot.ts'
import type { ReadableSpan } from './types.ts'
import { untraced } from './untraced.ts'

/** How long started spans are collected before they are sent. */
const GATHER_MS = 100
/** Nobody answered: a viewer may be started later, or was too busy. Asked again at the next start after so long. */
const ASK_AGAIN_MS = 5_000

/**
 * Sends spans at their start, so that a run is visible while it goes on. Only to our own viewer, which says what it
 * is at `/v1/hookspan`: other backends would show such a span beside the ended one.
 */
export class ViewerLink implements SpanSink {
  readonly #sender: SpanSender
  readonly #tracesUrl: string
  #live = false
  #asking = false
  #askAtMs = 0
  #waiting = new Map<string, ReadableSpan>()
  /** Those of them that another process ends. */
  readonly #parked = new WeakSet<ReadableSpan>()
  #timer: NodeJS.Timeout | undefined

  constructor(sender: SpanSender, tracesUrl: string) {
    this.#sender = sender
    this.#tracesUrl = tracesUrl
    this.#asking = true
    // The SDK, which starts next, brings what hides the request from its instrumentations.
    queueMicrotask(() => void untraced(() => this.#ask()))
  }

  async #ask(): Promise<void> {
    this.#asking = true
    try {
      const answer = await fetch(new URL('/v1/hookspan', this.#tracesUrl), {
        signal: AbortSignal.timeout(1_000),
      })
      // Who answers and is no viewer is another backend, and left in peace.
      this.#askAtMs = Number.POSITIVE_INFINITY
      const { name } = (await answer.json()) as { name?: unknown }
      this.#live = name === 'hookspan-viewer'
    } catch {
      if (this.#askAtMs !== Number.POSITIVE_INFINITY) this.#askAtMs = performance.now() + ASK_AGAIN_MS
    }
    if (!this.#live) this.#waiting.clear()
    this.#asking = false
    // A run that began with its process waited for the answer.
    if (this.#live && this.#timer === undefined) this.#flush()
  }

  started(span: ReadableSpan): void {
    if (!this.#live && !this.#asking) {
      if (performance.now() < this.#askAtMs) return
      void untraced(() => this.#ask())
    }
    if (!this.#live && this.#waiting.size >= 1_000) return
    this.#waiting.set(span.spanContext().spanId, span)
    this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS)
    this.#timer.unref()
  }

  /** A span that ended before it was shown needs no snapshot. */
  ended(span: ReadableSpan): void {
    this.#waiting.delete(span.spanContext().spanId)
  }

  /** It is shown as it is now, until another process ends it. */
  handedOver(span: ReadableSpan): void {
    this.started(span)
    this.#parked.add(span)
  }

  #flush(): void {
    this.#timer = undefined
    if (this.#asking) return
    if (!this.#live) {
      this.#waiting.clear()
      return
    }
    const parcels = [...this.#waiting.values()].map((span) => ({
      span: snapshotSpan(span, this.#parked.has(span) ? 'parked' : 'started'),
      size: sizeOf(span),
    }))
    this.#waiting.clear()
    if (parcels.length > 0) void untraced(() => this.#sender.send(parcels))
  }
}
