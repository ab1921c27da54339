import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  type ApprovalFilter,
  type ApprovalStore,
  createApprovals,
  memoryStore,
  redisStore,
  sqliteStore,
} from 'hookspan/approval'
import { createClient } from 'redis'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { folder, redisUrl, request } from './support.ts'

const STORES: [string, (retention?: { keepMs: number }) => ApprovalStore][] = [
  ['memoryStore', memoryStore],
  ['sqliteStore', (retention) => sqliteStore({ path: `${folder()}/deep/approvals.db`, ...retention })],
]
const url = await redisUrl()
if (url !== undefined) STORES.push(['redisStore', (retention) => redis(url, retention)])

function redis(place: string, retention?: { keepMs: number }): ApprovalStore {
  const store = redisStore({ url: place, prefix: `${crypto.randomUUID()}:`, ...retention })
  onTestFinished(() => store.dispose?.())
  return store
}

describe.each(STORES)('%s', (name, make) => {
  it('keeps the first of two requests of one id', async () => {
    const store = make()
    await store.add(request('a', { args: 1 }))
    expect((await store.add(request('a', { args: 2 }))).request.args).toBe(1)
    expect(await store.list()).toHaveLength(1)
  })

  it('lists by status and by run, the oldest first', async () => {
    const store = make()
    await store.add(request('b', { requestedAt: 2, rootOperationId: 'r' }))
    await store.add(request('a', { requestedAt: 3 }))
    await store.add(request('c', { requestedAt: 4, rootOperationId: 'r' }))
    await store.answer('b', { decision: 'approve' }, 5)
    const ids = async (filter?: Parameters<ApprovalStore['list']>[0]) =>
      (await store.list(filter)).map((record) => record.request.id)
    expect(await ids()).toEqual(['b', 'a', 'c'])
    expect(await ids({ status: 'pending' })).toEqual(['a', 'c'])
    expect(await ids({ rootOperationId: 'r' })).toEqual(['b', 'c'])
    expect(await ids({ limit: 1 })).toEqual(['b'])
    expect(await ids({ limit: 1.5 })).toEqual(['b'])
    expect(await ids({ limit: Number.POSITIVE_INFINITY })).toEqual(['b', 'a', 'c'])
  })

  it('lists the same, whatever was asked, answered, withdrawn and late before', async () => {
    const store = make()
    const all: { id: string; status: string; root: string; at: number }[] = []
    for (let i = 0; i < 1_100; i++) {
      const one = { id: `r-${(i * 7_919) % 1_100}`, root: `run-${i % 7}`, at: (i * 31) % 500 }
      const status = (['pending', 'answered', 'cancelled', 'late', 'expired'] as const)[i % 5]!
      const expiresAt = status === 'late' ? { expiresAt: 600 } : {}
      await store.add(request(one.id, { requestedAt: one.at, rootOperationId: one.root, ...expiresAt }))
      if (status === 'answered') await store.answer(one.id, { decision: 'reject' }, 550)
      if (status === 'cancelled' || status === 'expired') await store.close(one.id, status, 550)
      all.push({ ...one, status: status === 'late' ? 'expired' : status })
    }
    all.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
    const statuses = [undefined, 'pending', 'answered', 'expired', 'cancelled'] as const
    for (const status of statuses)
      for (const root of [undefined, 'run-3', 'nobody’s'])
        for (const limit of [1, 100, 10_000]) {
          const wanted = all.filter(
            (one) => (status ?? one.status) === one.status && (root ?? one.root) === one.root,
          )
          const filter = { limit, ...(status && { status }), ...(root && { rootOperationId: root }) }
          const listed = (await store.list(filter, 700)).map(
            (record) => `${record.request.id} ${record.status}`,
          )
          expect([filter, listed]).toEqual([
            filter,
            wanted.slice(0, limit).map(({ id, status }) => `${id} ${status}`),
          ])
        }
  })

  it('forgets what is over after keepMs, and nothing else', async () => {
    const store = make({ keepMs: 100 })
    const now = Date.now()
    const ids = ['pending', 'approved', 'rejected', 'cancelled', 'expired', 'claimed', 'settled']
    // Of a process that has died; in memory it would have closed its own.
    if (name !== 'memoryStore') ids.push('orphaned')
    for (const id of ids) await store.add(request(id, { ...(id === 'orphaned' && { expiresAt: now }) }))
    for (const id of ['approved', 'claimed', 'settled']) await store.answer(id, { decision: 'approve' }, now)
    await store.answer('rejected', { decision: 'reject' }, now)
    for (const id of ['cancelled', 'expired'] as const) await store.close(id, id, now)
    for (const id of ['claimed', 'settled']) expect(await store.claim(id)).toEqual({ state: 'run' })
    await store.settle('settled', { ok: true, value: 1 })
    const left = async () => {
      // A store that has to look does so where something is asked.
      await store.add(request(crypto.randomUUID()))
      return (await Promise.all(ids.map((id) => store.get(id)))).flatMap((record) => record?.request.id ?? [])
    }
    await expect.poll(left).toEqual(['pending', 'approved'])
    await store.answer('pending', { decision: 'approve' }, now)
    await expect(store.claim('settled')).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' })
    const listed = (await store.list({ limit: 1_000 })).map((record) => record.request.id)
    expect(ids.filter((id) => listed.includes(id))).toEqual(['pending', 'approved'])
    expect(await store.claim('approved')).toEqual({ state: 'run' })
    await expect.poll(left).toEqual(['pending'])
  })

  it('keeps what is over where nothing else is said', async () => {
    const store = make()
    await store.add(request('a'))
    await store.answer('a', { decision: 'reject' }, 1)
    await store.add(request('b'))
    expect(await store.get('a')).toMatchObject({ status: 'answered' })
    expect(() => make({ keepMs: 0 })).toThrow('Expected `keepMs` of')
  })

  it('lists what may still be answered, however many expired that nobody closed', async () => {
    const store = make()
    for (let i = 0; i < 120; i++)
      await store.add(request(`orphan-${i}`, { requestedAt: i, expiresAt: 1_000 }))
    await store.add(request('new', { requestedAt: 2_000, expiresAt: Date.now() + 60_000 }))
    const approvals = createApprovals({ store })
    const ids = async (filter?: ApprovalFilter) =>
      (await approvals.list(filter)).map(({ request, status }) => `${request.id} ${status}`)
    expect(await ids({ status: 'pending' })).toEqual(['new pending'])
    expect(await ids({ status: 'expired', limit: 2 })).toEqual(['orphan-0 expired', 'orphan-1 expired'])
    expect(await ids({ limit: 1 })).toEqual(['orphan-0 expired'])
    expect(await approvals.get('orphan-0')).toMatchObject({ status: 'expired' })
    expect(await approvals.get('nobody')).toBeUndefined()
  })

  it('says of many at once which are pending no more', async () => {
    const store = make()
    const ids = Array.from({ length: 250 }, (_, i) => `r-${i}`)
    for (const id of ids) await store.add(request(id, { expiresAt: 5 }))
    expect(await store.closed?.(ids)).toEqual([])
    await store.answer('r-0', { decision: 'reject' }, 5)
    await store.close('r-220', 'cancelled', 5)
    await store.close('r-249', 'expired', 6)
    expect(await store.closed?.([...ids, 'unknown'])).toEqual(['r-0', 'r-220', 'r-249', 'unknown'])
    expect(await store.closed?.([])).toEqual([])
  })

  it('takes one of several answers that come at once', async () => {
    const store = make()
    await store.add(request('a'))
    const results = await Promise.all(
      ['ann', 'bob', 'cy'].map((approver) =>
        store.answer('a', { decision: 'approve', approver }, Date.now()),
      ),
    )
    expect(results.filter((result) => result?.closed)).toHaveLength(1)
    expect(await store.answer('none', { decision: 'approve' }, 1)).toBeUndefined()
  })

  it('lets one go on with a run, until it says what came of it', async () => {
    const store = make()
    const claims = await Promise.all([1, 2, 3].map(() => store.claimRun?.('k')))
    expect(claims.map((claim) => claim?.state).sort()).toEqual(['held', 'held', 'run'])
    await store.settleRun?.('k')
    expect(await store.claimRun?.('k')).toMatchObject({ state: 'run' })
    await store.settleRun?.('k', { status: 'done', list: [1] })
    expect(await store.claimRun?.('k')).toEqual({ state: 'done', result: { status: 'done', list: [1] } })
    expect(await store.claimRun?.('other')).toMatchObject({ state: 'run' })
    await store.settleRun?.('other', null)
    expect(await store.claimRun?.('other')).toEqual({ state: 'done', result: null })
  })

  it('takes no answer after the expiry, and no close after an answer', async () => {
    const store = make()
    await store.add(request('late', { expiresAt: 100 }))
    expect(await store.answer('late', { decision: 'approve' }, 101)).toMatchObject({ closed: false })
    await store.add(request('a'))
    await store.answer('a', { decision: 'reject', reason: 'no' }, 1)
    expect(await store.close('a', 'expired', 2)).toMatchObject({
      closed: false,
      record: { status: 'answered', answer: { reason: 'no' } },
    })
  })

  it('lets an approved call run once, and gives its result again', async () => {
    const store = make()
    await store.add(request('a'))
    await expect(store.claim('a')).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' })
    await store.answer('a', { decision: 'approve' }, 1)
    const claims = await Promise.all([store.claim('a'), store.claim('a'), store.claim('a')])
    expect(claims.map((claim) => claim.state).sort()).toEqual(['run', 'unknown', 'unknown'])
    await store.settle('a', { ok: true, value: { n: 1 } })
    expect(await store.claim('a')).toEqual({ state: 'done', result: { ok: true, value: { n: 1 } } })
    expect(await store.get('a')).toMatchObject({ execution: 'settled' })
  })
})

it.each([
  ['a file of something else', 'notes.txt', /file is not a database\. Put a whole copy of it back/],
  ['a folder', '.', /unable to open database file\. Name a file that can be written\./],
  ['a file below one', 'notes.txt/approvals.db', /ENOTDIR.* Name a file that can be written\./],
])('sqliteStore names %s, and leaves it alone', (_what, name, said) => {
  const root = folder()
  writeFileSync(join(root, 'notes.txt'), 'These are notes of mine.')
  const path = join(root, name)
  expect(() => sqliteStore({ path })).toThrow(
    expect.objectContaining({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(said),
    }),
  )
  expect(() => sqliteStore({ path })).toThrow(`The approvals in "${path}" cannot be opened: `)
  expect(readFileSync(join(root, 'notes.txt'), 'utf8')).toBe('These are notes of mine.')
})

it('sqliteStore takes no URL, of which SQLite would make a file that anybody may read', () => {
  const path = join(folder(), 'approvals.db')
  expect(() => sqliteStore({ path: `file:${path}` })).toThrow(
    `The approvals in "file:${path}" cannot be opened: it is a URL, and a path is needed. Name a file that can be written.`,
  )
  expect(existsSync(path)).toBe(false)
})

it('sqliteStore gives another process what it was told', async () => {
  const path = `${folder()}/approvals.db`
  const one = sqliteStore({ path })
  await one.add(request('a'))
  const other = sqliteStore({ path })
  await other.answer('a', { decision: 'approve', approver: 'ann' }, 1)
  expect(await one.get('a')).toMatchObject({ status: 'answered', answer: { approver: 'ann' } })
})

it("a run that one store holds is not another one's, until it is closed", async () => {
  const path = `${folder()}/approvals.db`
  const [one, two] = [sqliteStore({ path }), sqliteStore({ path })]
  expect(await one.claimRun?.('k')).toMatchObject({ state: 'run' })
  expect(await two.claimRun?.('k')).toEqual({ state: 'held' })
  // Who does not hold it has no say.
  await two.settleRun?.('k', 'theirs')
  await two.settleRun?.('k')
  expect(await two.claimRun?.('k')).toEqual({ state: 'held' })
  await one.dispose?.()
  expect(await two.claimRun?.('k')).toMatchObject({ state: 'run' })
  await two.settleRun?.('k', 'ours')
  await two.dispose?.()
  const three = sqliteStore({ path })
  expect(await three.claimRun?.('k')).toEqual({ state: 'done', result: 'ours' })
  await three.dispose?.()
})

it.skipIf(url === undefined)('in Redis one that is not heard of any more lets go of its runs', async () => {
  const prefix = `${crypto.randomUUID()}:`
  const of = () => redisStore({ url: url as string, prefix })
  const [one, two] = [of(), of()]
  onTestFinished(async () => {
    await one.dispose?.()
    await two.dispose?.()
  })
  expect(await one.claimRun?.('k')).toMatchObject({ state: 'run' })
  expect(await two.claimRun?.('k')).toEqual({ state: 'held' })
  const client = createClient({ url: url as string })
  await client.connect()
  onTestFinished(() => client.destroy())
  expect(Number(await client.hGet(`${prefix}run:k`, 'until')) - Date.now()).toBeGreaterThan(10_000)
  await client.hSet(`${prefix}run:k`, 'until', Date.now() - 1)
  expect(await two.claimRun?.('k')).toMatchObject({ state: 'run' })
  await one.settleRun?.('k', 'late')
  expect(await one.claimRun?.('k')).toEqual({ state: 'held' })
})

it.skipIf(url === undefined)('redisStore reads no request that was closed to list what waits', async () => {
  const prefix = `${crypto.randomUUID()}:`
  const client = await createClient({ url: url as string }).connect()
  onTestFinished(() => client.destroy())
  const store = redisStore({ client: client as never, prefix })
  for (let i = 0; i < 300; i++) {
    await store.add(request(`r-${i}`, { requestedAt: i }))
    if (i > 0) await store.answer(`r-${i}`, { decision: 'approve' }, Date.now())
  }
  // Of each command with a signal the client makes an object of its own, from this one.
  const asked = vi.spyOn((client as unknown as { _self: typeof client })._self, 'eval')
  const reads = () => asked.mock.calls.filter(([script]) => /^return .*HGETALL/.test(String(script))).length
  expect(await store.list({ status: 'pending' })).toHaveLength(1)
  expect(reads()).toBe(1)
  // As a version did which kept one list of all.
  await store.add(request('left', { requestedAt: 1_000 }))
  await client.hSet(`${prefix}approval:left`, { status: 'cancelled', closedAt: '1' })
  for (const times of [2, 1]) {
    asked.mockClear()
    expect(await store.list({ status: 'pending' })).toHaveLength(1)
    expect(reads()).toBe(times)
  }
  expect(await store.list({ status: 'cancelled' })).toHaveLength(1)
  expect(await store.list({ limit: 1_000 })).toHaveLength(301)
})

it('sqliteStore finds what it lists by an index', async () => {
  const asked: string[] = []
  const { prepare } = DatabaseSync.prototype
  using spy = vi.spyOn(DatabaseSync.prototype, 'prepare').mockImplementation(function (
    this: DatabaseSync,
    sql,
  ) {
    if (/^\s*SELECT \* FROM hookspan_approvals WHERE/.test(sql) && sql.includes('LIMIT')) {
      const plan = prepare
        .call(this, `EXPLAIN QUERY PLAN ${sql}`)
        .all({ $now: 0, $rootOperationId: 'r', $limit: 1 }) as {
        detail: string
      }[]
      asked.push(plan.map(({ detail }) => detail).join('; '))
    }
    return prepare.call(this, sql)
  })
  const store = sqliteStore({ path: `${folder()}/approvals.db` })
  onTestFinished(() => store.dispose?.())
  const statuses = [undefined, 'pending', 'answered', 'expired', 'cancelled'] as const
  for (const status of statuses)
    for (const rootOperationId of [undefined, 'r'])
      await store.list({ ...(status && { status }), ...(rootOperationId && { rootOperationId }) }, 1)
  expect(asked).toHaveLength(10)
  expect(asked.filter((plan) => !/USING (COVERING )?INDEX/.test(plan))).toEqual([])
  expect(spy).toHaveBeenCalled()
})

const DAMAGES: [string, () => Promise<{ store: ApprovalStore; damage: (id: string) => Promise<unknown> }>][] =
  [
    [
      'sqliteStore',
      async () => {
        const path = `${folder()}/approvals.db`
        const store = sqliteStore({ path })
        return {
          store,
          async damage(id) {
            const db = new DatabaseSync(path)
            const cut = 'UPDATE hookspan_approvals SET request = substr(request, 1, 40) WHERE id = ?'
            db.prepare(cut).run(id)
            db.close()
          },
        }
      },
    ],
  ]
if (url !== undefined)
  DAMAGES.push([
    'redisStore',
    async () => {
      const prefix = `${crypto.randomUUID()}:`
      const store = redisStore({ url, prefix })
      const client = await createClient({ url }).connect()
      onTestFinished(() => {
        client.destroy()
        void store.dispose?.()
      })
      return { store, damage: (id) => client.hSet(`${prefix}approval:${id}`, 'request', '{"id":') }
    },
  ])

it.each(DAMAGES)('%s names a damaged request and lists the others', async (_name, make) => {
  const { store, damage } = await make()
  const approvals = createApprovals({ store })
  const expiresAt = Date.now() + 60_000
  for (const id of ['a', 'b', 'c']) await store.add(request(id, { expiresAt }))
  await store.answer('c', { decision: 'approve' }, Date.now())
  for (const id of ['a', 'c']) await damage(id)
  const listed = await approvals.list()
  expect(Object.fromEntries(listed.map((one) => [one.request.id, one.status]))).toEqual({
    a: 'pending',
    b: 'pending',
    c: 'answered',
  })
  const { request: stub } = listed.find((one) => one.request.id === 'a') ?? {}
  expect(stub).toMatchObject({ allow: [], expiresAt })
  expect(stub?.instructions).toMatch(/the request "a" is damaged: .*It cannot be answered/)
  // Nobody is let run by half a request.
  const code = 'APPROVAL_UNREACHABLE'
  await expect(approvals.get('a')).rejects.toMatchObject({ code })
  await expect(approvals.respond('a', { decision: 'approve' })).rejects.toMatchObject({ code })
  await expect(store.add(request('c', { expiresAt }))).rejects.toMatchObject({ code })
  // It can be withdrawn.
  expect(await store.close('a', 'cancelled', Date.now())).toMatchObject({ closed: true })
  expect((await approvals.list({ status: 'pending' })).map((one) => one.request.id)).toEqual(['b'])
})

it('sqliteStore forgets in a file that a version before made, and keeps what was over by then', async () => {
  const path = `${folder()}/approvals.db`
  const before = sqliteStore({ path })
  for (const id of ['over', 'open']) await before.add(request(id))
  await before.answer('over', { decision: 'reject' }, 1)
  await before.dispose?.()
  const db = new DatabaseSync(path)
  db.exec('DROP INDEX hookspan_approvals_over; ALTER TABLE hookspan_approvals DROP COLUMN over_at')
  db.close()
  const [store, other] = [sqliteStore({ path, keepMs: 50 }), sqliteStore({ path })]
  onTestFinished(async () => {
    for (const one of [store, other]) await one.dispose?.()
  })
  await other.answer('open', { decision: 'reject' }, 1)
  await expect
    .poll(async () => {
      await store.add(request(crypto.randomUUID()))
      return store.get('open')
    })
    .toBeUndefined()
  expect(await store.get('over')).toMatchObject({ status: 'answered' })
})

it.skipIf(url === undefined)('redisStore forgets the places of what it forgot', async () => {
  const prefix = `${crypto.randomUUID()}:`
  const client = await createClient({ url: url as string }).connect()
  onTestFinished(() => client.destroy())
  const store = redisStore({ client: client as never, prefix, keepMs: 20 })
  for (let i = 0; i < 450; i++) {
    await store.add(request(`r-${i}`, { requestedAt: i }))
    await store.answer(`r-${i}`, { decision: i < 5 ? 'approve' : 'reject' }, Date.now())
  }
  await expect
    .poll(async () => {
      await store.add(request('one more'))
      await store.close('one more', 'cancelled', Date.now())
      const places = await client.zRange(`${prefix}approvals:over`, 0, -1)
      return places.length < 10 && (await store.list({ status: 'answered' })).length
    })
    .toBe(5)
  expect((await client.keys(`${prefix}approval:*`)).length).toBeLessThan(10)
})
