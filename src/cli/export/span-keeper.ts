import type { ReadableSpan, SpanProcessor } from '../../tracing/index.ts'

/** Keeps the ended spans of each trace until they are taken. */
export class SpanKeeper implements SpanProcessor {
  readonly #traces = new Map<string, ReadableSpan[]>()

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    const { traceId } = span.spanContext()
    const spans = this.#traces.get(traceId)
    if (spans === undefined) this.#traces.set(traceId, [span])
    else spans.push(span)
  }

  /** The spans of a trace; they are kept no longer. */
  take(traceId: string): ReadableSpan[] {
    const spans = this.#traces.get(traceId) ?? []
    this.#traces.delete(traceId)
    return spans
  }

  async forceFlush(): Promise<void> {}

  async shutdown(): Promise<void> {
    this.#traces.clear()
  }
}
