/** Puts arriving spans and logs into the tables: idempotent, in any order, from any number of processes. */
import { createHash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { IncomingLog, IncomingSpan, Origin } from '../otlp/receive.ts'

/** Known ids kept in memory, so that a batch costs one lookup per trace and not one per span. */
const CACHED_RUNS = 50_000

const COLUMNS = [
  'id',
  'run',
  'span_id',
  'parent_id',
  'seq',
  'origin',
  'name',
  'category',
  'start_us',
  'end_us',
  'error',
  'label',
  'conversation_id',
  'reason',
  'input_tokens',
  'output_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'cost_usd',
  'outcome',
  'mocked',
  'call_id',
  'preview',
  'detail',
  'payload',
] as const

export class Writer {
  readonly #db: DatabaseSync
  readonly #insertSpan: StatementSync
  readonly #insertRun: StatementSync
  readonly #findRun: StatementSync
  readonly #touchRun: StatementSync
  readonly #insertOrigin: StatementSync
  readonly #insertLog: StatementSync
  readonly #reindex: StatementSync
  readonly #runs = new Map<string, number>()
  readonly #origins = new Map<string, number>()
  #nextSpan: number
  #seq: number

  constructor(db: DatabaseSync) {
    this.#db = db
    const updated = COLUMNS.filter((column) => column !== 'id' && column !== 'run' && column !== 'span_id')
    // The ended span replaces its start snapshot; a snapshot that comes late never replaces an ended span.
    this.#insertSpan = db.prepare(
      `INSERT INTO span (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})
       ON CONFLICT (run, span_id) DO UPDATE SET ${updated.map((column) => `${column} = excluded.${column}`).join(', ')}
       WHERE excluded.end_us > 0 OR span.end_us = 0`,
    )
    this.#insertRun = db.prepare('INSERT INTO run (trace_id, received_ms, start_us) VALUES (?, ?, ?)')
    this.#findRun = db.prepare('SELECT id FROM run WHERE trace_id = ?')
    this.#touchRun = db.prepare('UPDATE run SET dirty = 1, received_ms = ? WHERE id = ?')
    this.#insertOrigin = db.prepare('INSERT INTO origin (resource, scope) VALUES (?, ?)')
    this.#insertLog = db.prepare(
      'INSERT OR IGNORE INTO log (run, span_id, digest, payload) VALUES (?, ?, ?, ?)',
    )
    this.#reindex = db.prepare(
      'INSERT OR IGNORE INTO reindex SELECT id FROM span WHERE run = ? AND span_id = ?',
    )
    this.#nextSpan = this.#max('id') + 1
    this.#seq = this.#max('seq')
  }

  get seq(): number {
    return this.#seq
  }

  /** Returns the trace ids that changed. All or nothing: on an error nothing of the batch is stored. */
  writeSpans(spans: readonly IncomingSpan[], nowMs: number): Set<string> {
    return this.#transaction(nowMs, (touched) => {
      for (const span of spans) touched.set(span.traceId, this.#writeSpan(span, nowMs))
    })
  }

  writeLogs(logs: readonly IncomingLog[], nowMs: number): Set<string> {
    return this.#transaction(nowMs, (touched) => {
      for (const { traceId, spanId, record } of logs) {
        const run = this.#runOf(traceId, nowMs, 0)
        const payload = JSON.stringify(record)
        const digest = createHash('sha1').update(payload).digest('base64')
        this.#insertLog.run(run, spanId, digest, payload)
        this.#reindex.run(run, spanId)
        touched.set(traceId, run)
      }
    })
  }

  /** To be called when runs were deleted behind the writer's back. */
  forget(): void {
    this.#runs.clear()
    this.#origins.clear()
  }

  #transaction(nowMs: number, write: (touched: Map<string, number>) => void): Set<string> {
    const touched = new Map<string, number>()
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      write(touched)
      for (const run of touched.values()) this.#touchRun.run(nowMs, run)
      this.#db.exec('COMMIT')
    } catch (error) {
      // SQLite rolls back by itself when the disk is full; then this second one has nothing to do.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      this.forget()
      throw error
    }
    return new Set(touched.keys())
  }

  #writeSpan(span: IncomingSpan, nowMs: number): number {
    const run = this.#runOf(span.traceId, nowMs, span.startUs)
    const digest = span.digest
    const id = this.#nextSpan
    const result = this.#insertSpan.run(
      id,
      run,
      span.spanId,
      span.parentSpanId,
      ++this.#seq,
      this.#originOf(span.origin),
      span.name,
      digest.category,
      span.startUs,
      span.endUs,
      span.error ? 1 : 0,
      digest.label,
      digest.conversationId,
      digest.reason,
      digest.inputTokens,
      digest.outputTokens,
      digest.cachedTokens,
      digest.reasoningTokens,
      digest.costUsd,
      digest.outcome,
      digest.mocked ? 1 : 0,
      digest.callId,
      digest.preview,
      digest.detail ? JSON.stringify(digest.detail) : null,
      span.payload,
    )
    if (Number(result.changes) === 0) return run
    if (Number(result.lastInsertRowid) === id) this.#nextSpan++
    else this.#reindex.run(run, span.spanId)
    return run
  }

  #runOf(traceId: string, nowMs: number, startUs: number): number {
    const known = this.#runs.get(traceId)
    if (known !== undefined) return known
    if (this.#runs.size >= CACHED_RUNS) this.#runs.clear()
    const found = this.#findRun.get(traceId) as { id: number } | undefined
    const id = found ? found.id : Number(this.#insertRun.run(traceId, nowMs, startUs).lastInsertRowid)
    this.#runs.set(traceId, id)
    return id
  }

  #originOf(origin: Origin): number {
    const known = this.#origins.get(origin.key)
    if (known !== undefined) return known
    if (this.#origins.size >= 1000) this.#origins.clear()
    const result = this.#insertOrigin.run(JSON.stringify(origin.resource), JSON.stringify(origin.scope))
    const id = Number(result.lastInsertRowid)
    this.#origins.set(origin.key, id)
    return id
  }

  #max(column: 'id' | 'seq'): number {
    const row = this.#db.prepare(`SELECT max(${column}) AS value FROM span`).get() as { value: number | null }
    return row.value ?? 0
  }
}
