import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { HookDispatcher, type HookEvent } from 'hookspan'
import { type Gate, proceed } from 'hookspan/gates'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, it } from 'vitest'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const server = createServer((request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write('data: {"id":"c","choices":[{"index":0,"delta":{"content":"half"}}]}\n\n')
})
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)))
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const ask = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }], stream: true as const }

it.each([
  ['no gate', []],
  ['a gate', [{ id: 'g', point: 'afterLlmCall', decide: () => proceed() } satisfies Gate]],
])('lets go of streams outside of any operation that nobody reads, under %s', async (_name, gates) => {
  const ends: HookEvent[] = []
  const dispatcher = new HookDispatcher()
  const handler = (event: HookEvent) => void ends.push(event)
  dispatcher.use({ name: 'p', gates, hooks: [{ id: 'e', type: 'onComplete', handler }] })
  const { port } = server.address() as AddressInfo
  const baseURL = `http://127.0.0.1:${port}/v1`
  const client = observeOpenAI(new OpenAI({ apiKey: 'k', baseURL }), { dispatcher })
  const make = async () => void (await client.chat.completions.create(ask))
  for (let i = 0; i < 20; i++) await make()
  expect(dispatcher.stats().operations).toBe(20)

  await expect
    .poll(
      () => {
        gc()
        return dispatcher.stats().operations
      },
      { timeout: 120_000, interval: 50 },
    )
    .toBe(0)

  expect(ends).toHaveLength(20)
  expect(ends[0]).toMatchObject({ reason: 'interrupted', abandoned: true })
})

it('keeps one that somebody may read still', async () => {
  const dispatcher = new HookDispatcher()
  const { port } = server.address() as AddressInfo
  const baseURL = `http://127.0.0.1:${port}/v1`
  const client = observeOpenAI(new OpenAI({ apiKey: 'k', baseURL }), { dispatcher })
  const stream = await client.chat.completions.create(ask)

  for (let i = 0; i < 5; i++) {
    gc()
    await new Promise(setImmediate)
  }

  expect(dispatcher.stats().operations).toBe(1)
  for await (const chunk of stream) {
    expect(chunk.choices[0]?.delta.content).toBe('half')
    break
  }
  await expect.poll(() => dispatcher.stats().operations).toBe(0)
})
