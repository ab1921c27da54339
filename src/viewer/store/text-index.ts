/** Full-text search over spans. The index follows the spans in slices, so that taking spans in never waits for it. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { OtlpLogRecord } from '../otlp/types.ts'
import { type Payload, searchableText, unpackSpan } from './payload.ts'

const BATCH = 512

export class TextIndex {
  readonly #db: DatabaseSync
  readonly #next: StatementSync
  readonly #insert: StatementSync
  readonly #delete: StatementSync
  readonly #logs: StatementSync
  readonly #changed: StatementSync
  readonly #settle: StatementSync
  readonly #saveMark: StatementSync
  readonly #remaining: StatementSync
  #mark: number

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#next = db.prepare('SELECT id, run, span_id, payload FROM span WHERE id > ? ORDER BY id LIMIT ?')
    this.#changed = db.prepare(
      // Not a join: SQLite would read every span to look each up in the short list.
      'SELECT id, run, span_id, payload FROM span WHERE id IN (SELECT id FROM reindex WHERE id <= ? LIMIT ?)',
    )
    this.#insert = db.prepare('INSERT INTO text (rowid, body) VALUES (?, ?)')
    this.#delete = db.prepare('DELETE FROM text WHERE rowid = ?')
    this.#settle = db.prepare('DELETE FROM reindex WHERE id = ?')
    this.#logs = db.prepare('SELECT payload FROM log WHERE run = ? AND span_id = ?')
    this.#saveMark = db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('indexed', ?)")
    this.#remaining = db.prepare('SELECT max(0, coalesce(max(id), 0) - ?) AS count FROM span')
    const saved = db.prepare("SELECT value FROM meta WHERE key = 'indexed'").get() as
      | { value: number }
      | undefined
    this.#mark = saved?.value ?? 0
  }

  /** How many spans cannot be found yet; removed ones may be among them, since counting would read them all. */
  remaining(): number {
    return (this.#remaining.get(this.#mark) as { count: number }).count
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
    const changed = this.#changed.all(this.#mark, BATCH) as unknown as Row[]
    const fresh = this.#next.all(this.#mark, BATCH) as unknown as Row[]
    if (changed.length + fresh.length === 0) return false
    this.#db.exec('BEGIN IMMEDIATE')
    let mark = this.#mark
    try {
      for (const row of changed) {
        this.#delete.run(row.id)
        this.#add(row)
        this.#settle.run(row.id)
      }
      for (const row of fresh) {
        this.#add(row)
        mark = row.id
      }
      this.#saveMark.run(mark)
      this.#db.exec('COMMIT')
      this.#mark = mark
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
    return true
  }

  #add(row: Row): void {
    const logs = this.#logs.all(row.run, row.span_id) as { payload: string }[]
    const records = logs.map((log) => JSON.parse(log.payload) as OtlpLogRecord)
    this.#insert.run(row.id, searchableText(unpackSpan(row.payload), records))
  }
}

interface Row {
  id: number
  run: number
  span_id: string
  payload: Payload
}

/**
 * What a person typed, as an FTS5 query: every word must occur, the last one may go on.
 * Empty when there is no word in it. Never passes a character to FTS5 that it reads as syntax.
 */
export function matchQuery(typed: string): string {
  const words = typed.toLowerCase().match(/[\p{L}\p{N}\p{Mn}]+/gu) ?? []
  if (words.length === 0) return ''
  return `${words.map((word) => `"${word}"`).join(' AND ')}${/[\p{L}\p{N}\p{Mn}]$/u.test(typed) ? ' *' : ''}`
}
