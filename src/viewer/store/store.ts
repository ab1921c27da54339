/** The viewer's store: one SQLite database, written as spans arrive, summarised and indexed in idle moments. */
import type { DatabaseSync } from 'node:sqlite'
import type { RunSummary, SpanRecord, SpanRow } from '../model/span.ts'
import { summarise } from '../model/summary.ts'
import type { IncomingLog, IncomingSpan } from '../otlp/receive.ts'
import type { OtlpTraces } from '../otlp/types.ts'
import { exportRun } from './export.ts'
import { openDatabase } from './open-database.ts'
import { Reader, type RunKey, type RunList, runKey, type SearchHit, type StoredKey } from './reader.ts'
import { type RetentionOptions, removeRun, sweep } from './retention.ts'
import { matchQuery, TextIndex } from './text-index.ts'
import { Writer } from './writer.ts'

export interface StoreOptions extends RetentionOptions {
  /** A file, or `:memory:`. */
  file: string
}

export interface StoredRunSpans {
  summary: RunSummary
  rows: SpanRow[]
  /** Ask with it for what changed since. */
  seq: number
}

export class Store {
  readonly file: string
  readonly #db: DatabaseSync
  readonly #writer: Writer
  readonly #reader: Reader
  readonly #index: TextIndex
  readonly #retention: RetentionOptions

  constructor(options: StoreOptions) {
    this.file = options.file
    this.#retention = options
    this.#db = openDatabase(options.file)
    this.#writer = new Writer(this.#db)
    this.#reader = new Reader(this.#db)
    this.#index = new TextIndex(this.#db)
    // Runs that were open when the viewer last stopped are looked at again.
    this.#db.exec("UPDATE run SET dirty = 1 WHERE status IN ('running', 'waiting')")
  }

  addSpans(spans: readonly IncomingSpan[], nowMs: number = Date.now()): Set<string> {
    return this.#writer.writeSpans(spans, nowMs)
  }

  addLogs(logs: readonly IncomingLog[], nowMs: number = Date.now()): Set<string> {
    return this.#writer.writeLogs(logs, nowMs)
  }

  /** Summarises and indexes for about `budgetMs`; says whether there is more to do. */
  work(budgetMs: number, nowMs: number = Date.now()): boolean {
    const moreRuns = this.#summariseDirty(nowMs, budgetMs / 2)
    return this.#index.work(budgetMs / 2) || moreRuns
  }

  /** Looks again at runs that were open when last summarised, and returns those whose state changed without a new span. */
  recheckOpenRuns(nowMs: number = Date.now()): string[] {
    const open = this.#db
      .prepare(
        "SELECT id, trace_id, received_ms, dirty, status FROM run WHERE dirty = 0 AND status IN ('running', 'waiting')",
      )
      .all()
    const changed: string[] = []
    for (const row of open as unknown as (StoredKey & { status: string })[]) {
      if (this.#summarise(runKey(row), nowMs).status !== row.status) changed.push(row.trace_id)
    }
    return changed
  }

  listRuns(query: string, page: { limit: number; offset: number }, nowMs: number = Date.now()): RunList {
    this.#summariseDirty(nowMs, 1000)
    if (matchQuery(query)) this.#index.work(100)
    return this.#reader.listRuns(query, page)
  }

  run(traceId: string, sinceSeq = 0, nowMs: number = Date.now()): StoredRunSpans | undefined {
    const run = this.#reader.findRun(traceId)
    if (!run) return undefined
    const { rows, seq } = this.#reader.rows(run, nowMs, sinceSeq)
    return { summary: run.dirty ? this.#summarise(run, nowMs) : this.#reader.summary(run), rows, seq }
  }

  hasRun(traceId: string): boolean {
    return this.#reader.findRun(traceId) !== undefined
  }

  /** The trace in which a tool call of this id waits for a person, as far as it was sent. */
  waitingTraceOf(callId: string): string | undefined {
    return this.#reader.waitingTraceOf(callId)
  }

  span(traceId: string, spanId: string): SpanRecord | undefined {
    const run = this.#reader.findRun(traceId)
    return run && this.#reader.span(run, spanId)
  }

  /** Every whole span of a run, in order of start; empty for an unknown run. */
  *records(traceId: string): Generator<SpanRecord> {
    const run = this.#reader.findRun(traceId)
    if (run) yield* this.#reader.records(run)
  }

  exportRun(traceId: string): OtlpTraces | undefined {
    const run = this.#reader.findRun(traceId)
    return run && exportRun(this.#reader, run)
  }

  search(typed: string, limit: number, traceId?: string): { hits: SearchHit[]; indexing: number } {
    this.#index.work(200)
    const run = traceId ? this.#reader.findRun(traceId) : undefined
    return { hits: this.#reader.search(matchQuery(typed), limit, run), indexing: this.#index.remaining() }
  }

  /** How many spans cannot be found by searching yet. */
  get indexing(): number {
    return this.#index.remaining()
  }

  removeRun(traceId: string): boolean {
    const run = this.#reader.findRun(traceId)
    if (!run) return false
    removeRun(this.#db, run.id)
    this.#writer.forget()
    return true
  }

  /** Removes what is too old or too much; returns how many runs went. */
  sweep(nowMs: number = Date.now()): number {
    const removed = sweep(this.#db, this.#retention, nowMs)
    if (removed > 0) this.#writer.forget()
    return removed
  }

  counts(): { runs: number; spans: number; bytes: number } {
    const one = (sql: string) =>
      Number(Object.values(this.#db.prepare(sql).get() as Record<string, number>)[0] ?? 0)
    return {
      runs: one('SELECT count(*) FROM run'),
      spans: one('SELECT coalesce(max(id), 0) FROM span'),
      bytes: one('PRAGMA page_count') * one('PRAGMA page_size'),
    }
  }

  /** Lets the store grow to so many pages and no further, as a full disk would. */
  limitPages(pages: number): void {
    this.#db.exec(`PRAGMA max_page_count = ${Math.trunc(pages)}`)
  }

  close(): void {
    this.#db.close()
  }

  #summariseDirty(nowMs: number, budgetMs: number): boolean {
    const until = performance.now() + budgetMs
    const dirty = this.#db.prepare(
      'SELECT id, trace_id, received_ms, dirty FROM run WHERE dirty = 1 LIMIT 100',
    )
    for (;;) {
      const runs = dirty.all() as unknown as StoredKey[]
      if (runs.length === 0) return false
      this.#db.exec('BEGIN IMMEDIATE')
      for (const row of runs) this.#summarise(runKey(row), nowMs)
      this.#db.exec('COMMIT')
      if (performance.now() > until) return true
    }
  }

  #summarise(run: RunKey, nowMs: number): RunSummary {
    const { rows } = this.#reader.rows(run, nowMs)
    const said = this.#db
      .prepare(
        "SELECT span_id, conversation_id, reason FROM span WHERE run = ? AND (conversation_id <> '' OR reason <> '')",
      )
      .all(run.id) as { span_id: string; conversation_id: string; reason: string }[]
    const summary = summarise({
      traceId: run.traceId,
      rows,
      conversationId: said.map((row) => row.conversation_id).find(Boolean) ?? '',
      reasons: new Map(said.map((row) => [row.span_id, row.reason])),
      open: (spanId) => this.#reader.span(run, spanId),
    })
    this.#saveSummary(run.id, summary)
    return summary
  }

  #saveSummary(id: number, summary: RunSummary): void {
    this.#db
      .prepare(
        `UPDATE run SET dirty = 0, start_us = ?, end_us = ?, duration_ms = ?, status = ?, title = ?, agent = ?, service = ?,
         model = ?, conversation_id = ?, reason = ?, input_preview = ?, spans = ?, steps = ?, llm_calls = ?, tool_calls = ?,
         mocked_calls = ?, errors = ?, waiting = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?, cost_usd = ?,
         agents = ?, tools = ?, models = ? WHERE id = ?`,
      )
      .run(
        summary.startUs,
        summary.endUs,
        summary.durationMs,
        summary.status,
        summary.title,
        summary.agent,
        summary.service,
        summary.model,
        summary.conversationId,
        summary.reason,
        summary.inputPreview,
        summary.spans,
        summary.steps,
        summary.llmCalls,
        summary.toolCalls,
        summary.mockedCalls,
        summary.errors,
        summary.waiting,
        summary.inputTokens,
        summary.outputTokens,
        summary.cachedTokens,
        summary.costUsd,
        JSON.stringify(summary.agents),
        JSON.stringify(summary.tools),
        JSON.stringify(summary.models),
        id,
      )
  }
}
