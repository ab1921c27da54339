/**
 * Full-text search over spans. The index follows the spans in slices, so that taking spans in never waits for it; who
 * searches meanwhile has those indexed first that may be what is looked for.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { OtlpLogRecord } from '../../internal/otlp/types.ts'
import type { InTurns } from '../model/in-turns.ts'
import { MAX_CHUNK_SPANS } from '../otlp/incoming.ts'
import { type ChunkBody, chunkBytes, documentOf, openChunk, unless } from './chunk.ts'
import { mayHold } from './may-hold.ts'
import { logText, spanText } from './searchable-text.ts'

const LOGS_AT_ONCE = 256
const SUPERSEDED_AT_ONCE = 1024
/** Nobody waits longer for what is not indexed to be looked through: a million spans take half of it. */
const REACH_MS = 4_000
/** Of that, for indexing. A common word is found at once; to index all that hold it is no reason to wait. */
const REACH_INDEX_MS = 1_000
const SUPERSEDED_AHEAD = `SELECT superseded.id FROM ahead JOIN superseded
  ON superseded.id BETWEEN ahead.id * ${MAX_CHUNK_SPANS} AND (ahead.id + 1) * ${MAX_CHUNK_SPANS} - 1`

export class TextIndex {
  readonly #db: DatabaseSync
  readonly #nextChunk: StatementSync
  readonly #chunkBefore: StatementSync
  readonly #chunkBeforeInRun: StatementSync
  readonly #nextLogs: StatementSync
  readonly #superseded: StatementSync
  readonly #settle: StatementSync
  readonly #insert: StatementSync
  readonly #delete: StatementSync
  readonly #saveMark: StatementSync
  /** The last chunk and the last log that can be found. */
  #chunkMark: number
  #logMark: number
  #remaining: number
  /** Chunks after the mark that can be found already. */
  readonly #ahead: Set<number>
  /** What was looked through for the last word, from the first chunk to the last one. */
  #seen = { source: '', from: 0, to: 0 }
  readonly #rememberAhead: StatementSync
  readonly #forgetAhead: StatementSync

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#nextChunk = db.prepare('SELECT id, spans, body FROM chunk WHERE id > ? ORDER BY id LIMIT 1')
    const before = 'SELECT id, spans, body FROM chunk WHERE id < ? AND id > ?'
    this.#chunkBefore = db.prepare(`${before} ORDER BY id DESC LIMIT 1`)
    this.#chunkBeforeInRun = db.prepare(`${before} AND run = ? ORDER BY id DESC LIMIT 1`)
    this.#rememberAhead = db.prepare('INSERT INTO ahead (id) VALUES (?)')
    this.#forgetAhead = db.prepare('DELETE FROM ahead WHERE id <= ?')
    this.#nextLogs = db.prepare('SELECT id, payload FROM log WHERE id > ? ORDER BY id LIMIT ?')
    this.#superseded = db.prepare('SELECT id FROM superseded WHERE id < ? LIMIT ?')
    this.#settle = db.prepare('DELETE FROM superseded WHERE id = ?')
    this.#insert = db.prepare('INSERT INTO text (rowid, body) VALUES (?, ?)')
    this.#delete = db.prepare('DELETE FROM text WHERE rowid = ?')
    this.#saveMark = db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)')
    const count = db.prepare(
      'SELECT coalesce(sum(spans), 0) AS count FROM chunk WHERE id > ? AND id NOT IN (SELECT id FROM ahead)',
    )
    const mark = db.prepare('SELECT value FROM meta WHERE key = ?')
    const saved = (key: string) => (mark.get(key) as { value: number } | undefined)?.value ?? 0
    this.#chunkMark = saved('indexed')
    this.#logMark = saved('indexed logs')
    this.#ahead = new Set((db.prepare('SELECT id FROM ahead').all() as { id: number }[]).map(({ id }) => id))
    this.#remaining = (count.get(this.#chunkMark) as { count: number }).count
  }

  /** How many spans cannot be found yet. */
  get remaining(): number {
    return this.#remaining
  }

  added(spans: number): void {
    this.#remaining += spans
  }

  removed(chunk: number, spans: number): void {
    if (chunk > this.#chunkMark && !this.#ahead.has(chunk)) this.#remaining -= spans
  }

  /** Indexes for about `budgetMs`; says whether there is more to do. */
  *work(budgetMs: number): InTurns<boolean> {
    const until = performance.now() + budgetMs
    do {
      if (!this.#batch(this.#nextChunk.get(this.#chunkMark) as StoredChunk | undefined, true)) return false
      yield
    } while (performance.now() < until)
    return true
  }

  /**
   * Has everything indexed that may hold `words`, the newest first; in one run when `run` is given. To be continued
   * until it is done, which takes `budgetMs` at most; it then returns how many spans were not reached.
   */
  *reach(words: readonly string[], run?: number, budgetMs: number = REACH_MS): InTurns<number> {
    const untilMs = performance.now() + budgetMs
    while (this.#batch()) {
      yield
      if (performance.now() > untilMs) return this.#remaining
    }
    const unreached = yield* this.#reachChunks(mayHold(words), run, untilMs)
    this.#removeSupersededAhead()
    return unreached
  }

  *#reachChunks(pattern: RegExp | undefined, run: number | undefined, untilMs: number): InTurns<number> {
    let indexMs = REACH_INDEX_MS
    const unreached = this.#remaining
    let reached = 0
    const source = run === undefined ? pattern?.source : undefined
    let seen = source !== undefined && this.#seen.source === source ? this.#seen : undefined
    let newest = seen?.to ?? 0
    for (let chunk = this.#lastBefore(Number.MAX_SAFE_INTEGER, run); chunk; ) {
      const { id } = chunk
      newest = Math.max(newest, id)
      const nowMs = performance.now()
      if (nowMs > untilMs || indexMs < 0) return Math.max(0, Math.min(unreached - reached, this.#remaining))
      if (seen && id <= seen.to) {
        // The same word again: only what came since is new.
        chunk = this.#lastBefore(Math.min(seen.from, id + 1), run)
        this.#seen = { source: seen.source, from: seen.from, to: newest }
        seen = undefined
        continue
      }
      if (!this.#ahead.has(id)) {
        reached += chunk.spans
        if (!pattern || pattern.test(chunkBytes(chunk.body))) {
          this.#batch(chunk)
          indexMs -= performance.now() - nowMs
        }
      }
      if (source !== undefined && !seen) this.#seen = { source, from: id, to: newest }
      yield
      chunk = this.#lastBefore(id, run)
    }
    return 0
  }

  /** What something newer replaced is not found, though it was indexed before its turn. */
  #removeSupersededAhead(): void {
    if (this.#ahead.size === 0) return
    this.#db.exec(`DELETE FROM text WHERE rowid IN (${SUPERSEDED_AHEAD});
      DELETE FROM superseded WHERE id IN (${SUPERSEDED_AHEAD})`)
  }

  #lastBefore(id: number, run: number | undefined): StoredChunk | undefined {
    const found =
      run === undefined
        ? this.#chunkBefore.get(id, this.#chunkMark)
        : this.#chunkBeforeInRun.get(id, this.#chunkMark, run)
    return found as StoredChunk | undefined
  }

  /** The chunk whose turn it is or one before its turn, some logs, what was superseded; says whether there was any. */
  #batch(chunk?: StoredChunk, isInTurn = false): boolean {
    const after = documentOf(this.#chunkMark + 1, 0)
    const superseded = this.#superseded.all(after, SUPERSEDED_AT_ONCE) as { id: number }[]
    const logs = this.#nextLogs.all(this.#logMark, LOGS_AT_ONCE) as { id: number; payload: string }[]
    if (!chunk && superseded.length + logs.length === 0) return false
    const isNew = chunk !== undefined && !this.#ahead.has(chunk.id)
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      for (const { id } of superseded) {
        this.#delete.run(id)
        this.#settle.run(id)
      }
      if (isNew) this.#addChunk(chunk)
      if (chunk && isInTurn) {
        this.#saveMark.run('indexed', chunk.id)
        this.#forgetAhead.run(chunk.id)
      } else if (chunk) this.#rememberAhead.run(chunk.id)
      for (const { id, payload } of logs)
        this.#insert.run(-id, unless(() => logText(JSON.parse(payload) as OtlpLogRecord)) ?? '')
      if (logs.length > 0) this.#saveMark.run('indexed logs', logs.at(-1)!.id)
      this.#db.exec('COMMIT')
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
    if (isNew) this.#remaining -= chunk.spans
    if (chunk && isInTurn) {
      this.#chunkMark = chunk.id
      this.#ahead.delete(chunk.id)
    } else if (chunk) this.#ahead.add(chunk.id)
    if (logs.length > 0) this.#logMark = logs.at(-1)!.id
    return true
  }

  #addChunk({ id, body }: StoredChunk): void {
    const chunk = openChunk(body)
    for (let index = 0; index < chunk.length; index++) {
      const text = unless(() => spanText(chunk.span(index)!))
      if (text) this.#insert.run(documentOf(id, index), text)
    }
  }
}

interface StoredChunk {
  id: number
  spans: number
  body: ChunkBody
}
