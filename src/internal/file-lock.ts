import type { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { isBusy, loadSqlite } from './sqlite.ts'

/**
 * A lock between processes, threads and containers: an empty SQLite file that is held in a transaction. The system lets
 * go of it however its holder dies.
 */
export class FileLock {
  readonly #db: DatabaseSync

  private constructor(db: DatabaseSync) {
    this.#db = db
  }

  /**
   * Undefined while somebody has it. `make`: the file, too, where there is none.
   *
   * @throws what the system says; without `make`, also where there is no such file.
   */
  static take(path: string, { make = false } = {}): FileLock | undefined {
    const sqlite = loadSqlite()
    const url = pathToFileURL(path)
    url.searchParams.set('mode', make ? 'rwc' : 'rw')
    const db = new sqlite.DatabaseSync(url)
    try {
      // No journal: it would be a second file, and nothing is written.
      db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
      return new FileLock(db)
    } catch (error) {
      db.close()
      if (isBusy(error)) return undefined
      throw error
    }
  }

  release(): void {
    if (this.#db.isOpen) this.#db.close()
  }
}
