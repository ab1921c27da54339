/** A run as it is when it is read, and its spans one by one. */
import type { InTurns } from '../model/in-turns.ts'
import type { RunSummary, SpanRecord, SpanRow } from '../model/span.ts'
import type { Reader, RunKey } from './reader.ts'
import type { SpanReader } from './span-reader.ts'
import type { Summaries } from './summaries.ts'

export interface StoredRunSpans {
  summary: RunSummary
  rows: SpanRow[]
  /** Ask with it for what changed since. */
  seq: number
}

/** A run with its whole spans, as they were when it was read. */
export interface StoredRun extends StoredRunSpans {
  open(spanId: string): SpanRecord | undefined
  /** In order of start. */
  records(): Generator<SpanRecord>
}

/** `undefined` where it was removed meanwhile. */
export function* readingRun(
  { reader, spans, summaries }: { reader: Reader; spans: SpanReader; summaries: Summaries },
  run: RunKey,
  sinceSeq: number,
  nowMs: number,
): InTurns<StoredRun | undefined> {
  const read = yield* spans.rows(run, nowMs, sinceSeq)
  const summary = run.dirty ? yield* summaries.of(run, nowMs) : reader.summary(run)
  if (!summary) return undefined
  return {
    summary,
    rows: read.rows,
    seq: read.seq,
    open(spanId) {
      const stored = read.spans.get(spanId)
      return stored && spans.open(run.id, stored)
    },
    *records() {
      for (const stored of read.spans.ordered()) {
        const record = spans.open(run.id, stored)
        if (record) yield record
      }
    },
  }
}
