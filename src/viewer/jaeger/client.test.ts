import { expect, it } from 'vitest'
import { asJaeger, send, startQueryStub } from '../../../test/support/query-stub.ts'
import { otlp } from '../../../test/viewer/support.ts'
import { Store } from '../store/store.ts'
import { JaegerClient } from './client.ts'
import { JaegerFeed } from './feed.ts'

const ID = 'abc4'.padEnd(32, '1')
const attributes = { 'gen_ai.operation.name': 'invoke_agent', text: 'x'.repeat(50_000) }
const big = otlp([{ traceId: ID, spanId: 'b'.repeat(16), attributes }], { 'service.name': 'shop' })

it('gives up on a Jaeger that says nothing', async () => {
  const stub = await startQueryStub(() => {})
  const client = new JaegerClient({ url: stub.url, headers: {}, timeoutMs: 50 })
  await expect(client.services()).rejects.toThrow('said nothing for 0.05 s. Ask for less')
})

it('waits for one that goes on saying something', async () => {
  const stub = await startQueryStub((_, response) => {
    // All of it takes longer than it may say nothing, and each pause much less.
    const rest = [...JSON.stringify({ services: ['a'] }).padEnd(80)]
    const next = () => {
      if (rest.length === 0) return void response.end()
      response.write(rest.shift())
      setTimeout(next, 40)
    }
    next()
  })
  const client = new JaegerClient({ url: stub.url, headers: {}, timeoutMs: 2_500 })
  expect(await client.services()).toEqual(['a'])
})

it('refuses a run that is too large, and takes fewer runs where many are', async () => {
  const answer = asJaeger('shop', { [ID]: big })
  const stub = await startQueryStub((request, response) => {
    const limit = Number(new URL(request.url ?? '', 'http://a').searchParams.get('query.search_depth') ?? 0)
    // Of many runs, large.
    if (limit > 4) send(response, 200, 'x'.repeat(200_000))
    else answer(request, response)
  })
  const store = new Store({ file: ':memory:' })
  const feed = new JaegerFeed(new JaegerClient({ url: stub.url, headers: {}, maxRunBytes: 400_000 }), store, {
    most: 64,
  })
  expect([...(await feed.reach(''))]).toEqual([ID])
  expect(feed.notes('').join()).toContain('Of shop Jaeger has more runs')
  const small = new JaegerFeed(new JaegerClient({ url: stub.url, headers: {}, maxRunBytes: 40_000 }), store, {
    most: 64,
  })
  await expect(small.open(ID)).rejects.toThrow(`Run ${ID} is too large to be shown here.`)
  store.close()
})
