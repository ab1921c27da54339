/** What the viewer does by itself: sums for everybody, the index of the text for who looks. */
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { databaseFile, start } from './start.ts'
import { getJson, id, otlp, post } from './support.ts'

it('sums what came, indexes it when somebody looks, and folds its log into the file when nothing comes', async () => {
  const db = databaseFile()
  const viewer = await start({ db })
  const spans = Array.from({ length: 50 }, (_, at) => ({
    traceId: (at + 1).toString(16).padStart(32, 'd'),
    spanId: id(at + 1),
    name: 'span',
    attributes: { note: at === 7 ? 'walrus' : `penguin ${at}` },
  }))
  await post(viewer, otlp(spans))
  const file = new DatabaseSync(db, { readOnly: true })
  const count = (sql: string) => Number(Object.values(file.prepare(sql).get()!)[0])
  const soon = { timeout: 20_000 }
  await expect.poll(() => count('SELECT count(*) FROM run WHERE dirty = 1'), soon).toBe(0)
  // Once it has nothing to do.
  await expect.poll(() => statSync(`${db}-wal`).size, soon).toBe(0)
  expect(viewer.store.indexing).toBe(50)
  await getJson(viewer, '/api/runs')
  await expect.poll(() => viewer.store.indexing, soon).toBe(0)
  expect(await getJson(viewer, '/api/search?q=walrus')).toMatchObject({
    hits: [{ spanId: id(8) }],
    indexing: 0,
  })
  file.close()
})

it('finds open runs by an index, however many are over', async () => {
  const db = databaseFile()
  const viewer = await start({ db })
  await post(viewer, otlp([{ spanId: id(1) }]))
  const file = new DatabaseSync(db, { readOnly: true })
  const open = "status IN ('running', 'waiting')"
  for (const sql of [
    `SELECT id, trace_id, received_ms, dirty, status FROM run WHERE dirty = 0 AND ${open}`,
    `SELECT id, trace_id FROM run WHERE ${open} AND status = 'waiting' ORDER BY id DESC`,
  ]) {
    const plan = file.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
    expect(plan.map(({ detail }) => detail).join()).toContain('run_open')
  }
  file.close()
})
