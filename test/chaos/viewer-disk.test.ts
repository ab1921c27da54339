/** A full disk: nothing that was acknowledged is lost, and whatever is there can be looked at. */
import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { id, otlp } from '../viewer/support.ts'
import { smallDisk } from './support/small-disk.ts'
import { tell } from './support/tell.ts'
import { askAll, routesOf, startViewerProcess, type ViewerProcess } from './support/viewer.ts'

const traceOf = (run: number) => run.toString(16).padStart(32, '0')

interface List {
  runs: { traceId: string; title: string; spans: number; toolCalls: number }[]
}

/** One run after another, until it is not taken; gives those that were. */
async function fill(viewer: ViewerProcess, first: number): Promise<{ taken: string[]; status: number }> {
  const taken: string[] = []
  for (let run = first; run < first + 500; run++) {
    const traceId = traceOf(run)
    const attributes = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'search',
      noise: randomBytes(1500).toString('base64'),
    }
    const response = await viewer.send(otlp([{ traceId, spanId: id(1), name: `run ${run}`, attributes }]))
    if (response.status !== 200) return { taken, status: response.status }
    taken.push(traceId)
  }
  return { taken, status: 200 }
}

/** As another process sees it. */
function runsIn(file: string): number {
  const db = new DatabaseSync(file)
  try {
    return Number((db.prepare('SELECT count(*) AS runs FROM run').get() as { runs: number }).runs)
  } finally {
    db.close()
  }
}

/** To the last byte. */
function fillUp(file: string): void {
  expect(() => {
    for (;;) appendFileSync(file, Buffer.alloc(4096))
  }).toThrow('ENOSPC')
}

function unlessLocked(read: () => number): number {
  try {
    return read()
  } catch {
    return -1
  }
}

const list = async (viewer: ViewerProcess) =>
  (await (await viewer.ask('/api/runs?limit=1000')).json()) as List

it('shows every run it took when its disk is full, before and after a restart, and takes more once there is room', async ({
  skip,
}) => {
  using disk = smallDisk(1024 * 1024)
  if (!disk) return skip('needs the right to mount a tmpfs')
  const db = join(disk.path, 'traces.db')
  const ballast = join(disk.path, 'ballast')
  const spare = join(disk.path, 'spare')
  writeFileSync(ballast, Buffer.alloc(200 * 1024))
  writeFileSync(spare, Buffer.alloc(200 * 1024))
  const all: string[] = []
  {
    await using viewer = await startViewerProcess({ db })
    const { taken, status } = await fill(viewer, 1)
    expect(status).toBe(503)
    expect(taken.length).toBeGreaterThan(5)
    all.push(...taken)
    const { runs } = await list(viewer)
    expect(runs.map(({ traceId }) => traceId).sort()).toEqual(all.toSorted())
    // What came last could not be summed into its row; it is summed for whoever looks.
    expect(runs.filter(({ spans, toolCalls }) => spans === 1 && toolCalls === 1)).toHaveLength(all.length)
    for (const traceId of [all[0]!, all.at(-1)!]) await askAll(viewer, routesOf(traceId, id(1)))
    expect((await (await viewer.ask('/api/status')).json()) as object).toMatchObject({
      storageError: expect.stringContaining('full'),
    })
    for (const [path, init] of [
      [`/api/runs/${all[0]}`, { method: 'DELETE' }],
      [
        '/api/import',
        { method: 'POST', body: JSON.stringify(otlp([{ traceId: traceOf(999), spanId: id(1) }])) },
      ],
    ] as const)
      expect([path, (await viewer.ask(path, init)).status]).toEqual([path, expect.toBeOneOf([200, 503])])
    all.splice(
      0,
      all.length,
      ...(await list(viewer)).runs.map(({ traceId }) => traceId).filter((traceId) => all.includes(traceId)),
    )
    expect(all.length).toBeGreaterThanOrEqual(taken.length - 1)
  }
  const rest = join(disk.path, 'rest')
  // What is shared by those that have the file open is made anew, and takes the room that is left.
  rmSync(`${db}-shm`, { force: true })
  fillUp(rest)
  {
    await using viewer = await startViewerProcess({ db })
    expect((await list(viewer)).runs.map(({ traceId }) => traceId)).toEqual(expect.arrayContaining(all))
    await askAll(viewer, routesOf(all[0]!, id(1)))
    // Without room for what several share it has the file for itself.
    expect(() => runsIn(db)).toThrow('locked')
    rmSync(rest)
    rmSync(ballast)
    const { taken } = await fill(viewer, 2000)
    const after = (await list(viewer)).runs.map(({ traceId }) => traceId)
    const missing = [...all, ...taken].filter((traceId) => !after.includes(traceId))
    tell({
      done: 'viewer: its disk full, every run asked for, restarted, room made',
      times: all.length + taken.length,
      lost: missing.length,
    })
    expect(missing).toEqual([])
    expect(taken.length).toBeGreaterThan(0)
    // It filled the disk again. With room others can open the file, once nothing comes for a while.
    rmSync(spare)
    await viewer.send(otlp([{ traceId: traceOf(1), spanId: id(2) }]))
    await expect.poll(() => unlessLocked(() => runsIn(db)), { timeout: 70_000 }).toBe(after.length)
  }
})

it('takes nothing that would be gone with it, once its file was removed, and says so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-removed-'))
  const db = join(folder, 'traces.db')
  try {
    await using viewer = await startViewerProcess({ db })
    const send = (run: number) =>
      viewer.send(otlp([{ traceId: traceOf(run), spanId: id(1), name: `run ${run}` }]))
    expect((await send(1)).status).toBe(200)
    for (const name of readdirSync(folder)) rmSync(join(folder, name))
    const refused = await send(2)
    expect(refused.status).toBe(503)
    expect(await refused.text()).toContain('was removed')
    // What it has is shown as long as it lives.
    expect((await list(viewer)).runs.map(({ traceId }) => traceId)).toEqual([traceOf(1)])
    expect(readdirSync(folder)).toEqual([])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
