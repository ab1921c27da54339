import { existsSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { dataFolder } from '../../internal/data-folder.ts'
import { makeFolder } from '../../internal/make-folder.ts'
import { makePrivateFile } from '../../internal/private-file.ts'
import { BROUGHT_UP, bringUp, createSchema, SCHEMA_VERSION } from './schema.ts'

/** Another viewer of the file writes for less. */
export const BUSY_MS = 2000
export const SQLITE_FULL = 13
const PRAGMAS = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA busy_timeout = ${BUSY_MS};
  PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 16777216;`
const OPEN_ELSEWHERE = 'HOOKSPAN_OPEN_ELSEWHERE'

/** Where traces are kept when nothing else is said: the data folder of the user, by the custom of the system. */
export function defaultDatabaseFile(env: NodeJS.ProcessEnv = process.env): string {
  return join(dataFolder(env), 'traces.db')
}

export interface OpenedDatabase {
  db: DatabaseSync
  /** Where the file of another version went that had this one's name. */
  setAside: string | undefined
}

/**
 * Opens `file`, or memory for `:memory:`. A file written by another version of the viewer is brought up where that loses
 * nothing, and otherwise renamed, never read wrongly.
 *
 * @throws naming the file when it cannot be opened, is no database, or is in use by another version.
 */
export function openDatabase(file: string): OpenedDatabase {
  try {
    return open(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === OPEN_ELSEWHERE) throw error
    throw new Error(`Cannot open ${file}: ${(error as Error).message}. Name another file with --db.`, {
      cause: error,
    })
  }
}

function open(file: string): OpenedDatabase {
  let setAside: string | undefined
  if (file !== ':memory:') {
    // Traces hold prompts and results: only their owner may read them.
    makeFolder(dirname(file), { mode: 0o700 })
    setAside = setAsideOtherVersion(file)
    makePrivateFile(file)
  }
  const db = new DatabaseSync(file)
  try {
    db.exec(`PRAGMA auto_vacuum = INCREMENTAL; ${PRAGMAS}`)
  } catch (error) {
    if ((error as { errcode?: number }).errcode !== SQLITE_FULL) throw error
    // Not even the file that several viewers share has room: by itself it needs none, and shows what there is.
    db.exec(`PRAGMA locking_mode = EXCLUSIVE; ${PRAGMAS}`)
    if (versionOf(db) === SCHEMA_VERSION) return { db, setAside }
  }
  // First: until the version is written, with the tables, it is done again.
  if (BROUGHT_UP.has(versionOf(db))) bringUp(db)
  createSchema(db)
  return { db, setAside }
}

/** Where it went, if it did. One that can be brought up stays. */
function setAsideOtherVersion(file: string): string | undefined {
  if (!existsSync(file)) return undefined
  const db = new DatabaseSync(file)
  let version: number
  try {
    version = versionOf(db)
    if (version === SCHEMA_VERSION || version === 0) return undefined
    // What is in the write-ahead log moves along: leaving that mode folds it in, and cannot be done while another reads.
    if (!isAlone(db)) {
      const message = `${file} is in use by a viewer of another version. Stop that one, or name another file with --db.`
      throw Object.assign(new Error(message), { code: OPEN_ELSEWHERE })
    }
    if (BROUGHT_UP.has(version)) return undefined
  } finally {
    db.close()
  }
  const aside = `${file}.v${version}`
  renameSync(file, aside)
  return aside
}

function isAlone(db: DatabaseSync): boolean {
  try {
    const mode = db.prepare('PRAGMA journal_mode = DELETE').get() as { journal_mode: string }
    return mode.journal_mode === 'delete'
  } catch {
    return false
  }
}

function versionOf(db: DatabaseSync): number {
  return Number((db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version)
}
