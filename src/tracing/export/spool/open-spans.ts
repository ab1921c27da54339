import type { StartedBytes } from '../started-bytes.ts'
import type { ReadableSpan } from '../types.ts'

export interface OpenSpan {
  readonly started: StartedBytes
  /** Where on disk it is told of; undefined while the disk takes nothing. */
  segment: number | undefined
}

/** Of an application that never ends its spans, so many are remembered. */
const MAX_OPEN = 100_000

/** The spans that have started and not ended, as they are told of on disk. */
export class OpenSpans {
  readonly #spans = new Map<string, OpenSpan>()
  #bytes = 0

  /** About how much disk they need. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether no more are remembered. */
  get isFull(): boolean {
    return this.#spans.size >= MAX_OPEN
  }

  add(spanId: string, open: OpenSpan): void {
    this.#bytes += open.started.bytes.length
    this.#spans.set(spanId, open)
  }

  /** What was told of it, until now. */
  remove(span: ReadableSpan): OpenSpan | undefined {
    const { spanId } = span.spanContext()
    const open = this.#spans.get(spanId)
    if (open === undefined) return undefined
    this.#spans.delete(spanId)
    this.#bytes -= open.started.bytes.length
    return open
  }

  /** Those that no segment after that one tells of. */
  *notAfter(segment: number): Generator<OpenSpan> {
    for (const open of this.#spans.values()) if ((open.segment ?? 0) <= segment) yield open
  }
}
