/** Reads the spans of runs out of the chunks they came in. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { SpanRecord, SpanRow } from '../model/span.ts'
import { logAsEvent, plainSpan } from '../otlp/plain.ts'
import type { OtlpLogRecord, OtlpResource, OtlpScope, OtlpSpan } from '../otlp/types.ts'
import { type Chunk, type ChunkBody, openChunk } from './chunk.ts'
import { mayStillEnd } from './liveness.ts'
import { Origins } from './origins.ts'
import { RunSpans, type StoredSpan } from './run-spans.ts'

/** Runs that were read lately stay in memory, as they are often asked for again: a live one several times a second. */
const KEPT_SPANS = 20_000
/** Spans are opened in their order mostly: the next one is in the same chunk. */
const KEPT_CHUNKS = 8

export interface OtlpSpanWithOrigin {
  originId: number
  resource: OtlpResource
  scope: OtlpScope
  span: OtlpSpan
}

interface ReadRun {
  id: number
  receivedMs: number
}

export class SpanReader {
  readonly #chunksOf: StatementSync
  readonly #chunk: StatementSync
  readonly #logs: StatementSync
  readonly #allLogs: StatementSync
  readonly #origins: Origins
  readonly #runs = new Map<number, RunSpans>()
  readonly #chunks = new Map<number, Chunk>()

  constructor(db: DatabaseSync) {
    this.#chunksOf = db.prepare('SELECT id, origin, body FROM chunk WHERE run = ? AND id > ? ORDER BY id')
    this.#chunk = db.prepare('SELECT body FROM chunk WHERE id = ?')
    this.#logs = db.prepare('SELECT payload FROM log WHERE run = ? AND span_id = ? ORDER BY id')
    this.#allLogs = db.prepare('SELECT payload FROM log WHERE run = ? ORDER BY id')
    this.#origins = new Origins(db)
  }

  /** To be called when runs were removed. */
  forget(): void {
    this.#runs.clear()
    this.#chunks.clear()
  }

  spansOf(runId: number): RunSpans {
    const run = this.#runs.get(runId) ?? new RunSpans()
    const added = this.#chunksOf.all(runId, run.seq) as unknown as StoredChunk[]
    for (const { id, origin, body } of added)
      run.add(id, openChunk(body), origin, this.#origins.get(origin).service)
    // Put last: the first are given up first.
    this.#runs.delete(runId)
    this.#runs.set(runId, run)
    if (added.length > 0) this.#shrink()
    return run
  }

  rows(run: ReadRun, nowMs: number, sinceSeq = 0): { rows: SpanRow[]; seq: number } {
    const spans = this.spansOf(run.id)
    // A recording sent today is not running today: what counts is when its newest span was.
    const silentMs = nowMs - Math.min(run.receivedMs, spans.newestUs / 1000)
    const rows: SpanRow[] = []
    for (const span of spans.ordered()) if (span.chunk > sinceSeq) rows.push(this.#row(span, silentMs))
    return { rows, seq: Math.max(spans.seq, sinceSeq) }
  }

  #row({ row, origin }: StoredSpan, silentMs: number): SpanRow {
    if (row.endUs > 0 || mayStillEnd(this.#origins.get(origin).resource, silentMs)) return row
    return { ...row, state: 'interrupted' }
  }

  /** The whole span, its logs among its events. */
  span(runId: number, spanId: string): SpanRecord | undefined {
    const stored = this.spansOf(runId).get(spanId)
    return stored && this.#record(runId, stored)
  }

  *records(runId: number): Generator<SpanRecord> {
    for (const stored of this.spansOf(runId).ordered()) yield this.#record(runId, stored)
  }

  /** The spans as they were sent, for export. */
  *otlpSpans(runId: number): Generator<OtlpSpanWithOrigin> {
    for (const stored of this.spansOf(runId).ordered()) {
      const { otlpResource, otlpScope } = this.#origins.get(stored.origin)
      yield {
        originId: stored.origin,
        resource: otlpResource,
        scope: otlpScope,
        span: this.chunk(stored.chunk).span(stored.index),
      }
    }
  }

  otlpLogs(runId: number): OtlpLogRecord[] {
    return logRecords(this.#allLogs.all(runId))
  }

  chunk(id: number): Chunk {
    const known = this.#chunks.get(id)
    if (known) return known
    const { body } = this.#chunk.get(id) as unknown as { body: ChunkBody }
    const chunk = openChunk(body)
    if (this.#chunks.size >= KEPT_CHUNKS) this.#chunks.delete(this.#chunks.keys().next().value!)
    this.#chunks.set(id, chunk)
    return chunk
  }

  #record(runId: number, { origin, chunk, index }: StoredSpan): SpanRecord {
    const { otlpResource, otlpScope } = this.#origins.get(origin)
    const record = plainSpan(this.chunk(chunk).span(index), otlpResource, otlpScope)
    const logs = logRecords(this.#logs.all(runId, record.spanId))
    for (const log of logs) record.events.push(logAsEvent(log))
    if (logs.length > 0) record.events.sort((a, b) => a.timeUs - b.timeUs)
    return record
  }

  #shrink(): void {
    let kept = 0
    for (const run of this.#runs.values()) kept += run.size
    for (const [id, run] of this.#runs) {
      if (kept <= KEPT_SPANS || this.#runs.size === 1) return
      this.#runs.delete(id)
      kept -= run.size
    }
  }
}

interface StoredChunk {
  id: number
  origin: number
  body: ChunkBody
}

function logRecords(rows: unknown[]): OtlpLogRecord[] {
  return (rows as { payload: string }[]).map((row) => JSON.parse(row.payload) as OtlpLogRecord)
}
