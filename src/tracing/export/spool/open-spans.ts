import { headOf } from '../otlp-json.ts'
import type { ReadableSpan } from '../types.ts'
import { startedText } from './records.ts'

export interface OpenSpan {
  readonly head: string
  readonly text: string
  /** Where on disk it is told of; undefined while the disk takes nothing. */
  segment: number | undefined
}

/** Of an application that never ends its spans, so many are remembered. */
const MAX_OPEN = 100_000

/** The spans that have started and not ended, as they are told of on disk. */
export class OpenSpans {
  readonly #spans = new Map<string, OpenSpan>()
  #chars = 0

  /** About how much disk they need. */
  get chars(): number {
    return this.#chars
  }

  add(span: ReadableSpan): OpenSpan | undefined {
    if (this.#spans.size >= MAX_OPEN) return undefined
    const open = { head: headOf(span), text: startedText(span), segment: undefined }
    this.#chars += open.text.length
    this.#spans.set(span.spanContext().spanId, open)
    return open
  }

  remove(span: ReadableSpan): void {
    const { spanId } = span.spanContext()
    const open = this.#spans.get(spanId)
    if (open === undefined) return
    this.#spans.delete(spanId)
    this.#chars -= open.text.length
  }

  /** Those that no segment after that one tells of. */
  *notAfter(segment: number): Generator<OpenSpan> {
    for (const open of this.#spans.values()) if ((open.segment ?? 0) <= segment) yield open
  }
}
