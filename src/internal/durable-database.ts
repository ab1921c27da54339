import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { delay } from './async.ts'
import { errorSentence, HookspanError, type HookspanErrorCode } from './errors.ts'
import { makeFolder } from './make-folder.ts'
import { makePrivateFile } from './private-file.ts'
import { assertNoUrl, isBusy, loadSqlite } from './sqlite.ts'
import { whileThere } from './while-there.ts'

/** What is kept in a file, as its errors call it. */
export interface Kept {
  /** «The approvals». */
  readonly what: string
  /** What another file would know nothing of. */
  readonly of: string
  readonly code: HookspanErrorCode
}

/**
 * Opens, or makes, an SQLite file that its owner alone may read. What was written to it is on the disk.
 *
 * @throws HookspanError of that code, where the file is none of these or cannot be made.
 */
export function openDurableDatabase(
  path: string,
  makeTables: (db: DatabaseSync) => void,
  { what, of, code }: Kept,
): DurableDatabase {
  try {
    return new DurableDatabase(open(path, makeTables), path, what)
  } catch (error) {
    const mend = isDamaged(error)
      ? `Put a whole copy of it back, with the \`-wal\` that lies beside it, or name another file, which knows nothing of its ${of}.`
      : 'Name a file that can be written.'
    const why = `${what} in "${path}" cannot be opened: ${errorSentence(error)} ${mend}`
    throw new HookspanError(code, why, { cause: error })
  }
}

/** Milliseconds for which others may be writing. */
const PATIENCE_MS = 5_000
const FIRST_WAIT_MS = 2
const LONGEST_WAIT_MS = 50

export class DurableDatabase {
  readonly #db: DatabaseSync
  readonly #name: string
  readonly #assertThere: () => void

  constructor(db: DatabaseSync, path: string, what: string) {
    this.#db = db
    this.#name = `${what} in "${path}"`
    this.#assertThere = whileThere(path, 'Put it back, or start this process again.')
  }

  /**
   * Does it at once, or as soon as no other process is writing: SQLite's own waiting would hold up whatever else this process
   * does. It may be done several times: no statement of it may come after one that has changed something.
   *
   * @throws what it throws, and Error where others do not let go.
   */
  async within<T>(work: (db: DatabaseSync) => T): Promise<T> {
    const until = performance.now() + PATIENCE_MS
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      try {
        return work(this.db)
      } catch (error) {
        if (!isBusy(error)) throw this.#named(error)
        if (performance.now() > until) throw this.#locked(error)
      }
      // Not all at once: of many who wait, each is to have its turn.
      await delay(waitMs * (0.5 + Math.random() / 2))
    }
  }

  /** SQLite says of no file which one it is. */
  #named(cause: unknown): unknown {
    const { errcode } = cause as { errcode?: number }
    if (errcode === undefined) return cause
    return new Error(`${this.#name} cannot be used: ${errorSentence(cause)}`, { cause })
  }

  #locked(cause: unknown): Error {
    const why = `${this.#name} are locked by another process, for more than ${PATIENCE_MS / 1_000} s. Nothing was changed. End or continue that process.`
    return new Error(why, { cause })
  }

  /** To be asked for anew each time. @throws Error once its file was removed. */
  get db(): DatabaseSync {
    this.#assertThere()
    return this.#db
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }
}

/** SQLite's `SQLITE_CORRUPT` and `SQLITE_NOTADB`. */
function isDamaged(error: unknown): boolean {
  const { errcode } = error as { errcode?: number }
  return errcode === 11 || errcode === 26
}

function open(path: string, makeTables: (db: DatabaseSync) => void): DatabaseSync {
  assertNoUrl(path)
  if (path !== ':memory:') {
    makeFolder(dirname(path), { mode: 0o700 })
    makePrivateFile(path)
  }
  const sqlite = loadSqlite()
  const db = new sqlite.DatabaseSync(path)
  try {
    // FULL: what was taken is on the disk, whatever happens to the machine.
    db.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
    // What was forgotten is overwritten: it would stay in the file, for who reads its bytes.
    db.exec('PRAGMA secure_delete = ON;')
    makeTables(db)
    // From now on nothing stands still for others: see `within`.
    db.exec('PRAGMA busy_timeout = 0')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
