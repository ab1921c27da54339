/** What leaves the store: a run that is not wanted any more, old ones, and the oldest of too many. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { allOrNothing } from '../../internal/sqlite.ts'
import type { InTurns } from '../model/in-turns.ts'
import { ChunkRemoval } from './chunk-removal.ts'
import { rememberRemoved } from './row-ids.ts'
import { WordSegments } from './word-segments.ts'

export interface RetentionOptions {
  /** Runs that last got a span longer ago are removed, in milliseconds: a recording sent today is new today. */
  maxAgeMs?: number
  /** When the store is larger, the oldest runs are removed until it is a tenth below. In bytes. */
  maxBytes?: number
}

/** Told at once, so that nobody goes on with what is gone. */
export interface Removals {
  chunkRemoved(id: number, spans: number): void
  runRemoved(id: number): void
  /** Its sums are others now. */
  runSummed(id: number): void
  spansReplaced(): void
}

interface StoredChunk {
  id: number
  spans: number
}

const CHUNKS_AT_ONCE = 8
const PAGES_AT_ONCE = 2000

export class Retention {
  readonly #db: DatabaseSync
  readonly #tell: Removals
  readonly #segments: WordSegments
  readonly #chunksOf: StatementSync
  readonly #logsOf: StatementSync
  readonly #chunks: ChunkRemoval
  readonly #oldest: StatementSync
  readonly #receivedBefore: StatementSync

  constructor(db: DatabaseSync, tell: Removals) {
    this.#db = db
    this.#tell = tell
    this.#segments = new WordSegments(db)
    this.#chunksOf = db.prepare('SELECT id, spans FROM chunk WHERE run = ? ORDER BY id LIMIT ?')
    this.#logsOf = db.prepare('SELECT min(id) AS first, max(id) AS last FROM log WHERE run = ?')
    this.#chunks = new ChunkRemoval(db)
    this.#oldest = db.prepare('SELECT id FROM run ORDER BY received_ms, id LIMIT 1')
    this.#receivedBefore = db.prepare('SELECT id FROM run WHERE received_ms < ?')
  }

  /** Some chunks at a time; the run itself with the last of them. */
  *remove(run: number): InTurns<void> {
    while (!this.#removeSome(run)) yield
  }

  /** Gives how many runs went. */
  *sweep(options: RetentionOptions, nowMs: number): InTurns<number> {
    const { maxAgeMs = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY } = options
    let removed = 0
    const old = Number.isFinite(maxAgeMs) ? this.#receivedBefore.all(nowMs - maxAgeMs) : []
    for (const { id } of old as { id: number }[]) {
      yield* this.remove(id)
      removed++
    }
    if (this.#usedBytes() > maxBytes) {
      while (this.#usedBytes() > maxBytes * 0.9) {
        // One at a time: a single run can be most of the store, and the newest must not go with it.
        const run = this.#oldest.get() as { id: number } | undefined
        if (!run) break
        yield* this.remove(run.id)
        removed++
      }
    }
    if (removed > 0) yield* this.#shrink()
    return removed
  }

  #removeSome(run: number): boolean {
    const chunks = this.#chunksOf.all(run, CHUNKS_AT_ONCE) as unknown as StoredChunk[]
    const isLast = chunks.length < CHUNKS_AT_ONCE
    allOrNothing(this.#db, () => {
      for (const { id, spans } of chunks) this.#chunks.remove(id, spans)
      const between = { firstChunk: chunks[0]?.id ?? 0, lastChunk: chunks.at(-1)?.id ?? 0 }
      const logs = isLast
        ? (this.#logsOf.get(run) as { first: number | null; last: number | null })
        : undefined
      if (isLast) {
        this.#db.prepare('INSERT OR IGNORE INTO gone SELECT -id FROM log WHERE run = ?').run(run)
        this.#db.prepare('DELETE FROM log WHERE run = ?').run(run)
        this.#db.prepare('DELETE FROM run_use WHERE run = ?').run(run)
        this.#db.prepare('DELETE FROM run WHERE id = ?').run(run)
        this.#db.prepare(rememberRemoved('run')).run(run)
      }
      this.#segments.dropEmpty({ ...between, firstLog: logs?.first ?? 0, lastLog: logs?.last ?? 0 })
    })
    for (const { id, spans } of chunks) this.#tell.chunkRemoved(id, spans)
    if (isLast) this.#tell.runRemoved(run)
    return isLast
  }

  /** Gives the file's free pages back. */
  *#shrink(): InTurns<void> {
    let free = this.#read('freelist_count')
    for (let before = free + 1; free > 0 && free < before; free = this.#read('freelist_count')) {
      before = free
      this.#db.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`)
      yield
    }
  }

  #usedBytes(): number {
    return (this.#read('page_count') - this.#read('freelist_count')) * this.#read('page_size')
  }

  #read(name: string): number {
    return Number(Object.values(this.#db.prepare(`PRAGMA ${name}`).get() as Record<string, number>)[0])
  }
}
