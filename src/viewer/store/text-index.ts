/** Full-text search over spans. The index follows the spans in slices, so that taking spans in never waits for it. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { OtlpLogRecord } from '../otlp/types.ts'
import { type ChunkBody, documentOf, openChunk } from './chunk.ts'
import { logText, spanText } from './searchable-text.ts'

const LOGS_AT_ONCE = 256
const SUPERSEDED_AT_ONCE = 1024

export class TextIndex {
  readonly #db: DatabaseSync
  readonly #nextChunk: StatementSync
  readonly #nextLogs: StatementSync
  readonly #superseded: StatementSync
  readonly #settle: StatementSync
  readonly #insert: StatementSync
  readonly #delete: StatementSync
  readonly #saveMark: StatementSync
  readonly #count: StatementSync
  /** The last chunk and the last log that can be found. */
  #chunkMark: number
  #logMark: number
  #remaining: number

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#nextChunk = db.prepare('SELECT id, spans, body FROM chunk WHERE id > ? ORDER BY id LIMIT 1')
    this.#nextLogs = db.prepare('SELECT id, payload FROM log WHERE id > ? ORDER BY id LIMIT ?')
    this.#superseded = db.prepare('SELECT id FROM superseded WHERE id < ? LIMIT ?')
    this.#settle = db.prepare('DELETE FROM superseded WHERE id = ?')
    this.#insert = db.prepare('INSERT INTO text (rowid, body) VALUES (?, ?)')
    this.#delete = db.prepare('DELETE FROM text WHERE rowid = ?')
    this.#saveMark = db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)')
    this.#count = db.prepare('SELECT coalesce(sum(spans), 0) AS count FROM chunk WHERE id > ?')
    const mark = db.prepare('SELECT value FROM meta WHERE key = ?')
    const saved = (key: string) => (mark.get(key) as { value: number } | undefined)?.value ?? 0
    this.#chunkMark = saved('indexed')
    this.#logMark = saved('indexed logs')
    this.#remaining = this.#counted()
  }

  /** How many spans cannot be found yet. */
  get remaining(): number {
    return this.#remaining
  }

  added(spans: number): void {
    this.#remaining += spans
  }

  removed(chunk: number, spans: number): void {
    if (chunk > this.#chunkMark) this.#remaining -= spans
  }

  /** To be called when runs were removed. */
  recount(): void {
    this.#remaining = this.#counted()
  }

  /** Indexes for about `budgetMs`; says whether there is more to do. */
  work(budgetMs: number): boolean {
    const until = performance.now() + budgetMs
    do {
      if (!this.#batch()) return false
    } while (performance.now() < until)
    return true
  }

  #batch(): boolean {
    const after = documentOf(this.#chunkMark + 1, 0)
    const superseded = this.#superseded.all(after, SUPERSEDED_AT_ONCE) as { id: number }[]
    const chunk = this.#nextChunk.get(this.#chunkMark) as StoredChunk | undefined
    const logs = this.#nextLogs.all(this.#logMark, LOGS_AT_ONCE) as { id: number; payload: string }[]
    if (!chunk && superseded.length + logs.length === 0) return false
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      for (const { id } of superseded) {
        this.#delete.run(id)
        this.#settle.run(id)
      }
      if (chunk) this.#addChunk(chunk)
      for (const { id, payload } of logs) this.#insert.run(-id, logText(JSON.parse(payload) as OtlpLogRecord))
      if (logs.length > 0) this.#saveMark.run('indexed logs', logs.at(-1)!.id)
      this.#db.exec('COMMIT')
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
    if (chunk) {
      this.#chunkMark = chunk.id
      this.#remaining -= chunk.spans
    }
    if (logs.length > 0) this.#logMark = logs.at(-1)!.id
    return true
  }

  #addChunk({ id, body }: StoredChunk): void {
    const chunk = openChunk(body)
    for (let index = 0; index < chunk.length; index++)
      this.#insert.run(documentOf(id, index), spanText(chunk.span(index)))
    this.#saveMark.run('indexed', id)
  }

  #counted(): number {
    return (this.#count.get(this.#chunkMark) as { count: number }).count
  }
}

interface StoredChunk {
  id: number
  spans: number
  body: ChunkBody
}
