import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { ApprovalAnswer, ExecutionClaim, RunClaim, SettledExecution } from '../gates/index.ts'
import { openDurableDatabase } from '../internal/durable-database.ts'
import { a, assertFields, required } from '../internal/expect.ts'
import { safeStringify } from '../internal/json.ts'
import { defined } from '../internal/objects.ts'
import { notAnswered } from './memory-store.ts'
import { SqliteHolder } from './sqlite-holder.ts'
import {
  type ApprovalRecord,
  type ApprovalStatus,
  type ApprovalStore,
  asOf,
  type ClosedRecord,
  isOver,
  type KeptRecord,
  listedRecord,
  RETENTION,
  type Retention,
  readRecord,
} from './store.ts'

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS hookspan_approvals (
    id TEXT PRIMARY KEY,
    root_operation_id TEXT NOT NULL,
    requested_at INTEGER NOT NULL,
    expires_at INTEGER,
    status TEXT NOT NULL DEFAULT 'pending',
    closed_at INTEGER,
    request TEXT NOT NULL,
    answer TEXT,
    execution TEXT,
    result TEXT
  ) STRICT;
  CREATE TABLE IF NOT EXISTS hookspan_runs (key TEXT PRIMARY KEY, holder TEXT NOT NULL, result TEXT) STRICT;
  CREATE INDEX IF NOT EXISTS hookspan_approvals_status ON hookspan_approvals (status, requested_at);
  CREATE INDEX IF NOT EXISTS hookspan_approvals_root ON hookspan_approvals (root_operation_id, requested_at);
  CREATE INDEX IF NOT EXISTS hookspan_approvals_requested ON hookspan_approvals (requested_at, id);`

/**
 * What a status asks of a row at the time `$now`, in words that an index has: stores keep all that was ever asked. By name, because
 * Node 22.15 counts no `?1` among the parameters by place.
 */
const IS: Readonly<Record<ApprovalStatus, string>> = {
  pending: "status = 'pending' AND ($now IS NULL OR expires_at IS NULL OR expires_at >= $now)",
  expired: "(status = 'expired' OR (status = 'pending' AND expires_at < $now))",
  answered: "status = 'answered'",
  cancelled: "status = 'cancelled'",
}

/** What is over is looked for no more often. */
const SWEEP_MS = 60_000
/** The process does nothing else meanwhile. */
const SWEPT_AT_ONCE = 2_000

const KEPT = { what: 'The approvals', of: 'requests', code: 'INVALID_OPTION' } as const

interface Row {
  readonly id: string
  readonly root_operation_id: string
  readonly requested_at: number
  readonly expires_at: number | null
  readonly request: string
  readonly status: ApprovalStatus
  readonly answer: string | null
  readonly closed_at: number | null
  readonly execution: 'claimed' | 'settled' | null
  readonly result: string | null
}

export interface SqliteStoreOptions extends Retention {
  /** The file; its folder is made. Its owner alone may read it. */
  path: string
}

/**
 * Keeps requests in a file, for all processes of one machine: the embedded default. What it said is on the disk.
 *
 * @throws HookspanError `INVALID_OPTION` for a file that is no store of approvals, or cannot be written.
 */
export function sqliteStore(options: SqliteStoreOptions): ApprovalStore {
  assertFields<SqliteStoreOptions>(options, { path: required(a.name), ...RETENTION }, 'sqliteStore')
  const kept = openDurableDatabase(options.path, makeTables, KEPT)
  const { keepMs } = options
  let sweptAt = Number.NEGATIVE_INFINITY
  /** What is over since so long, and what expired so long ago and nobody closed. */
  const forget = () => {
    if (keepMs === undefined || performance.now() - sweptAt < Math.min(keepMs, SWEEP_MS)) return
    sweptAt = performance.now()
    const until = Math.round(Date.now() - keepMs)
    for (const isLong of ['over_at < ?', "status = 'pending' AND expires_at < ?"]) {
      const some = `SELECT id FROM hookspan_approvals WHERE ${isLong} LIMIT ${SWEPT_AT_ONCE}`
      try {
        kept.db.prepare(`DELETE FROM hookspan_approvals WHERE id IN (${some})`).run(until)
      } catch {
        // A full or busy disk: next time. Nobody waits for it.
      }
    }
  }
  const holder = new SqliteHolder(options.path)
  const all = (sql: string, ...values: SQLInputValue[]) => kept.within((db) => db.prepare(sql).all(...values))
  /** Gives whether it changed anything. */
  const change = (sql: string, ...values: SQLInputValue[]) =>
    kept.within((db) => Number(db.prepare(sql).run(...values).changes) > 0)
  const row = async (id: string) => {
    const [found] = await all('SELECT * FROM hookspan_approvals WHERE id = ?', id)
    return found as unknown as Row | undefined
  }
  const asClosed = async (id: string, closed: boolean): Promise<ClosedRecord | undefined> => {
    const found = await row(id)
    return found && { record: listedOf(found), closed }
  }
  return {
    async add(request) {
      forget()
      await change(
        `INSERT INTO hookspan_approvals (id, root_operation_id, requested_at, expires_at, request)
         VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
        request.id,
        request.rootOperationId,
        Math.round(request.requestedAt),
        request.expiresAt === undefined ? null : Math.floor(request.expiresAt),
        safeStringify(request),
      )
      return readRecord(keptOf((await row(request.id)) as Row))
    },
    async get(id) {
      const found = await row(id)
      return found && readRecord(keptOf(found))
    },
    async closed(ids) {
      // The sign keeps SQLite from looking through all that is pending in other processes.
      const open = "SELECT 1 FROM hookspan_approvals WHERE id = value AND +status = 'pending'"
      const rows = await all(
        `SELECT value AS id FROM json_each(?) WHERE NOT EXISTS (${open})`,
        JSON.stringify(ids),
      )
      return rows.map(({ id }) => id as string)
    },
    async list({ status, rootOperationId, limit = 100 } = {}, now = undefined) {
      const wanted = [
        status && (IS[status] ?? 'FALSE'),
        rootOperationId !== undefined && 'root_operation_id = $rootOperationId',
      ]
      const where = ['$now IS $now', '$rootOperationId IS $rootOperationId']
      where.push(...wanted.filter((one) => typeof one === 'string'))
      const found = `SELECT * FROM hookspan_approvals WHERE ${where.join(' AND ')}`
      const rows = await kept.within((db) =>
        db.prepare(`${found} ORDER BY requested_at, id LIMIT $limit`).all({
          $now: now === undefined ? null : Math.round(now),
          $rootOperationId: rootOperationId ?? null,
          $limit: rowsOf(limit),
        }),
      )
      return (rows as unknown as Row[]).map((found) => asOf(listedOf(found), now))
    },
    async answer(id, answer: ApprovalAnswer, now) {
      const isTaken = await change(
        `UPDATE hookspan_approvals SET status = 'answered', answer = ?, closed_at = ?, over_at = ?
         WHERE id = ? AND status = 'pending' AND (expires_at IS NULL OR expires_at >= ?)`,
        safeStringify(answer),
        Math.round(now),
        isOver('answered', answer) ? Date.now() : null,
        id,
        Math.round(now),
      )
      return asClosed(id, isTaken)
    },
    async close(id, status, now) {
      const isClosed = await change(
        `UPDATE hookspan_approvals SET status = ?, closed_at = ?, over_at = ? WHERE id = ? AND status = 'pending'`,
        status,
        Math.round(now),
        Date.now(),
        id,
      )
      return asClosed(id, isClosed)
    },
    async claim(id): Promise<ExecutionClaim> {
      const isOurs = await change(
        `UPDATE hookspan_approvals SET execution = 'claimed', over_at = ?
         WHERE id = ? AND status = 'answered' AND execution IS NULL`,
        Date.now(),
        id,
      )
      if (isOurs) return { state: 'run' }
      const found = await row(id)
      if (found?.status !== 'answered') throw notAnswered(id)
      if (found.result === null) return { state: 'unknown' }
      return { state: 'done', result: JSON.parse(found.result) as SettledExecution }
    },
    async settle(id, result) {
      const isSettled = await change(
        `UPDATE hookspan_approvals SET execution = 'settled', result = ?, over_at = ?
         WHERE id = ? AND execution = 'claimed'`,
        safeStringify(result),
        Date.now(),
        id,
      )
      if (!isSettled) throw notAnswered(id)
    },
    async claimRun(key): Promise<RunClaim> {
      const own = options.path === ':memory:' ? '' : holder.id
      for (;;) {
        const added = 'INSERT INTO hookspan_runs (key, holder) VALUES (?, ?) ON CONFLICT (key) DO NOTHING'
        if (await change(added, key, own)) return { state: 'run' }
        const [known] = await all('SELECT holder, result FROM hookspan_runs WHERE key = ?', key)
        if (known === undefined) continue
        const { holder: other, result } = known as { holder: string; result: string | null }
        if (result !== null) return { state: 'done', result: JSON.parse(result) }
        if (own === '' || holder.isAlive(other)) return { state: 'held' }
        const taken = 'UPDATE hookspan_runs SET holder = ? WHERE key = ? AND holder = ? AND result IS NULL'
        if (await change(taken, own, key, other)) return { state: 'run' }
      }
    },
    async settleRun(key, result) {
      const own = options.path === ':memory:' ? '' : holder.id
      if (result === undefined) {
        await change('DELETE FROM hookspan_runs WHERE key = ? AND holder = ?', key, own)
      } else {
        const settled = 'UPDATE hookspan_runs SET result = ? WHERE key = ? AND holder = ?'
        await change(settled, safeStringify(result), key, own)
      }
    },
    async dispose() {
      holder.release()
      kept.close()
    },
  }
}

function makeTables(db: DatabaseSync): void {
  db.exec(SCHEMA)
  addColumn(db)
}

/** Since when nothing more is to be done. Files of versions before have no such column; what was over by then stays. */
function addColumn(db: DatabaseSync): void {
  const has = () =>
    db.prepare(`SELECT 1 FROM pragma_table_info('hookspan_approvals') WHERE name = 'over_at'`).get()
  if (!has()) {
    try {
      db.exec('ALTER TABLE hookspan_approvals ADD COLUMN over_at INTEGER')
    } catch (error) {
      // Another process did at this moment.
      if (!has()) throw error
    }
  }
  db.exec('CREATE INDEX IF NOT EXISTS hookspan_approvals_over ON hookspan_approvals (over_at)')
}

/** SQLite takes whole numbers. */
function rowsOf(limit: number): number {
  return Math.min(Math.trunc(limit), Number.MAX_SAFE_INTEGER)
}

function keptOf({ id, request, status, answer, closed_at, execution }: Row): KeptRecord {
  return defined({
    id,
    request,
    status,
    answer: answer ?? undefined,
    closedAt: closed_at ?? undefined,
    execution: execution ?? undefined,
  })
}

function listedOf(row: Row): ApprovalRecord {
  const { root_operation_id: rootOperationId, requested_at: requestedAt, expires_at: expiresAt } = row
  return listedRecord(
    keptOf(row),
    defined({ rootOperationId, requestedAt, expiresAt: expiresAt ?? undefined }),
  )
}
