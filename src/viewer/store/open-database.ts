import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { homedir, platform } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createSchema, SCHEMA_VERSION } from './schema.ts'

/** Where traces are kept when nothing else is said: the data folder of the user, by the custom of the system. */
export function defaultDatabaseFile(env: NodeJS.ProcessEnv = process.env): string {
  return join(dataFolder(env), 'traces.db')
}

export function dataFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (env.HOOKSPAN_HOME) return env.HOOKSPAN_HOME
  if (platform() === 'win32') return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'hookspan')
  if (platform() === 'darwin') return join(homedir(), 'Library', 'Application Support', 'hookspan')
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'hookspan')
}

/** Opens `file`, or memory for `:memory:`. A file written by another version of the viewer is renamed, never read wrongly. */
export function openDatabase(file: string): DatabaseSync {
  if (file !== ':memory:') {
    // Traces hold prompts and results: only their owner may read them.
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    setAsideOtherVersion(file)
  }
  const db = new DatabaseSync(file)
  db.exec(`
    PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA busy_timeout = 2000;
    PRAGMA wal_autocheckpoint = 8000; PRAGMA journal_size_limit = 67108864;`)
  createSchema(db)
  return db
}

function setAsideOtherVersion(file: string): void {
  if (!existsSync(file)) return
  const db = new DatabaseSync(file)
  const version = versionOf(db)
  db.close()
  if (version === SCHEMA_VERSION || version === 0) return
  renameSync(file, `${file}.v${version}`)
}

function versionOf(db: DatabaseSync): number {
  return Number((db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version)
}
