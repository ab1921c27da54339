/** The viewer's store: one SQLite database, written as spans arrive, summarised and indexed in idle moments. */
import type { DatabaseSync } from 'node:sqlite'
import type { RunSummary, SpanRecord, SpanRow } from '../model/span.ts'
import { summarise } from '../model/summary.ts'
import type { IncomingLog, IncomingSpans } from '../otlp/incoming.ts'
import type { OtlpTraces } from '../otlp/types.ts'
import { exportRun } from './export.ts'
import { parseFilter } from './filter.ts'
import { openDatabase } from './open-database.ts'
import { Reader, type RunKey, type RunList, runKey, type SearchHit, type StoredKey } from './reader.ts'
import { type RetentionOptions, removeRun, sweep } from './retention.ts'
import { ASSIGNED_COLUMNS, parametersOf } from './run-columns.ts'
import type { RunSpans } from './run-spans.ts'
import { SpanReader } from './span-reader.ts'
import { TextIndex } from './text-index.ts'
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

export interface SearchResult {
  hits: SearchHit[]
  /** Spans that were not searched, as they are still being indexed. */
  indexing: number
}

export class Store {
  readonly file: string
  /** Where the file of another version went that had this one's name. */
  readonly setAside: string | undefined
  readonly #db: DatabaseSync
  readonly #writer: Writer
  readonly #spans: SpanReader
  readonly #reader: Reader
  readonly #index: TextIndex
  readonly #retention: RetentionOptions
  /** Replaced ones count until they are gone. */
  #spanCount: number

  constructor(options: StoreOptions) {
    this.file = options.file
    this.#retention = options
    const { db, setAside } = openDatabase(options.file)
    this.#db = db
    this.setAside = setAside
    this.#writer = new Writer(this.#db)
    this.#spans = new SpanReader(this.#db)
    this.#reader = new Reader(this.#db, this.#spans)
    this.#index = new TextIndex(this.#db)
    this.#spanCount = this.#countSpans()
    // Runs that were open when the viewer last stopped are looked at again.
    this.#db.exec("UPDATE run SET dirty = 1 WHERE status IN ('running', 'waiting')")
  }

  addSpans(batch: readonly IncomingSpans[], nowMs: number = Date.now()): Set<string> {
    const changed = this.#writer.writeSpans(batch, nowMs)
    for (const { count } of batch) {
      this.#spanCount += count
      this.#index.added(count)
    }
    return changed
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
    return finish(this.listing(query, page, nowMs))
  }

  /** `listRuns`, giving way to others now and then. */
  *listing(
    query: string,
    page: { limit: number; offset: number },
    nowMs: number = Date.now(),
  ): Generator<void, RunList> {
    this.#summariseDirty(nowMs, 1000)
    const words = this.#reader.words(parseFilter(query).text)
    const indexing = words.length > 0 ? yield* this.#index.reach(words) : 0
    return { ...this.#reader.listRuns(query, page), indexing }
  }

  run(traceId: string, sinceSeq = 0, nowMs: number = Date.now()): StoredRunSpans | undefined {
    const run = this.#reader.findRun(traceId)
    if (!run) return undefined
    const { rows, seq } = this.#spans.rows(run, nowMs, sinceSeq)
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
    return run && this.#spans.span(run.id, spanId)
  }

  /** Every whole span of a run, in order of start; empty for an unknown run. */
  *records(traceId: string): Generator<SpanRecord> {
    const run = this.#reader.findRun(traceId)
    if (run) yield* this.#spans.records(run.id)
  }

  exportRun(traceId: string): OtlpTraces | undefined {
    const run = this.#reader.findRun(traceId)
    return run && exportRun(this.#spans, run.id)
  }

  search(typed: string, limit: number, traceId?: string): SearchResult {
    return finish(this.searching(typed, limit, traceId))
  }

  /** `search`, giving way to others now and then; looks through what is not indexed for `reachMs` at most. */
  *searching(
    typed: string,
    limit: number,
    traceId?: string,
    reachMs?: number,
  ): Generator<void, SearchResult> {
    // Summarising notices which spans were replaced: their words are no longer found.
    this.#summariseDirty(Date.now(), 100)
    const run = traceId ? this.#reader.findRun(traceId) : undefined
    const words = this.#reader.words(typed)
    const indexing = words.length > 0 ? yield* this.#index.reach(words, run?.id, reachMs) : 0
    return { hits: this.#reader.search(typed, limit, run), indexing }
  }

  /** How many spans wait to be indexed. */
  get indexing(): number {
    return this.#index.remaining
  }

  removeRun(traceId: string): boolean {
    const run = this.#reader.findRun(traceId)
    if (!run) return false
    removeRun(this.#db, run.id)
    this.#forget()
    return true
  }

  /** Removes what is too old or too much; returns how many runs went. */
  sweep(nowMs: number = Date.now()): number {
    const removed = sweep(this.#db, this.#retention, nowMs)
    if (removed > 0) this.#forget()
    return removed
  }

  counts(): { runs: number; spans: number; bytes: number } {
    const one = (sql: string) =>
      Number(Object.values(this.#db.prepare(sql).get() as Record<string, number>)[0] ?? 0)
    return {
      runs: one('SELECT count(*) FROM run'),
      spans: this.#spanCount,
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

  #forget(): void {
    this.#writer.forget()
    this.#spans.forget()
    this.#index.recount()
    this.#spanCount = this.#countSpans()
  }

  #countSpans(): number {
    const { spans } = this.#db.prepare('SELECT coalesce(sum(spans), 0) AS spans FROM chunk').get() as {
      spans: number
    }
    return spans
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
      try {
        for (const row of runs) this.#summarise(runKey(row), nowMs)
        this.#db.exec('COMMIT')
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
        // What was superseded is noticed again, since none of it was removed.
        this.#forget()
        throw error
      }
      if (performance.now() > until) return true
    }
  }

  #summarise(run: RunKey, nowMs: number): RunSummary {
    const { rows } = this.#spans.rows(run, nowMs)
    const spans = this.#spans.spansOf(run.id)
    this.#removeSuperseded(spans)
    const summary = summarise({
      traceId: run.traceId,
      rows,
      conversationId: spans.ordered().find((span) => span.conversationId)?.conversationId ?? '',
      reasonOf: (spanId) => spans.get(spanId)?.reason ?? '',
      open: (spanId) => this.#spans.span(run.id, spanId),
    })
    this.#db
      .prepare(`UPDATE run SET dirty = 0, ${ASSIGNED_COLUMNS} WHERE id = :id`)
      .run({ ...parametersOf(summary), id: run.id })
    return summary
  }

  /** What was replaced is no longer found, and no longer kept once nothing else came with it. */
  #removeSuperseded(spans: RunSpans): void {
    if (spans.superseded.length === 0) return
    const remember = this.#db.prepare('INSERT OR IGNORE INTO superseded (id) VALUES (?)')
    const remove = this.#db.prepare('DELETE FROM chunk WHERE id = ?')
    for (const document of spans.superseded) remember.run(document)
    for (const { chunk, spans: gone } of spans.emptied) {
      remove.run(chunk)
      this.#index.removed(chunk, gone)
      this.#spanCount -= gone
    }
    // If this is undone, `forget` makes it be noticed again.
    spans.settle()
  }
}

function finish<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}
