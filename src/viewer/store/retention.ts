import type { DatabaseSync } from 'node:sqlite'
import { documentOf } from './chunk.ts'

export interface RetentionOptions {
  /** Runs that last got a span longer ago are removed, in milliseconds: a recording sent today is new today. */
  maxAgeMs?: number
  /** When the store is larger, the oldest runs are removed until it is a tenth below. In bytes. */
  maxBytes?: number
}

export function sweep(db: DatabaseSync, options: RetentionOptions, nowMs: number): number {
  let removed = 0
  const oldest = db.prepare('SELECT id FROM run ORDER BY received_ms, id LIMIT 1')
  if (options.maxAgeMs !== undefined && Number.isFinite(options.maxAgeMs)) {
    const old = db.prepare('SELECT id FROM run WHERE received_ms < ?').all(nowMs - options.maxAgeMs) as {
      id: number
    }[]
    for (const run of old) removeRun(db, run.id)
    removed += old.length
  }
  const maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY
  if (usedBytes(db) > maxBytes) {
    while (usedBytes(db) > maxBytes * 0.9) {
      const runs = oldest.all() as { id: number }[]
      if (runs.length === 0) break
      // One at a time: a single run can be most of the store, and the newest must not go with it.
      removeRun(db, runs[0]!.id)
      removed++
    }
  }
  if (removed > 0) db.exec('PRAGMA incremental_vacuum')
  return removed
}

export function removeRun(db: DatabaseSync, id: number): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    const chunks = db.prepare('SELECT id, spans FROM chunk WHERE run = ?').all(id) as {
      id: number
      spans: number
    }[]
    const text = db.prepare('DELETE FROM text WHERE rowid BETWEEN ? AND ?')
    for (const chunk of chunks) text.run(documentOf(chunk.id, 0), documentOf(chunk.id, chunk.spans - 1))
    db.prepare('DELETE FROM text WHERE rowid IN (SELECT -id FROM log WHERE run = ?)').run(id)
    db.prepare('DELETE FROM chunk WHERE run = ?').run(id)
    db.prepare('DELETE FROM log WHERE run = ?').run(id)
    db.prepare('DELETE FROM run WHERE id = ?').run(id)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

function usedBytes(db: DatabaseSync): number {
  const read = (name: string) =>
    Number(Object.values(db.prepare(`PRAGMA ${name}`).get() as Record<string, number>)[0])
  return (read('page_count') - read('freelist_count')) * read('page_size')
}
