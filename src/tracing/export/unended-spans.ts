import { copySpan } from './start-snapshot.ts'
import type { ReadableSpan } from './types.ts'

/** Of more runs at once, the spans of the first are told. */
const MAX_UNENDED = 100_000

/**
 * Spans of hookspan's own that have started and not ended, for the end of tracing: a trace must not lack its root because its
 * run goes on longer. Spans of others may never be ended, and would be held for ever; those of a run end with it.
 */
export class UnendedSpans {
  readonly #spans = new Map<string, ReadableSpan>()
  readonly #told = new Set<string>()

  add(span: ReadableSpan): void {
    const { name } = span.instrumentationScope as { name?: unknown }
    if (name === 'hookspan' && this.#spans.size < MAX_UNENDED) {
      this.#spans.set(span.spanContext().spanId, span)
    }
  }

  remove(span: ReadableSpan): void {
    this.#spans.delete(span.spanContext().spanId)
  }

  /** As interrupted now, the youngest first: children before their parents. */
  take(): ReadableSpan[] {
    const spans = [...this.#spans.values()].reverse()
    this.#spans.clear()
    const now = Date.now()
    return spans.map((span) => {
      this.#told.add(span.spanContext().spanId)
      return { ...copySpan(span, 'interrupted', now), events: span.events }
    })
  }

  /** Whether it was told as interrupted: its end comes too late. */
  wasTaken(span: ReadableSpan): boolean {
    return this.#told.size > 0 && this.#told.has(span.spanContext().spanId)
  }
}
