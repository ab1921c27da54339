import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { documentOf } from './chunk.ts'
import { rememberRemoved } from './row-ids.ts'

/** Takes chunks out, with what is kept because of them alone: to be used in a transaction. */
export class ChunkRemoval {
  readonly #removeSuperseded: StatementSync
  readonly #removeWorn: StatementSync
  readonly #remember: StatementSync
  readonly #removeChunk: StatementSync
  readonly #removeOrigin: StatementSync
  readonly #rememberOrigin: StatementSync

  constructor(db: DatabaseSync) {
    this.#removeSuperseded = db.prepare('DELETE FROM superseded WHERE id BETWEEN ? AND ?')
    this.#removeWorn = db.prepare('DELETE FROM worn WHERE id = ?')
    this.#remember = db.prepare('INSERT OR IGNORE INTO gone (id) VALUES (?)')
    this.#removeChunk = db.prepare('DELETE FROM chunk WHERE id = ? RETURNING origin')
    this.#removeOrigin = db.prepare(
      'DELETE FROM origin WHERE id = :id AND NOT EXISTS (SELECT 1 FROM chunk WHERE origin = :id)',
    )
    this.#rememberOrigin = db.prepare(rememberRemoved('origin'))
  }

  /** False where it was gone. */
  remove(chunk: number, spans: number): boolean {
    const removed = this.#removeChunk.get(chunk) as { origin: number } | undefined
    if (!removed) return false
    const { origin } = removed
    this.#removeSuperseded.run(documentOf(chunk, 0), documentOf(chunk, spans - 1))
    this.#removeWorn.run(chunk)
    this.#remember.run(chunk)
    if (this.#removeOrigin.run({ id: origin }).changes > 0) this.#rememberOrigin.run(origin)
    return true
  }
}
