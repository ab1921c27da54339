/** Runs on a real DBOS and Postgres, killed at the moments that are hard. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectHeld } from './support/held.ts'
import { Postgres } from './support/postgres.ts'
import type { Line } from './support/scenario.ts'
import { until } from './support/wait.ts'
import { linesIn, Worker } from './support/worker.ts'

const shared = mkdtempSync(`${tmpdir()}/hookspan-dbos-`)
let postgres: Postgres
beforeAll(async () => {
  postgres = await Postgres.start(`${shared}/postgres`)
})
afterAll(async () => {
  await postgres.stop()
  rmSync(shared, { recursive: true, force: true })
})

let count = 0
function scene(what: string) {
  const folder = mkdtempSync(`${shared}/run-`)
  // DBOS takes up the runs of its own version, and of no other.
  const version = `v${count++}`
  const worker = new Worker('dbos-worker', folder, postgres.url, version, what)
  return { folder, worker, id: `${version}-1` }
}

const said = (folder: string, what: (line: Line) => boolean) =>
  until('a line', async () => linesIn(folder).find(what))
const begins = (tool: string) => (line: Line) =>
  'tool' in line && line.tool === tool && line.phase === 'begin'
const waits = (line: Line) => 'mark' in line && line.mark === 'store add'

async function answer(folder: string): Promise<void> {
  const approvals = createApprovals({ store: sqliteStore({ path: `${folder}/approvals.db` }) })
  const record = await until('a request', async () => (await approvals.list({ status: 'pending' }))[0])
  await approvals.respond(record.request.id, { decision: 'approve', approver: 'ann' })
  await approvals.close()
}

async function ended(
  folder: string,
): Promise<{ reason: string; content?: string; value?: string; endedBy?: string }> {
  await said(folder, (line) => 'mark' in line && line.mark === 'done')
  return JSON.parse(readFileSync(`${folder}/done.json`, 'utf8'))
}

describe.each(['agent', 'loop'])('a durable %s on DBOS', (what) => {
  it.each([
    ['parallel tools', 'worker', begins('write')],
    ['parallel tools', 'both', begins('write')],
    ['research', 'worker', begins('note')],
    ['a wait for a human', 'worker', waits],
    ['a wait for a human', 'engine', waits],
    ['a wait for a human', 'both', waits],
  ] as const)('is killed during %s: the %s', async (_name, killed, moment) => {
    const { folder, worker, id } = scene(what)
    worker.start({ TOOL_MS: '700' })
    await said(folder, moment)
    if (killed !== 'engine') await worker.kill()
    if (killed !== 'worker') await postgres.kill()
    if (killed !== 'worker') await postgres.start()
    if (killed !== 'engine') worker.start()
    await answer(folder)
    const { reason, content, value } = await ended(folder)
    expect(reason).toBe('done')
    expectHeld(expect, { lines: linesIn(folder), operationId: id, told: content ?? value ?? '', kills: 1 })
    await worker.kill()
  })

  it('ends when its time is over, which goes on while nobody runs it', async () => {
    const { folder, worker } = scene(what)
    worker.start({ MAX_DURATION_MS: '3000' })
    await said(folder, waits)
    await worker.kill()
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    worker.start({ MAX_DURATION_MS: '3000' })
    expect(await ended(folder)).toMatchObject({ reason: 'interrupted', endedBy: 'maxDurationMs' })
    await worker.kill()
  })
})
