import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { dataFolder } from '../../internal/data-folder.ts'
import { makeFolder } from '../../internal/make-folder.ts'
import { makePrivateFile } from '../../internal/private-file.ts'
import { assertNoUrl } from '../../internal/sqlite.ts'
import { BROUGHT_UP, bringUp, createSchema, SCHEMA_VERSION } from './schema.ts'

/** Another viewer of the file writes for less. From the first statement on: the first read may meet one that ends. */
export const BUSY_MS = 2000
const SQLITE_BUSY = 5
const SQLITE_READONLY = 8
const SQLITE_FULL = 13
/** The file that several viewers share could not be made as long as it has to be. */
const SQLITE_IOERR_SHMSIZE = 4874
/** More than it is. */
const SHARED_BYTES = 64 * 1024
const PRAGMAS = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;
  PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 16777216;`
const MENDS: Readonly<Record<number, string>> = {
  [SQLITE_BUSY]: 'Another program holds it: let that end, or what it has begun',
  [SQLITE_READONLY]: 'Who reads it writes beside it: copy it, with its -wal, and name the copy with --db',
}
const OPEN_ELSEWHERE = 'HOOKSPAN_OPEN_ELSEWHERE'

/** Where traces are kept when nothing else is said: the data folder of the user, by the custom of the system. */
export function defaultDatabaseFile(env: NodeJS.ProcessEnv = process.env): string {
  return join(dataFolder(env), 'traces.db')
}

function codeOf(error: unknown): number {
  return (error as { errcode?: number }).errcode ?? 0
}

function isDiskFull(error: unknown): boolean {
  const code = codeOf(error)
  return code % 256 === SQLITE_FULL || code === SQLITE_IOERR_SHMSIZE
}

/** There is no room, or another program writes: what is there can be read all the same. */
export function cannotWriteNow(error: unknown): boolean {
  return isDiskFull(error) || codeOf(error) % 256 === SQLITE_BUSY
}

export interface OpenedDatabase {
  db: DatabaseSync
  /** Nobody else can open it until `shareDatabase`: there was no room for the file that several share. */
  isAlone: boolean
  /** Where the file of another version went that had this one's name. */
  setAside: string | undefined
}

/**
 * Opens `file`, or memory for `:memory:`. A file written by another version of the viewer is brought up where that loses
 * nothing, and otherwise renamed, never read wrongly.
 *
 * @param mayMove False for who only reads: a file of another version is refused, and stays where it is.
 * @throws naming the file when it cannot be opened, is no database, or is in use by another version.
 */
export function openDatabase(file: string, mayMove = true): OpenedDatabase {
  try {
    return open(file, mayMove)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === OPEN_ELSEWHERE) throw error
    throw cannotOpen(file, error)
  }
}

export function cannotOpen(file: string, error: unknown): Error {
  const why = (error as Error).message
  const mend = MENDS[codeOf(error) % 256] ?? 'Name another file with --db'
  return new Error(`Cannot open ${file}: ${why}. ${mend}.`, { cause: error })
}

function open(file: string, mayMove: boolean): OpenedDatabase {
  assertNoUrl(file)
  let setAside: string | undefined
  if (file !== ':memory:') {
    // Traces hold prompts and results: only their owner may read them.
    makeFolder(dirname(file), { mode: 0o700 })
    setAside = setAsideOtherVersion(file, mayMove)
    makePrivateFile(file)
  }
  let { db, isAlone } = connect(file)
  try {
    db.exec(`PRAGMA auto_vacuum = INCREMENTAL; ${PRAGMAS}`)
  } catch (error) {
    if (!cannotWriteNow(error)) throw error
    if (!isAlone && isDiskFull(error)) {
      db.close()
      db = connectAlone(file)
      isAlone = true
    }
    db.exec(PRAGMAS)
    if (versionOf(db) === SCHEMA_VERSION) return { db, setAside, isAlone }
  }
  // First: until the version is written, with the tables, it is done again.
  if (BROUGHT_UP.has(versionOf(db))) bringUp(db, versionOf(db))
  try {
    createSchema(db)
  } catch (error) {
    // Everything is there; only that it is could not be written again.
    if (!cannotWriteNow(error) || versionOf(db) !== SCHEMA_VERSION) throw error
  }
  return { db, setAside, isAlone }
}

/** Lets others open it again, where there is room by now; says whether they can. */
export function shareDatabase(db: DatabaseSync, file: string): boolean {
  // A write-ahead log that was begun alone stays so: it is folded in, and another one begun.
  if (!hasRoom(file) || !leavesLog(db)) return false
  db.exec('PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL')
  versionOf(db)
  return true
}

/** Found out beforehand: a connection that misses it later could not go back. */
function hasRoom(file: string): boolean {
  const trial = `${file}.room`
  try {
    writeFileSync(trial, Buffer.alloc(SHARED_BYTES), { mode: 0o600 })
    return true
  } catch {
    return false
  } finally {
    rmSync(trial, { force: true })
  }
}

/** Where it went, if it did. One that can be brought up stays. */
function setAsideOtherVersion(file: string, mayMove: boolean): string | undefined {
  if (!existsSync(file)) return undefined
  const { db } = connect(file)
  let version: number
  try {
    version = versionOf(db)
    if (version === SCHEMA_VERSION || version === 0) return undefined
    if (!mayMove && !BROUGHT_UP.has(version)) throw ofOtherVersion(file, version)
    // What is in the write-ahead log moves along: leaving that mode folds it in, and cannot be done while another reads.
    if (!leavesLog(db)) {
      const message = `${file} is in use by a viewer of another version. Stop that one, or name another file with --db.`
      throw Object.assign(new Error(message), { code: OPEN_ELSEWHERE })
    }
    if (BROUGHT_UP.has(version)) return undefined
  } finally {
    db.close()
  }
  const aside = freeName(`${file}.v${version}`)
  renameSync(file, aside)
  return aside
}

function ofOtherVersion(file: string, version: number): Error {
  const other = version > SCHEMA_VERSION ? 'a newer' : 'an older'
  const message = `${file} was written by ${other} version of hookspan. Read it with that one, or name another file with --db.`
  return Object.assign(new Error(message), { code: OPEN_ELSEWHERE })
}

/** Two versions that take turns set aside one file after the other, and each has runs of its own. */
function freeName(name: string): string {
  for (let number = 1; ; number++) {
    const free = number === 1 ? name : `${name}.${number}`
    if (!existsSync(free)) return free
  }
}

/** Whether what is in the write-ahead log could be folded in: not while another reads, nor without room. */
function leavesLog(db: DatabaseSync): boolean {
  try {
    const mode = db.prepare('PRAGMA journal_mode = DELETE').get() as { journal_mode: string }
    return mode.journal_mode === 'delete'
  } catch {
    return false
  }
}

/** Alone where not even the file that several viewers share has room: by itself it needs none, and shows what there is. */
function connect(file: string): { db: DatabaseSync; isAlone: boolean } {
  const db = waiting(file)
  try {
    versionOf(db)
    return { db, isAlone: false }
  } catch (error) {
    db.close()
    if (!isDiskFull(error)) throw error
    return { db: connectAlone(file), isAlone: true }
  }
}

/** Has to be told before anything is read. */
function connectAlone(file: string): DatabaseSync {
  const db = waiting(file)
  db.exec('PRAGMA locking_mode = EXCLUSIVE')
  return db
}

/** Told by a statement: Node 22.15 takes no `timeout` where it opens a file. */
function waiting(file: string): DatabaseSync {
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`)
  return db
}

function versionOf(db: DatabaseSync): number {
  return Number((db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version)
}
