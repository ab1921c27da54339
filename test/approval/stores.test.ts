import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ApprovalFilter,
  type ApprovalStore,
  createApprovals,
  memoryStore,
  redisStore,
  sqliteStore,
} from 'hookspan/approval'
import { createClient } from 'redis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { folder, redisUrl, request } from './support.ts'

const STORES: [string, () => ApprovalStore][] = [
  ['memoryStore', () => memoryStore()],
  ['sqliteStore', () => sqliteStore({ path: `${folder()}/deep/approvals.db` })],
]
const url = await redisUrl()
if (url !== undefined) STORES.push(['redisStore', () => redis(url)])

function redis(place: string): ApprovalStore {
  const store = redisStore({ url: place, prefix: `${crypto.randomUUID()}:` })
  onTestFinished(() => store.dispose?.())
  return store
}

describe.each(STORES)('%s', (_name, make) => {
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
    expect(await store.claimRun?.('k')).toEqual({ state: 'run' })
    await store.settleRun?.('k', { status: 'done', list: [1] })
    expect(await store.claimRun?.('k')).toEqual({ state: 'done', result: { status: 'done', list: [1] } })
    expect(await store.claimRun?.('other')).toEqual({ state: 'run' })
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
  expect(await one.claimRun?.('k')).toEqual({ state: 'run' })
  expect(await two.claimRun?.('k')).toEqual({ state: 'held' })
  // Who does not hold it has no say.
  await two.settleRun?.('k', 'theirs')
  await two.settleRun?.('k')
  expect(await two.claimRun?.('k')).toEqual({ state: 'held' })
  await one.dispose?.()
  expect(await two.claimRun?.('k')).toEqual({ state: 'run' })
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
  expect(await one.claimRun?.('k')).toEqual({ state: 'run' })
  expect(await two.claimRun?.('k')).toEqual({ state: 'held' })
  const client = createClient({ url: url as string })
  await client.connect()
  onTestFinished(() => client.destroy())
  expect(Number(await client.hGet(`${prefix}run:k`, 'until')) - Date.now()).toBeGreaterThan(10_000)
  await client.hSet(`${prefix}run:k`, 'until', Date.now() - 1)
  expect(await two.claimRun?.('k')).toEqual({ state: 'run' })
  await one.settleRun?.('k', 'late')
  expect(await one.claimRun?.('k')).toEqual({ state: 'held' })
})
