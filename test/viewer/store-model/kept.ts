/** What is in the file: nothing that is of no use any more, and no more bytes than it may have. */
import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'vitest'
import { MAX_CHUNK_SPANS } from '../../../src/viewer/otlp/incoming.ts'
import { Store } from '../../../src/viewer/store/store.ts'
import type { NaiveRun } from './naive-run.ts'

/** Of each table, the rows of which nobody will ever ask. */
const USELESS = {
  'origins that no chunk has': 'SELECT id FROM origin WHERE id NOT IN (SELECT origin FROM chunk)',
  'chunks without an origin': 'SELECT id FROM chunk WHERE origin NOT IN (SELECT id FROM origin)',
  'chunks without a run': 'SELECT id FROM chunk WHERE run NOT IN (SELECT id FROM run)',
  'logs without a run': 'SELECT id FROM log WHERE run NOT IN (SELECT id FROM run)',
  'sums without a run': 'SELECT run FROM run_use WHERE run NOT IN (SELECT id FROM run)',
  'replaced spans of no chunk': `SELECT id FROM superseded WHERE id / ${MAX_CHUNK_SPANS} NOT IN (SELECT id FROM chunk)`,
  'worn chunks that are none': 'SELECT id FROM worn WHERE id NOT IN (SELECT id FROM chunk)',
  'blocks without a segment': 'SELECT id FROM word_block WHERE segment NOT IN (SELECT id FROM word_segment)',
  'segments of nothing': `SELECT id FROM word_segment WHERE
    NOT EXISTS (SELECT 1 FROM chunk WHERE id > after_chunk AND id <= last_chunk) AND
    NOT EXISTS (SELECT 1 FROM log WHERE id > after_log AND id <= last_log)`,
  'gone ones in no segment': `SELECT id FROM gone WHERE
    NOT EXISTS (SELECT 1 FROM word_segment WHERE (gone.id > after_chunk AND gone.id <= last_chunk)
      OR (-gone.id > after_log AND -gone.id <= last_log))
    AND id <= (SELECT coalesce(max(value), 0) FROM meta WHERE key = 'words of chunks')
    AND -id <= (SELECT coalesce(max(value), 0) FROM meta WHERE key = 'words of logs')`,
}

/** Gives what there was to be seen. */
export function compareKept(file: string, stores: readonly Store[]): string[] {
  const db = new DatabaseSync(file)
  try {
    const useless = Object.entries(USELESS).map(([what, sql]) => [what, db.prepare(sql).all()])
    expect(Object.fromEntries(useless)).toEqual(Object.fromEntries(useless.map(([what]) => [what, []])))
    const { runs, spans } = db
      .prepare('SELECT (SELECT count(*) FROM run) AS runs, coalesce(sum(spans), 0) AS spans FROM chunk')
      .get() as { runs: number; spans: number }
    for (const store of stores) expect(store.counts()).toMatchObject({ runs, spans })
    const has = (table: string) => db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined
    return [
      ...(has('word_segment') ? ['keeps a segment'] : []),
      ...(has('gone') ? ['remembers what is gone'] : []),
    ]
  } finally {
    db.close()
  }
}

/** Sweeps the file down to a share of what is in it, and gives the runs that have to be gone: found by removing one after the other. */
export function makeRoom(file: string, runs: readonly NaiveRun[], share: number): string[] {
  const maxBytes = Math.floor(usedBytes(file) * share)
  const copy = `${file}.copy`
  for (const end of ['', '-wal']) if (existsSync(file + end)) copyFileSync(file + end, copy + end)
  const gone: string[] = []
  if (usedBytes(copy) > maxBytes) {
    // Those that came at one moment go as they came.
    const order = [...runs].sort((a, b) => a.receivedMs - b.receivedMs)
    const store = new Store({ file: copy })
    for (const { traceId } of order) {
      if (usedBytes(copy) <= maxBytes * 0.9) break
      store.removeRun(traceId)
      gone.push(traceId)
    }
    store.close()
  }
  for (const end of ['', '-wal', '-shm']) rmSync(copy + end, { force: true })
  const swept = new Store({ file, maxBytes })
  expect(swept.sweep()).toBe(gone.length)
  swept.close()
  const left = runs.map(({ traceId }) => traceId).filter((traceId) => !gone.includes(traceId))
  const db = new DatabaseSync(file)
  const ids = db.prepare('SELECT trace_id AS id FROM run').all() as { id: string }[]
  db.close()
  expect(ids.map(({ id }) => id).sort()).toEqual(left.sort())
  return gone
}

function usedBytes(file: string): number {
  const db = new DatabaseSync(file)
  const read = (name: string) => Number(Object.values(db.prepare(`PRAGMA ${name}`).get()!)[0])
  const used = (read('page_count') - read('freelist_count')) * read('page_size')
  db.close()
  return used
}
