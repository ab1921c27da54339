/** Reads the spans of runs out of the chunks they came in. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { OtlpLogRecord, OtlpResource, OtlpScope, OtlpSpan } from '../../internal/otlp/types.ts'
import type { InTurns } from '../model/in-turns.ts'
import type { SpanRecord, SpanRow } from '../model/span.ts'
import { logAsEvent, plainSpan } from '../otlp/plain.ts'
import { type Chunk, type ChunkBody, openChunk } from './chunk.ts'
import { mayStillEnd } from './liveness.ts'
import { Origins } from './origins.ts'
import { RunSpans, type StoredSpan } from './run-spans.ts'

/** Runs that were read lately stay in memory, as they are often asked for again: a live one several times a second. */
const KEPT_SPANS = 20_000
/** Spans are opened in their order mostly: the next one is in the same chunk. */
const KEPT_CHUNKS = 8
/** More logs of one span are kept, not shown. */
const MAX_LOGS = 10_000
const ROWS_AT_ONCE = 4096

export interface OtlpSpanWithOrigin {
  originId: number
  resource: OtlpResource
  scope: OtlpScope
  span: OtlpSpan
}

export interface RowsOfRun {
  rows: SpanRow[]
  /** Ask with it for what changed since, and what has not ended. */
  seq: number
  /** Since when nothing of it was heard, in milliseconds. */
  silentMs: number
  spans: RunSpans
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
  /** Spans of those. */
  #kept = 0
  readonly #chunks = new Map<number, Chunk>()

  constructor(db: DatabaseSync) {
    this.#chunksOf = db.prepare('SELECT id, origin FROM chunk WHERE run = ? AND id > ? ORDER BY id')
    this.#chunk = db.prepare('SELECT body FROM chunk WHERE id = ?')
    this.#logs = db.prepare('SELECT payload FROM log WHERE run = ? AND span_id = ? ORDER BY id LIMIT ?')
    this.#allLogs = db.prepare('SELECT payload FROM log WHERE run = ? ORDER BY id')
    this.#origins = new Origins(db)
  }

  /** To be called when runs were removed. */
  forget(): void {
    this.#runs.clear()
    this.#kept = 0
    this.#chunks.clear()
  }

  *spansOf(runId: number): InTurns<RunSpans> {
    const run = this.#runs.get(runId) ?? new RunSpans()
    // Put last: the first are given up first.
    this.#runs.delete(runId)
    this.#runs.set(runId, run)
    const added = this.#chunksOf.all(runId, run.seq) as { id: number; origin: number }[]
    for (const { id, origin } of added) {
      yield
      // Somebody else may have read on meanwhile; what was removed is not missed.
      const chunk = id > run.seq ? this.chunk(id) : undefined
      if (!chunk) continue
      const before = run.size
      run.add(id, chunk, origin, this.#origins.get(origin).service)
      if (this.#runs.get(runId) === run) this.#kept += run.size - before
    }
    if (added.length > 0) this.#shrink()
    return run
  }

  *rows(run: ReadRun, nowMs: number, sinceSeq = 0): InTurns<RowsOfRun> {
    const spans = yield* this.spansOf(run.id)
    const { seq } = spans
    // A recording sent today is not running today: what counts is when its newest span was.
    const silentMs = nowMs - Math.min(run.receivedMs, spans.newestUs / 1000)
    const rows: SpanRow[] = []
    const alive = new Map<number, boolean>()
    for (const { chunk, row, origin } of spans.ordered()) {
      // Of what goes on it may be news that its process died.
      if (chunk <= sinceSeq && row.endUs > 0) continue
      if (row.endUs === 0 && !alive.has(origin))
        alive.set(origin, mayStillEnd(this.#origins.get(origin).resource, silentMs))
      // A run that waits does not die with the process that parked it.
      const lives = row.endUs > 0 || row.outcome === 'waiting' || alive.get(origin)
      rows.push(lives ? row : { ...row, state: 'interrupted' })
      if (rows.length % ROWS_AT_ONCE === 0) yield
    }
    return { rows, seq: Math.max(seq, sinceSeq), silentMs, spans }
  }

  /** The span as it was sent: without its logs, which take a query. */
  openSent({ origin, chunk, index }: StoredSpan): SpanRecord | undefined {
    const span = this.chunk(chunk)?.span(index)
    const { otlpResource, otlpScope } = this.#origins.get(origin)
    return span && plainSpan(span, otlpResource, otlpScope)
  }

  /** The whole span, its logs among its events. */
  open(runId: number, stored: StoredSpan): SpanRecord | undefined {
    const record = this.openSent(stored)
    if (!record) return undefined
    const logs = logRecords(this.#logs.all(runId, record.spanId, MAX_LOGS))
    for (const log of logs) record.events.push(logAsEvent(log))
    if (logs.length > 0) record.events.sort((a, b) => a.timeUs - b.timeUs)
    return record
  }

  /** Of the spans as they were sent, of one category or all, unpacked; counted no further than past `most`. */
  *size(spans: RunSpans, category: SpanRow['category'] | undefined, most: number): InTurns<number> {
    let bytes = 0
    for (const { row, chunk, index } of spans.ordered()) {
      if (category !== undefined && row.category !== category) continue
      yield
      bytes += this.chunk(chunk)?.sizeOf(index) ?? 0
      if (bytes > most) break
    }
    return bytes
  }

  /** The spans as they were sent, for export. */
  *otlpSpans(spans: RunSpans): Generator<OtlpSpanWithOrigin> {
    for (const stored of spans.ordered()) {
      const { otlpResource, otlpScope } = this.#origins.get(stored.origin)
      const span = this.chunk(stored.chunk)?.span(stored.index)
      if (span) yield { originId: stored.origin, resource: otlpResource, scope: otlpScope, span }
    }
  }

  otlpLogs(runId: number): OtlpLogRecord[] {
    return logRecords(this.#allLogs.all(runId))
  }

  /** `undefined` for one that is gone. */
  chunk(id: number): Chunk | undefined {
    const known = this.#chunks.get(id)
    if (known) return known
    const chunk = this.#open(id)
    if (!chunk) return undefined
    if (this.#chunks.size >= KEPT_CHUNKS) this.#chunks.delete(this.#chunks.keys().next().value!)
    this.#chunks.set(id, chunk)
    return chunk
  }

  #open(id: number): Chunk | undefined {
    const stored = this.#chunk.get(id) as { body: ChunkBody } | undefined
    return stored && openChunk(stored.body)
  }

  #shrink(): void {
    for (const [id, run] of this.#runs) {
      if (this.#kept <= KEPT_SPANS || this.#runs.size === 1) return
      this.#runs.delete(id)
      this.#kept -= run.size
    }
  }
}

function logRecords(rows: unknown[]): OtlpLogRecord[] {
  return (rows as { payload: string }[]).map((row) => JSON.parse(row.payload) as OtlpLogRecord)
}
