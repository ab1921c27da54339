/** The store's file, where it is not what was expected. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openRunSource, startViewer } from 'hookspan/viewer'
import { afterEach, beforeEach, expect, it } from 'vitest'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hookspan-file-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('of another version is set aside whole and told of, and not while that version runs', async () => {
  const db = join(folder, 'traces.db')
  const old = new DatabaseSync(db)
  old.exec('PRAGMA journal_mode = WAL; CREATE TABLE run (something TEXT); PRAGMA user_version = 99')
  old.exec("INSERT INTO run VALUES ('kept')")
  await expect(startViewer({ db, port: 0 })).rejects.toThrow(
    `${db} is in use by a viewer of another version. Stop that one, or name another file with --db.`,
  )
  expect(old.prepare('SELECT something FROM run').all()).toHaveLength(1)
  old.close()
  const notices: string[] = []
  const viewer = await startViewer({ db, port: 0, onNotice: (notice) => notices.push(notice) })
  await viewer.close()
  expect(notices).toEqual([`Another version of the viewer wrote ${db}; that is kept as ${db}.v99.`])
  const aside = new DatabaseSync(`${db}.v99`)
  expect(aside.prepare('SELECT something FROM run').all()).toEqual([{ something: 'kept' }])
  aside.close()
})

it('of another version is set aside beside those that were before, and not in their place', async () => {
  const db = join(folder, 'traces.db')
  for (const what of ['first', 'second', 'third']) {
    const other = new DatabaseSync(db)
    other.exec(
      `CREATE TABLE run (something TEXT); INSERT INTO run VALUES ('${what}'); PRAGMA user_version = 99`,
    )
    other.close()
    await (await startViewer({ db, port: 0, onNotice: () => {} })).close()
    rmSync(db)
  }
  const kept = ['.v99', '.v99.2', '.v99.3'].map((end) => {
    const aside = new DatabaseSync(db + end)
    const rows = aside.prepare('SELECT something FROM run').all()
    aside.close()
    return rows[0]?.something
  })
  expect(kept).toEqual(['first', 'second', 'third'])
})

it.each([
  [99, 'a newer'],
  [3, 'an older'],
])('of another version (%i) stays where it is while it is only read', async (version, which) => {
  const db = join(folder, 'traces.db')
  const other = new DatabaseSync(db)
  other.exec(`CREATE TABLE run (something TEXT); PRAGMA user_version = ${version}`)
  other.close()
  await expect(openRunSource({ db })).rejects.toThrow(
    `${db} was written by ${which} version of hookspan. Read it with that one, or name another file with --db.`,
  )
  expect(readdirSync(folder)).toEqual(['traces.db'])
})

it('is no URL, of which SQLite would make one that anybody may read', async () => {
  const db = `file:${join(folder, 'traces.db')}`
  await expect(startViewer({ db, port: 0 })).rejects.toThrow(
    `Cannot open ${db}: it is a URL, and a path is needed. Name another file with --db.`,
  )
  expect(readdirSync(folder)).toEqual([])
})

it('that is no database is named, and left as it is', async () => {
  const db = join(folder, 'notes.txt')
  writeFileSync(db, 'hello')
  await expect(startViewer({ db, port: 0 })).rejects.toThrow(
    `Cannot open ${db}: file is not a database. Name another file with --db.`,
  )
  expect(readFileSync(db, 'utf8')).toBe('hello')
})

it('that has lost pages is named, and let go of', async () => {
  const db = join(folder, 'traces.db')
  await (await startViewer({ db, port: 0 })).close()
  const bytes = readFileSync(db)
  for (let page = 8_192; page < bytes.length; page += 8_192) bytes.fill(7, page, page + 2_048)
  writeFileSync(db, bytes)
  await expect(startViewer({ db, port: 0 })).rejects.toThrow(
    `Cannot open ${db}: database disk image is malformed. Name another file with --db.`,
  )
  rmSync(db)
  await (await startViewer({ db, port: 0 })).close()
})

it('that another process has for itself for a moment, as one that ends has, is waited for', async () => {
  const db = join(folder, 'traces.db')
  await (await startViewer({ db, port: 0 })).close()
  const holds = `
    const { DatabaseSync } = require('node:sqlite')
    const db = new DatabaseSync(${JSON.stringify(db)})
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    console.log('held')
    setTimeout(() => db.close(), 300)`
  const holder = spawn(process.execPath, ['--eval', holds], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(holder, 'exit')
  await once(holder.stdout, 'data')
  const viewer = await startViewer({ db, port: 0 })
  await viewer.close()
  expect(await ended).toEqual([0, null])
})

it('that another program writes to for long is read all the same, and one that nobody else may read is not named as the wrong one', async () => {
  const db = join(folder, 'traces.db')
  await (await startViewer({ db, port: 0 })).close()
  const other = new DatabaseSync(db)
  other.exec('BEGIN IMMEDIATE')
  const runs = await openRunSource({ db })
  expect(await runs.listRuns('', 10)).toMatchObject({ total: 0 })
  runs.close()
  other.exec(
    'ROLLBACK; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE meta SET value = value; COMMIT',
  )
  await expect(openRunSource({ db })).rejects.toThrow(
    `Cannot open ${db}: database is locked. Another program holds it: let that end, or what it has begun.`,
  )
  other.close()
}, 30_000)
