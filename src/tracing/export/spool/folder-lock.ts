import { existsSync, rmdirSync, unlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

const LOCK = 'lock'

/**
 * A folder that belongs to one process, or to one thread of it, for as long as that lives: an empty SQLite file in it
 * is held in a transaction. The system lets go of the lock however its holder dies, and process ids play no part, which
 * are the same in every container.
 *
 * Only who makes a folder makes its lock file, and only who holds the lock removes it. So whoever has the lock and still
 * sees the file holds the one that all others see.
 */
export class FolderLock {
  readonly folder: string
  readonly #db: DatabaseSync

  private constructor(folder: string, db: DatabaseSync) {
    this.folder = folder
    this.#db = db
  }

  /** In a folder that was just made. Undefined when somebody took it for one whose owner has died. @throws what the system says. */
  static make(folder: string): FolderLock | undefined {
    return FolderLock.#take(folder, 'rwc')
  }

  /** Of a folder whose owner has died. Undefined while that lives, or when somebody else has it. Never throws. */
  static adopt(folder: string): FolderLock | undefined {
    try {
      if (!existsSync(join(folder, LOCK))) {
        // Made this moment, or left by one that died then. Only an empty folder goes.
        rmdirSync(folder)
        return undefined
      }
      return FolderLock.#take(folder, 'rw')
    } catch {
      return undefined
    }
  }

  static #take(folder: string, mode: 'rw' | 'rwc'): FolderLock | undefined {
    const sqlite = createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite')
    const path = join(folder, LOCK)
    const url = pathToFileURL(path)
    url.searchParams.set('mode', mode)
    const db = new sqlite.DatabaseSync(url, { timeout: 0 })
    try {
      // No journal: it would be a second file, and nothing is written.
      db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
      if (existsSync(path)) return new FolderLock(folder, db)
      db.close()
      return undefined
    } catch (error) {
      db.close()
      if (isBusy(error)) return undefined
      throw error
    }
  }

  /** Lets go of it; what is in the folder is adopted by the next who looks. */
  release(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  /** Removes the folder, which is empty but for the lock. */
  remove(): void {
    const path = join(this.folder, LOCK)
    try {
      unlinkSync(path)
      this.release()
    } catch {
      // Windows removes no file that is open.
      this.release()
      unlinkSync(path)
    }
    rmdirSync(this.folder)
  }
}

const SQLITE_BUSY = 5

function isBusy(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY
}
