import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { SqliteHolder } from '../../approval/sqlite-holder.ts'
import { dataFolder } from '../../internal/data-folder.ts'
import { openDurableDatabase } from '../../internal/durable-database.ts'
import { a, assertFields, required } from '../../internal/expect.ts'
import { allOrNothing } from '../../internal/sqlite.ts'
import { type CheckpointClaim, type CheckpointStore, notHeld } from './store.ts'

const KEPT = { what: 'The checkpoints', of: 'runs', code: 'CHECKPOINT_FAILED' } as const

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS hookspan_checkpoint_runs (
    operation_id TEXT PRIMARY KEY,
    holder TEXT,
    token TEXT,
    saved_at INTEGER,
    about TEXT,
    records INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE IF NOT EXISTS hookspan_checkpoints (
    operation_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (operation_id, number)
  ) STRICT;`

interface Row {
  readonly operation_id: string
  readonly holder: string | null
  readonly saved_at: number
  readonly about: string
}

/** The file of `checkpoint: true`, and of the commands: `HOOKSPAN_CHECKPOINTS_DB`, else in the data folder of the user. */
function defaultCheckpointsFile(env: NodeJS.ProcessEnv = process.env): string {
  return env.HOOKSPAN_CHECKPOINTS_DB || join(dataFolder(env), 'checkpoints.db')
}

const opened = new Map<string, CheckpointStore>()

/** What `checkpoint: true` stands for: one store for the whole process. */
export function defaultCheckpoints(): CheckpointStore {
  const path = defaultCheckpointsFile()
  let store = opened.get(path)
  if (store === undefined) {
    store = sqliteCheckpoints({ path })
    opened.set(path, store)
    const { dispose } = store
    process.once('exit', () => void dispose?.().catch(() => {}))
  }
  return store
}

/**
 * Keeps runs in a file, for all processes of one machine. What it was given is on the disk. It knows at once when a
 * process that held a run has died.
 *
 * @param options.path the file; its folder is made. Its owner alone may read it.
 * @throws HookspanError `CHECKPOINT_FAILED` for a file that cannot be opened and written.
 */
export function sqliteCheckpoints(options: { path: string }): CheckpointStore {
  assertFields(options, { path: required(a.name) }, 'sqliteCheckpoints')
  const { path } = options
  const kept = openDurableDatabase(path, (db) => db.exec(SCHEMA), KEPT)
  const holders = new SqliteHolder(path)
  const own = () => (path === ':memory:' ? 'memory' : holders.id)
  /** Let go of while nothing could be written, as on a full disk: whoever asks this store for such a run is given it. */
  const left = new Set<string>()
  const isAlive = (holder: string | null) =>
    holder !== null && (path === ':memory:' || holders.isAlive(holder))
  const inOne = <T>(work: (db: DatabaseSync) => T) => kept.within((db) => allOrNothing(db, work))
  return {
    async claim(operationId): Promise<CheckpointClaim> {
      const holder = own()
      const token = crypto.randomUUID()
      return inOne((db) => {
        const known = db
          .prepare('SELECT holder, token, records FROM hookspan_checkpoint_runs WHERE operation_id = ?')
          .get(operationId) as { holder: string | null; token: string | null; records: number } | undefined
        if (known === undefined) {
          db.prepare(
            'INSERT INTO hookspan_checkpoint_runs (operation_id, holder, token) VALUES (?, ?, ?)',
          ).run(operationId, holder, token)
          return { state: 'claimed', token, records: [] }
        }
        const { token: before } = known
        if ((before === null || !left.has(before)) && isAlive(known.holder)) return { state: 'held' }
        const rows = db
          .prepare('SELECT record FROM hookspan_checkpoints WHERE operation_id = ? ORDER BY number')
          .all(operationId) as { record: string }[]
        db.prepare('UPDATE hookspan_checkpoint_runs SET holder = ?, token = ? WHERE operation_id = ?').run(
          holder,
          token,
          operationId,
        )
        // In their place, so that it is not gone on with, and can be discarded.
        const lost = JSON.stringify(`${rows.length} of its ${known.records} records are in "${path}"`)
        const isWhole = rows.length === known.records
        return { state: 'claimed', token, records: isWhole ? rows.map(({ record }) => record) : [lost] }
      })
    },
    async append(operationId, token, { record, about }) {
      await inOne((db) => {
        const { changes } = db
          .prepare(
            `UPDATE hookspan_checkpoint_runs SET saved_at = ?, about = ?, records = records + 1
             WHERE operation_id = ? AND token = ?`,
          )
          .run(Date.now(), about, operationId, token)
        if (Number(changes) === 0) throw notHeld(operationId)
        db.prepare(
          `INSERT INTO hookspan_checkpoints (operation_id, number, record)
           SELECT operation_id, records, ? FROM hookspan_checkpoint_runs WHERE operation_id = ?`,
        ).run(record, operationId)
      })
    },
    async release(operationId, token, { finished }) {
      left.add(token)
      await inOne((db) => {
        const gone = db
          .prepare(
            `DELETE FROM hookspan_checkpoint_runs WHERE operation_id = ? AND token = ? AND (? OR records = 0)`,
          )
          .run(operationId, token, finished ? 1 : 0)
        if (Number(gone.changes) > 0) {
          db.prepare('DELETE FROM hookspan_checkpoints WHERE operation_id = ?').run(operationId)
        } else {
          db.prepare(
            'UPDATE hookspan_checkpoint_runs SET holder = NULL, token = NULL WHERE operation_id = ? AND token = ?',
          ).run(operationId, token)
        }
      })
      left.delete(token)
    },
    async list() {
      const listed = `SELECT operation_id, holder, saved_at, about FROM hookspan_checkpoint_runs WHERE records > 0
        ORDER BY saved_at, operation_id`
      const rows = await kept.within((db) => db.prepare(listed).all() as unknown as Row[])
      return rows.map(({ operation_id: operationId, holder, saved_at: savedAt, about }) => {
        return { operationId, savedAt, held: isAlive(holder), about }
      })
    },
    async dispose() {
      holders.release()
      kept.close()
    },
  }
}
