import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { makeFolder } from './make-folder.ts'
import { makePrivateFile } from './private-file.ts'

/** Opens, or makes, an SQLite file that its owner alone may read. What was written to it is on the disk. */
export function openDurableDatabase(path: string, schema: string): DatabaseSync {
  if (path !== ':memory:') {
    makeFolder(dirname(path), { mode: 0o700 })
    makePrivateFile(path)
  }
  // Loaded late: programs that keep nothing need no SQLite.
  const sqlite = process.getBuiltinModule('node:sqlite')
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
