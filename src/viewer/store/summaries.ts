/** What the list says of each run: summed in idle moments, and before somebody looks. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { errorMessage } from '../../internal/errors.ts'
import { allOrNothing } from '../../internal/sqlite.ts'
import type { InTurns } from '../model/in-turns.ts'
import type { RunUse } from '../model/run-uses.ts'
import type { AskedInRun, RunSummary } from '../model/span.ts'
import { summing } from '../model/summary.ts'
import { placeOf } from './chunk.ts'
import { ChunkRemoval } from './chunk-removal.ts'
import { SILENCE_MS } from './liveness.ts'
import { type RunKey, runKey, type StoredKey } from './reader.ts'
import type { Removals } from './retention.ts'
import { ASSIGNED_COLUMNS, MARK_COLUMNS, parametersOf, summaryOf } from './run-columns.ts'
import type { RunSpans } from './run-spans.ts'
import { RunUses } from './run-uses.ts'
import { IS_OPEN } from './schema.ts'
import type { RowsOfRun, SpanReader } from './span-reader.ts'
import { WordSegments } from './word-segments.ts'

/** Saved together: a transaction for each would cost more than the sums. */
const RUNS_AT_ONCE = 100

interface Summed {
  run: RunKey
  summary: RunSummary
  uses: RunUse[]
  /** What of the run was summed: the last chunk and the last log. */
  seq: number
  logs: number
  spans: RunSpans
  asked: AskedInRun | undefined
}

export class Summaries {
  readonly #db: DatabaseSync
  readonly #spans: SpanReader
  readonly #removals: Removals
  readonly #asked: (traceId: string) => AskedInRun | undefined
  readonly #dirty: StatementSync
  readonly #open: StatementSync
  readonly #lastLog: StatementSync
  readonly #save: StatementSync
  readonly #uses: RunUses
  readonly #remember: StatementSync
  readonly #rememberWorn: StatementSync
  readonly #chunks: ChunkRemoval
  readonly #segments: WordSegments
  readonly #marks: StatementSync

  constructor(
    db: DatabaseSync,
    spans: SpanReader,
    removals: Removals,
    asked: (traceId: string) => AskedInRun | undefined,
  ) {
    this.#asked = asked
    this.#db = db
    this.#spans = spans
    this.#uses = new RunUses(db)
    this.#removals = removals
    this.#dirty = db.prepare(
      `SELECT id, trace_id, received_ms, dirty FROM run WHERE dirty = 1 AND id > ? ORDER BY id LIMIT ${RUNS_AT_ONCE}`,
    )
    this.#open = db.prepare(
      `SELECT id, trace_id, received_ms, dirty, status, waiting FROM run WHERE dirty = 0 AND ${IS_OPEN}`,
    )
    this.#lastLog = db.prepare('SELECT coalesce(max(id), 0) AS id FROM log')
    // What came while the run was being summed has yet to be.
    this.#save = db.prepare(
      `UPDATE run SET ${ASSIGNED_COLUMNS}, dirty = :news OR EXISTS (SELECT 1 FROM chunk WHERE run = :id AND id > :seq)
         OR EXISTS (SELECT 1 FROM log WHERE id > :logs AND run = :id) WHERE id = :id`,
    )
    // Not of a run that was removed meanwhile.
    this.#remember = db.prepare(
      'INSERT OR IGNORE INTO superseded (id) SELECT ? WHERE EXISTS (SELECT 1 FROM chunk WHERE id = ?)',
    )
    this.#rememberWorn = db.prepare('INSERT OR IGNORE INTO worn (id) SELECT id FROM chunk WHERE id = ?')
    this.#chunks = new ChunkRemoval(db)
    this.#segments = new WordSegments(db)
    this.#marks = db.prepare(`SELECT ${MARK_COLUMNS} FROM run WHERE id = ?`)
  }

  /** Sums runs of which spans came, for about `budgetMs`; says whether there are more. */
  *work(nowMs: number, budgetMs: number): InTurns<boolean> {
    const untilMs = performance.now() + budgetMs
    for (let last = 0; ; ) {
      const runs = this.#dirty.all(last) as unknown as StoredKey[]
      if (runs.length === 0) return false
      const summed: Summed[] = []
      for (const row of runs) {
        summed.push(yield* this.#sumAnyhow(runKey(row), nowMs))
        last = row.id
        if (performance.now() > untilMs) break
        yield
      }
      this.#saveAll(summed)
      if (performance.now() > untilMs) return true
    }
  }

  /** Looks again at runs that were open when last summed; gives those whose state changed without a new span. */
  *recheckOpen(nowMs: number): InTurns<string[]> {
    const changed: string[] = []
    for (const row of this.#open.all() as unknown as (StoredKey & Pick<RunSummary, 'status' | 'waiting'>)[]) {
      const summed = yield* this.#sumAnyhow(runKey(row), nowMs)
      yield
      const { status, waiting } = summed.summary
      // A run may wait on for one person when nobody is left who asked another.
      if (status === row.status && waiting === row.waiting) continue
      this.#saveAll([summed])
      changed.push(row.trace_id)
    }
    return changed
  }

  /** Of one run; kept where it can be. */
  *of(run: RunKey, nowMs: number): InTurns<RunSummary> {
    const summed = yield* this.#sumAnyhow(run, nowMs)
    try {
      this.#saveAll([summed])
    } catch {
      // Whoever looks is shown it all the same; that nothing can be stored is noticed by what does nothing else.
    }
    return summed.summary
  }

  /** A run that cannot be summed is told as such, once; the others are none the worse for it. */
  *#sumAnyhow(run: RunKey, nowMs: number): InTurns<Summed> {
    const read = yield* this.#spans.rows(run, nowMs)
    try {
      return yield* this.#sum(run, read)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_SQLITE_ERROR') throw error
      const summed = yield* this.#sum(run, { ...read, rows: [] })
      const title = `cannot be read: ${errorMessage(error)}`
      return { ...summed, summary: { ...summed.summary, title, status: 'failed' } }
    }
  }

  *#sum(run: RunKey, { rows, seq, spans, silentMs }: RowsOfRun): InTurns<Summed> {
    const { id: logs } = this.#lastLog.get() as { id: number }
    const asked = this.#asked(run.traceId)
    const { summary, uses } = yield* summing({
      traceId: run.traceId,
      rows,
      asked,
      marks: this.#marksOf(run.id),
      isFresh: silentMs < SILENCE_MS,
      conversationId: spans.conversationId,
      reasonOf: (spanId) => spans.get(spanId)?.reason ?? '',
      open: (spanId) => {
        const stored = spans.get(spanId)
        return stored && this.#spans.openSent(stored)
      },
    })
    return { run, summary, uses, seq, logs, spans, asked }
  }

  #marksOf(run: number): Pick<RunSummary, 'mark' | 'note' | 'labels'> | undefined {
    const row = this.#marks.get(run)
    return row && summaryOf(row)
  }

  #saveAll(all: readonly Summed[]): void {
    const removed: { chunk: number; spans: number }[] = []
    allOrNothing(this.#db, () => {
      for (const { run, summary, uses, seq, logs, spans, asked } of all) {
        this.#removeSuperseded(spans, removed)
        const news = Number(this.#asked(run.traceId)?.open !== asked?.open)
        // Not of a run that was removed meanwhile.
        const { changes } = this.#save.run({ ...parametersOf(summary), id: run.id, seq, logs, news })
        if (changes > 0) this.#uses.save(run.id, uses)
      }
    })
    for (const { run, spans } of all) {
      this.#removals.runSummed(run.id)
      if (spans.superseded.length > 0) this.#removals.spansReplaced()
      spans.settle()
    }
    for (const { chunk, spans } of removed) this.#removals.chunkRemoved(chunk, spans)
  }

  /** What was replaced is no longer found, and no longer kept once nothing else came with it. */
  #removeSuperseded({ superseded, emptied }: RunSpans, removed: { chunk: number; spans: number }[]): void {
    for (const document of superseded) this.#remember.run(document, placeOf(document).chunk)
    for (const chunk of new Set(superseded.map((document) => placeOf(document).chunk)))
      this.#rememberWorn.run(chunk)
    for (const one of emptied) {
      if (!this.#chunks.remove(one.chunk, one.spans)) continue
      this.#segments.dropEmpty({ firstChunk: one.chunk, lastChunk: one.chunk })
      removed.push(one)
    }
  }
}
