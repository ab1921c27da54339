import type { DatabaseSync } from 'node:sqlite'

/**
 * Loaded late: most programs need no SQLite.
 *
 * @throws Error where this process has none, as under `--no-experimental-sqlite`.
 */
export function loadSqlite(): typeof import('node:sqlite') {
  const sqlite: typeof import('node:sqlite') | undefined = process.getBuiltinModule('node:sqlite')
  if (sqlite === undefined) throw new Error('this process has no `node:sqlite`; was it switched off?')
  return sqlite
}

/**
 * Of a name that begins so SQLite makes another file than the one of that name: it would not be the owner's alone, and who
 * names the same one by its path would not see who holds its runs.
 *
 * @throws Error for a `file:` URL.
 */
export function assertNoUrl(file: string): void {
  if (file.startsWith('file:')) throw new Error('it is a URL, and a path is needed')
}

/** Writes all of it, or nothing. */
export function allOrNothing<T>(db: DatabaseSync, write: (db: DatabaseSync) => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const given = write(db)
    db.exec('COMMIT')
    return given
  } catch (error) {
    try {
      db.exec('ROLLBACK')
    } catch {
      // SQLite has rolled it back already, as on a full disk. Node 22.15 does not tell whether it has.
    }
    throw error
  }
}

const SQLITE_BUSY = 5

/** Another process has it. */
export function isBusy(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY
}
