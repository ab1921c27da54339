import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { errorSentence, HookspanError, type HookspanErrorCode } from './errors.ts'
import { makeFolder } from './make-folder.ts'
import { makePrivateFile } from './private-file.ts'
import { assertNoUrl, loadSqlite } from './sqlite.ts'
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
export function openDurableDatabase(path: string, schema: string, { what, of, code }: Kept): DurableDatabase {
  try {
    return new DurableDatabase(open(path, schema), path)
  } catch (error) {
    const mend = isDamaged(error)
      ? `Put a whole copy of it back, with the \`-wal\` that lies beside it, or name another file, which knows nothing of its ${of}.`
      : 'Name a file that can be written.'
    const why = `${what} in "${path}" cannot be opened: ${errorSentence(error)} ${mend}`
    throw new HookspanError(code, why, { cause: error })
  }
}

export class DurableDatabase {
  readonly #db: DatabaseSync
  readonly #assertThere: () => void

  constructor(db: DatabaseSync, path: string) {
    this.#db = db
    this.#assertThere = whileThere(path, 'Put it back, or start this process again.')
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

function open(path: string, schema: string): DatabaseSync {
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
    db.exec(schema)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
