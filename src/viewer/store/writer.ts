/** Puts arriving spans and logs into the tables: in any order, from any number of processes, without reading them. */
import { createHash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { allOrNothing } from '../../internal/sqlite.ts'
import type { IncomingLog, IncomingSpans, Origin } from '../otlp/incoming.ts'
import type { ArrivedRuns } from './arrivals.ts'
import { packChunk } from './chunk.ts'
import { nextId } from './row-ids.ts'
import { INSERTED_COLUMNS, INSERTED_MARKS, valuesOf } from './run-columns.ts'
import { RunUses } from './run-uses.ts'

/** Known ids kept in memory, so that a batch costs one lookup per trace. */
const CACHED_RUNS = 50_000
/** A transaction takes some ten milliseconds for so much. */
const PART_BYTES = 4 * 1024 * 1024

export class Writer {
  readonly #db: DatabaseSync
  readonly #assertThere: () => void
  readonly #begun: (run: number) => void
  readonly #insertChunk: StatementSync
  readonly #insertRun: StatementSync
  readonly #insertSummed: StatementSync
  readonly #uses: RunUses
  readonly #findRun: StatementSync
  readonly #touchRun: StatementSync
  readonly #insertOrigin: StatementSync
  readonly #hasOrigin: StatementSync
  readonly #insertLog: StatementSync
  readonly #version: StatementSync
  #seenVersion = Number.NaN
  readonly #runs = new Map<string, number>()
  readonly #origins = new Map<string, number>()
  /** Runs that are new in the transaction. */
  readonly #inserted = new Set<number>()

  /** `assertThere`: throws where nothing may be written. `begun`: told of each run that is new. */
  constructor(db: DatabaseSync, assertThere: () => void, begun: (run: number) => void) {
    this.#db = db
    this.#assertThere = assertThere
    this.#begun = begun
    this.#insertChunk = db.prepare('INSERT INTO chunk (run, origin, spans, body) VALUES (?, ?, ?, ?)')
    this.#insertRun = db.prepare(
      `INSERT INTO run (id, trace_id, received_ms, start_us) VALUES (${nextId('run')}, ?, ?, ?)`,
    )
    this.#insertSummed = db.prepare(
      `INSERT INTO run (id, trace_id, received_ms, dirty, ${INSERTED_COLUMNS}) VALUES (${nextId('run')}, ?, ?, 0, ${INSERTED_MARKS})`,
    )
    this.#version = db.prepare('PRAGMA data_version')
    this.#uses = new RunUses(db)
    this.#findRun = db.prepare('SELECT id FROM run WHERE trace_id = ?')
    this.#touchRun = db.prepare('UPDATE run SET dirty = 1, received_ms = ? WHERE id = ?')
    this.#insertOrigin = db.prepare(
      `INSERT INTO origin (id, resource, scope) VALUES (${nextId('origin')}, ?, ?)`,
    )
    this.#hasOrigin = db.prepare('SELECT 1 FROM origin WHERE id = ?')
    this.#insertLog = db.prepare(
      'INSERT OR IGNORE INTO log (run, span_id, digest, payload) VALUES (?, ?, ?, ?)',
    )
  }

  /** Parts that can be written without keeping others waiting. */
  *parts<T>(batch: readonly T[], sizeOf: (item: T) => number): Generator<readonly T[]> {
    let from = 0
    let size = 0
    for (let at = 0; at < batch.length; at++) {
      size += sizeOf(batch[at]!)
      if (size < PART_BYTES && at < batch.length - 1) continue
      yield batch.slice(from, at + 1)
      from = at + 1
      size = 0
    }
  }

  /** Returns the trace ids that changed. All or nothing: on an error nothing of the batch is stored. */
  writeSpans(batch: readonly IncomingSpans[], nowMs: number, arrived: ArrivedRuns): Set<string> {
    return this.#transaction(nowMs, (touched) => {
      for (const { traceId, origin, count, startUs, body } of batch) {
        const run = this.#runOf(traceId, nowMs, startUs, arrived)
        this.#insertChunk.run(run, this.#originOf(origin), count, packChunk(body))
        touched.set(traceId, run)
      }
    })
  }

  writeLogs(logs: readonly IncomingLog[], nowMs: number): Set<string> {
    return this.#transaction(nowMs, (touched) => {
      for (const { traceId, spanId, record } of logs) {
        const run = this.#runOf(traceId, nowMs, 0)
        const payload = JSON.stringify(record)
        const digest = createHash('sha1').update(payload).digest('base64')
        this.#insertLog.run(run, spanId, digest, payload)
        touched.set(traceId, run)
      }
    })
  }

  /** Whether something is stored of the run, as far as is known without looking. */
  knows(traceId: string): boolean {
    return this.#runs.has(traceId)
  }

  /** To be called when runs were removed behind the writer's back. */
  forget(): void {
    this.#runs.clear()
    this.#origins.clear()
  }

  #transaction(nowMs: number, write: (touched: Map<string, number>) => void): Set<string> {
    this.#assertThere()
    const touched = new Map<string, number>()
    this.#inserted.clear()
    try {
      allOrNothing(this.#db, () => {
        this.#forgetRemoved()
        write(touched)
        // Those that were inserted just now say so themselves.
        for (const run of touched.values()) if (!this.#inserted.has(run)) this.#touchRun.run(nowMs, run)
      })
    } catch (error) {
      this.forget()
      throw error
    }
    for (const run of this.#inserted) this.#begun(run)
    return new Set(touched.keys())
  }

  /** Another viewer of the file may have removed runs since. */
  #forgetRemoved(): void {
    const { data_version: version } = this.#version.get() as { data_version: number }
    if (version !== this.#seenVersion) this.#runs.clear()
    this.#seenVersion = version
  }

  #runOf(traceId: string, nowMs: number, startUs: number, arrived?: ArrivedRuns): number {
    const known = this.#runs.get(traceId)
    if (known !== undefined) return known
    if (this.#runs.size >= CACHED_RUNS) this.#runs.clear()
    const found = this.#findRun.get(traceId) as { id: number } | undefined
    const id = found ? found.id : this.#inserting(traceId, nowMs, startUs, arrived)
    this.#runs.set(traceId, id)
    return id
  }

  #inserting(traceId: string, nowMs: number, startUs: number, arrived: ArrivedRuns | undefined): number {
    const summed = arrived?.get(traceId)
    const { lastInsertRowid } = summed
      ? this.#insertSummed.run(traceId, nowMs, ...valuesOf(summed.summary))
      : this.#insertRun.run(traceId, nowMs, startUs)
    const id = Number(lastInsertRowid)
    if (summed) this.#uses.add(id, summed.uses)
    this.#inserted.add(id)
    return id
  }

  #originOf(origin: Origin): number {
    const known = this.#origins.get(origin.key)
    // It goes with its last chunk.
    if (known !== undefined && this.#hasOrigin.get(known)) return known
    if (this.#origins.size >= 1000) this.#origins.clear()
    const result = this.#insertOrigin.run(JSON.stringify(origin.resource), JSON.stringify(origin.scope))
    const id = Number(result.lastInsertRowid)
    this.#origins.set(origin.key, id)
    return id
  }
}
