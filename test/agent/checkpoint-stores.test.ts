import { existsSync, readFileSync, truncateSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { HookDispatcher } from 'hookspan'
import {
  type Agent,
  type AgentTool,
  type CheckpointStore,
  discardRun,
  execAgent,
  redisCheckpoints,
  resumeAgent,
  sqliteCheckpoints,
  unfinishedRuns,
} from 'hookspan/agent'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { callTools, scriptedModel } from 'hookspan/mock'
import { createClient } from 'redis'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { folder, redisUrl } from '../approval/support.ts'
import { KeptRuns } from './kept-runs.ts'

/** Two of a kind are two processes that share what is kept. */
type Make = () => { store: CheckpointStore; other: CheckpointStore }

const both = (make: () => CheckpointStore) => {
  const [store, other] = [make(), make()]
  onTestFinished(async () => {
    await store.dispose?.()
    await other.dispose?.()
  })
  return { store, other }
}
const STORES: [string, Make][] = [
  [
    'sqliteCheckpoints',
    () => {
      const path = `${folder()}/deep/checkpoints.db`
      return both(() => sqliteCheckpoints({ path }))
    },
  ],
  [
    'sqliteCheckpoints in memory',
    () => {
      const store = sqliteCheckpoints({ path: ':memory:' })
      return { store, other: store }
    },
  ],
  [
    'the four functions',
    () => {
      const store = new KeptRuns()
      return { store, other: store }
    },
  ],
]
const url = await redisUrl()
if (url !== undefined) {
  STORES.push([
    'redisCheckpoints',
    () => {
      const prefix = `${crypto.randomUUID()}:`
      return both(() => redisCheckpoints({ url, prefix }))
    },
  ])
}

async function claimed(store: CheckpointStore, operationId: string) {
  const claim = await store.claim(operationId)
  if (claim.state === 'held') throw new Error('held')
  return claim
}

describe.each(STORES)('%s', (_name, make) => {
  it('gives a run to one at a time, with its records in their order', async () => {
    const { store, other } = make()
    const claims = await Promise.all([store.claim('a'), other.claim('a'), store.claim('a')])
    const [own] = claims.filter((claim) => claim.state === 'claimed')
    expect(claims.filter(({ state }) => state === 'held')).toHaveLength(2)
    expect(own?.records).toEqual([])
    const { token } = own as { token: string }
    const texts = ['one', 'two "quoted"', 'three \u2028 ü', '']
    for (const record of texts) await store.append('a', token, { record, about: `{"n":"${record.length}"}` })
    expect(await other.claim('a')).toEqual({ state: 'held' })
    await store.release('a', token, { finished: false })
    expect((await claimed(other, 'a')).records).toEqual(texts)
    expect((await claimed(store, 'b')).records).toEqual([])
  })

  it('takes nothing from who does not hold it any more', async () => {
    const { store, other } = make()
    const first = await claimed(store, 'a')
    await store.append('a', first.token, { record: 'one', about: '{}' })
    await store.release('a', first.token, { finished: false })
    const second = await claimed(other, 'a')
    await expect(store.append('a', first.token, { record: 'two', about: '{}' })).rejects.toThrow()
    await store.release('a', first.token, { finished: true })
    await other.append('a', second.token, { record: 'three', about: '{}' })
    await other.release('a', second.token, { finished: false })
    expect((await claimed(store, 'a')).records).toEqual(['one', 'three'])
  })

  it('forgets what has ended, and what was never saved', async () => {
    const { store, other } = make()
    const ended = await claimed(store, 'ended')
    await store.append('ended', ended.token, { record: 'one', about: '{}' })
    await store.release('ended', ended.token, { finished: true })
    const empty = await claimed(store, 'empty')
    await store.release('empty', empty.token, { finished: false })
    expect(await other.list()).toEqual([])
    expect((await claimed(other, 'ended')).records).toEqual([])
  })

  it('lists what is kept, and whether somebody has it', async () => {
    const { store, other } = make()
    for (const id of ['a', 'b']) {
      const { token } = await claimed(store, id)
      await store.append(id, token, { record: '1', about: '{"old":1}' })
      await store.append(id, token, { record: '2', about: `{"id":"${id}"}` })
      if (id === 'a') await store.release(id, token, { finished: false })
    }
    const list = await other.list()
    expect(list.map(({ operationId, held, about }) => ({ operationId, held, about }))).toEqual([
      { operationId: 'a', held: false, about: '{"id":"a"}' },
      { operationId: 'b', held: true, about: '{"id":"b"}' },
    ])
    expect(list.every(({ savedAt }) => Number.isFinite(savedAt))).toBe(true)
  })
})

describe('a file of sqliteCheckpoints', () => {
  /** With a run of three records, all of it in the file itself. */
  async function file(change: (db: DatabaseSync) => void = () => {}): Promise<string> {
    const path = `${folder()}/checkpoints.db`
    const store = sqliteCheckpoints({ path })
    const { token } = await claimed(store, 'a')
    for (const n of [1, 2, 3]) await store.append('a', token, { record: `${n}`.repeat(9_000), about: '{}' })
    await store.release('a', token, { finished: false })
    await store.dispose?.()
    const db = new DatabaseSync(path)
    change(db)
    db.close()
    return path
  }

  it.each([100, 4_096, 20_000])('that was cut to %i bytes says so, and what to do', async (bytes) => {
    const path = await file()
    truncateSync(path, bytes)
    expect(() => sqliteCheckpoints({ path })).toThrow(
      /checkpoints.db" cannot be opened: .*Put a whole copy of it back/,
    )
  })

  it('that has lost a record gives the run to nobody, until it is whole or discarded', async () => {
    const lost = 'SELECT * FROM hookspan_checkpoints WHERE number = 3'
    const path = await file((db) => {
      db.exec(`CREATE TABLE kept AS ${lost}; DELETE FROM hookspan_checkpoints WHERE number = 3`)
    })
    const kept = (change: (db: DatabaseSync) => void) => {
      const db = new DatabaseSync(path)
      change(db)
      db.close()
    }
    const store = sqliteCheckpoints({ path })
    onTestFinished(() => store.dispose?.())
    const asked = { agent: { name: 'a', model: 'm' }, client: scriptedModel(['done']), checkpoint: store }
    for (const time of ['once', 'twice']) {
      await expect(resumeAgent({ ...asked, operationId: 'a' }), time).rejects.toMatchObject({
        code: 'INVALID_STATE',
        message: /2 of its 3 records are in .*checkpoints.db.* `hookspan resume a --discard`, or discardRun/s,
      })
    }
    kept((db) => db.exec('INSERT INTO hookspan_checkpoints SELECT * FROM kept'))
    const { token, records } = await claimed(store, 'a')
    expect(records).toHaveLength(3)
    await store.release('a', token, { finished: false })
    kept((db) => db.exec('DELETE FROM hookspan_checkpoints WHERE number = 1'))
    await discardRun(store, 'a')
    expect(await unfinishedRuns(store)).toEqual([])
  })

  it('of tables that this hookspan does not know says so where runs are listed', async () => {
    const path = await file((db) => db.exec('ALTER TABLE hookspan_checkpoint_runs DROP COLUMN about'))
    const store = sqliteCheckpoints({ path })
    onTestFinished(() => store.dispose?.())
    await expect(unfinishedRuns(store)).rejects.toMatchObject({
      code: 'CHECKPOINT_FAILED',
      message: /cannot be listed: no such column: about/,
    })
  })
})

it.skipIf(url === undefined)(
  'a lease in Redis runs out, and its holder has lost the run when another took it',
  async () => {
    const prefix = `${crypto.randomUUID()}:`
    const place = { url: url as string, prefix, leaseMs: 1_000 }
    const store = redisCheckpoints(place)
    const { token } = await claimed(store, 'a')
    await store.append('a', token, { record: 'one', about: '{}' })
    // The connection of a process that dies: nobody says any more that it has the run.
    await store.dispose?.()
    const other = redisCheckpoints(place)
    onTestFinished(() => other.dispose?.())
    await expect.poll(async () => (await other.claim('a')).state).toBe('claimed')
    const late = redisCheckpoints(place)
    onTestFinished(() => late.dispose?.())
    await expect(late.append('a', token, { record: 'two', about: '{}' })).rejects.toMatchObject({
      code: 'STATE_CLAIMED',
    })
  },
)

it.skipIf(url === undefined)(
  'a run in Redis that another process has, whose lease ran out here, leaves it the answer of the human',
  async () => {
    const prefix = `${crypto.randomUUID()}:`
    const admin = await createClient({ url: url as string }).connect()
    onTestFinished(() => admin.destroy())
    const requests = memoryStore()
    const ran: string[] = []
    const run = (name: string, pollMs: number, goesOn: typeof execAgent | typeof resumeAgent) => {
      const execute = () => void ran.push(name)
      const agent: Agent = { name: 'a', model: 'm', tools: [{ name: 't', needsApproval: true, execute }] }
      const checkpoint = redisCheckpoints({ url: url as string, prefix, leaseMs: 1_000 })
      onTestFinished(() => checkpoint.dispose?.())
      const dispatcher = new HookDispatcher()
      const approvals = createApprovals({ store: requests, pollMs })
      dispatcher.use(approvals)
      const client = scriptedModel(goesOn === execAgent ? [callTools(['t']), 'done'] : ['done'])
      const asked = { agent, client, dispatcher, checkpoint, operationId: 'a', priceOf: () => 0 }
      const ended = goesOn === execAgent ? execAgent({ ...asked, prompt: 'go' }) : resumeAgent(asked)
      return { ended: ended.catch((error: unknown) => error), approvals }
    }
    const frozen = run('frozen', 5, execAgent)
    await expect.poll(async () => (await requests.list()).length).toBe(1)
    await admin.hSet(`${prefix}checkpoint:a`, 'until', '0')
    const other = run('other', 500, resumeAgent)
    await expect.poll(() => admin.hGet(`${prefix}checkpoint:a`, 'until')).not.toBe('0')
    await delay(500)
    const [record] = await requests.list()
    await other.approvals.respond(record?.request.id as string, { decision: 'approve' })
    expect(await other.ended).toMatchObject({ status: 'done' })
    expect(ran).toEqual(['other'])
    await frozen.ended
  },
)

it('of a run that has ended nothing is left in the files', async () => {
  const place = folder()
  const checkpoint = sqliteCheckpoints({ path: `${place}/checkpoints.db` })
  const has = (file: string) => existsSync(file) && readFileSync(file).includes('PLANTED-7f3a')
  const inFiles = () => ['', '-wal'].filter((end) => has(`${place}/checkpoints.db${end}`))
  const kept: string[][] = []
  const execute = (): string => {
    kept.push(inFiles())
    return 'PLANTED-7f3a'.repeat(1_000)
  }
  const client = scriptedModel([callTools(['look', { at: 'PLANTED-7f3a' }]), 'PLANTED-7f3a'])
  const agent: Agent = { name: 'a', model: 'm', tools: [{ name: 'look', execute }] }
  const run = await execAgent({ agent, client, prompt: 'PLANTED-7f3a', checkpoint, priceOf: () => 0 })
  expect([run.status, kept]).toEqual(['done', [['-wal']]])
  await checkpoint.dispose?.()
  expect(inFiles()).toEqual([])
})

it('a Redis that cannot be reached keeps nobody waiting, and nothing is run', async () => {
  const store = redisCheckpoints({ url: 'redis://127.0.0.1:1', timeoutMs: 50 })
  onTestFinished(() => store.dispose?.())
  const ran: string[] = []
  const agent: Agent = { name: 'a', model: 'm', tools: [{ name: 't', execute: () => void ran.push('t') }] }
  const client = scriptedModel([callTools(['t']), 'done'])
  const run = execAgent({ agent, client, prompt: 'go', checkpoint: store, priceOf: () => 0 })
  await expect(run).rejects.toMatchObject({
    code: 'CHECKPOINT_FAILED',
    message: /did not answer within 50 ms: connect ECONNREFUSED/,
  })
  expect(ran).toEqual([])
})

it.skipIf(url === undefined)(
  'a run whose records Redis has removed to make room is not begun anew, until it is discarded',
  async () => {
    const prefix = `${crypto.randomUUID()}:`
    const store = redisCheckpoints({ url: url as string, prefix })
    const admin = createClient({ url: url as string })
    await admin.connect()
    onTestFinished(async () => {
      await admin.close()
      await store.dispose?.()
    })
    const ran: string[] = []
    const agent: Agent = { name: 'a', model: 'm', tools: [{ name: 't', execute: () => void ran.push('t') }] }
    const shared = { agent, checkpoint: store, operationId: 'gone', priceOf: () => 0 }
    const failing = scriptedModel([callTools(['t']), { error: { status: 400, message: 'no' } }])
    expect((await execAgent({ ...shared, client: failing, prompt: 'go' })).status).toBe('error')
    expect(await admin.del(`${prefix}checkpoint-records:gone`)).toBe(1)
    const again = () =>
      execAgent({ ...shared, client: scriptedModel([callTools(['t']), 'done']), prompt: 'go' })
    await expect(again()).rejects.toMatchObject({ code: 'INVALID_STATE' })
    await expect(resumeAgent({ ...shared, client: scriptedModel(['done']) })).rejects.toMatchObject({
      code: 'INVALID_STATE',
      message: expect.stringMatching(/evicted by Redis, whose maxmemory-policy has to be noeviction/),
    })
    expect(ran).toEqual(['t'])
    await discardRun(store, 'gone')
    expect([(await again()).status, ran]).toEqual(['done', ['t', 't']])
  },
)

/** What a Redis answers that takes nothing any more, and how it is mended. */
const REFUSING: [string, RegExp, string[][], string[]][] = [
  [
    'is full',
    /could not be saved: OOM/,
    [
      ['CONFIG', 'SET', 'maxmemory-policy', 'noeviction'],
      ['CONFIG', 'SET', 'maxmemory', '1mb'],
    ],
    ['CONFIG', 'SET', 'maxmemory', '0'],
  ],
  [
    'has become a replica',
    /could not be saved: READONLY/,
    [['REPLICAOF', '127.0.0.1', '1']],
    ['REPLICAOF', 'NO', 'ONE'],
  ],
]

it.skipIf(url === undefined).each(REFUSING)(
  'a Redis that %s keeps the run, runs nothing that it did not keep, and lets it go on once it is mended',
  async (what, why, refuse, mend) => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const admin = createClient({ url: url as string })
    await admin.connect()
    const store = redisCheckpoints({
      url: url as string,
      prefix: `${crypto.randomUUID()}:`,
      leaseMs: 1_000,
    })
    onTestFinished(async () => {
      vi.restoreAllMocks()
      await admin.sendCommand(mend)
      await admin.close()
      await store.dispose?.()
    })
    const ran: string[] = []
    const tool = (name: string): AgentTool => ({
      name,
      execute: async () => {
        ran.push(name)
        if (name === 'first') for (const command of refuse) await admin.sendCommand(command)
        return `${name} done`
      },
    })
    const agent: Agent = { name: 'a', model: 'm', tools: [tool('first'), tool('second')] }
    const shared = { agent, checkpoint: store, operationId: what, priceOf: () => 0 }
    const client = scriptedModel([callTools(['first']), callTools(['second']), 'done'])
    const run = await execAgent({ ...shared, client, prompt: 'go' })
    expect([run.status, (run.error as Error).message]).toEqual(['error', expect.stringMatching(why)])
    const begun = execAgent({ ...shared, client, prompt: 'go', operationId: 'another' })
    await expect(begun).rejects.toMatchObject({ code: 'CHECKPOINT_FAILED' })
    expect(ran).toEqual(['first'])
    await admin.sendCommand(mend)
    // Who could not even say that he lets go of it has it for as long as his lease.
    await expect.poll(async () => (await unfinishedRuns(store)).map(({ state }) => state)).toEqual(['died'])
    const rest = scriptedModel([callTools(['second']), 'done'])
    const ended = await resumeAgent({ ...shared, client: rest })
    expect([ended.status, ran]).toEqual(['done', ['first', 'second']])
    expect(JSON.stringify(ended.messages)).toContain('execution_unknown')
    expect(await unfinishedRuns(store)).toEqual([])
  },
)

it.each([
  [() => sqliteCheckpoints({} as never), /`path`/],
  [() => sqliteCheckpoints({ path: 'a', file: 'b' } as never), /`file`/],
  [() => redisCheckpoints({ lease: 1 } as never), /`lease`/],
  [() => redisCheckpoints({ leaseMs: 10 }), /`leaseMs`/],
])('refuses wrong options', (make, message) => {
  expect(make).toThrow(message)
})
