import { readFileSync } from 'node:fs'
import { redisStore } from 'hookspan/approval'
import { createClient } from 'redis'
import { expect, it, onTestFinished } from 'vitest'
import { desk, pending, redisUrl, request, wayTo } from '../../approval/support.ts'
import { OLDEST_FOLDER } from '../support/sdks.ts'

const url = await redisUrl()

async function clientAt(at: string) {
  const client = createClient({ url: at }).on('error', () => {})
  await client.connect()
  onTestFinished(() => client.destroy())
  return client
}

it('is its oldest version', () => {
  const { version } = JSON.parse(readFileSync(`${OLDEST_FOLDER}/node_modules/redis/package.json`, 'utf8'))
  expect(version).toBe('5.0.0')
})

it.skipIf(url === undefined)('a call waits for the answer that another process gives', async () => {
  const prefix = `${crypto.randomUUID()}:`
  const client = await clientAt(url as string)
  const { approvals, call } = desk({ store: redisStore({ client, prefix }), pollMs: 60_000 })
  onTestFinished(() => approvals.close())
  const outcome = call()
  const { id } = await pending(approvals)
  const other = redisStore({ client: await clientAt(url as string), prefix })
  await other.answer(id, { decision: 'approve' }, Date.now())
  expect((await outcome).state).toBe('completed')
})

it.skipIf(url === undefined)(
  'what cannot be sent while Redis is away fails, and is not sent when it is back',
  async () => {
    const prefix = `${crypto.randomUUID()}:`
    const redis = await wayTo(url as string)
    const client = await clientAt(redis.url)
    const store = redisStore({ client, prefix })
    await store.add(request('before'))
    redis.close()
    await expect.poll(() => client.isReady).toBe(false)
    await expect(store.add(request('away'))).rejects.toThrow()
    await redis.open()
    await expect.poll(() => store.get('before').catch(() => undefined)).toBeDefined()
    expect(await store.get('away')).toBeUndefined()
  },
)
