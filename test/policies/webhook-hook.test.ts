import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { HookDispatcher } from 'hookspan'
import { verifySignature, webhookHook, webhookHooks } from 'hookspan/policies'
import { expect, it, onTestFinished } from 'vitest'

const SECRET = 'a secret of some length'

async function endpoint(answer: (attempt: number, body: { id: string }) => number) {
  const got: {
    body: { id: string; type: string; event: Record<string, unknown> }
    request: IncomingMessage
    text: string
  }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    got.push({ body: JSON.parse(text), request, text })
    response.writeHead(answer(got.length, JSON.parse(text))).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, got }
}

const options = { allowPrivateAddresses: true, baseDelayMs: 5, secret: SECRET }

function deadLetters(): { path: string; read: () => Record<string, unknown>[] } {
  const folder = mkdtempSync(`${tmpdir()}/hookspan-dead-`)
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = `${folder}/dead.jsonl`
  return {
    path,
    read: () =>
      readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
  }
}

it('posts the event, signed, with the same id at each attempt', async () => {
  const { url, got } = await endpoint((attempt) => (attempt < 3 ? 503 : 204))
  const hook = webhookHook({ id: 'billing', type: 'onComplete', url, ...options })
  const dispatcher = new HookDispatcher()
  const op = dispatcher.startOperation({ operationId: 'op-1', hooks: [hook] })
  await op.complete({ content: 'bye' })
  await hook.flush()
  expect(got).toHaveLength(3)
  expect(new Set(got.map(({ request }) => request.headers['webhook-id'])).size).toBe(1)
  const { body, request, text } = got[2] as (typeof got)[number]
  expect(verifySignature({ secret: SECRET, headers: request.headers, body: text }).id).toBe(body.id)
  expect(body).toMatchObject({
    type: 'onComplete',
    event: { operationId: 'op-1', reason: 'done', content: 'bye' },
  })
})

it.each([1_500.5, 2 ** 31, Number.POSITIVE_INFINITY])(
  'delivers with a timeout of %s ms',
  async (timeoutMs) => {
    const { url, got } = await endpoint((attempt) => (attempt < 2 ? 503 : 204))
    const hook = webhookHook({ id: 'billing', type: 'onComplete', url, ...options, timeoutMs })
    const op = new HookDispatcher().startOperation({ hooks: [hook] })
    await op.complete()
    await hook.flush()
    expect(got).toHaveLength(2)
  },
)

it('signs each attempt anew, so that a receiver which checks for replays takes the next one', async () => {
  const attempts: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    try {
      verifySignature({ secret: SECRET, headers: request.headers, body: Buffer.concat(chunks) })
      attempts.push('verified')
    } catch (error) {
      attempts.push(String(error))
    }
    response.writeHead(attempts.length < 3 ? 503 : 204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const hook = webhookHook({ id: 'billing', type: 'onComplete', url, ...options })
  await new HookDispatcher().startOperation({ hooks: [hook] }).complete()
  await hook.flush()
  expect(attempts).toEqual(['verified', 'verified', 'verified'])
})

it.each(['заказ 7', 'a\r\nx: y', '\ud800'])('tells of an operation whose id is %j', async (operationId) => {
  const { url, got } = await endpoint(() => 204)
  const hook = webhookHook({ id: 'billing', type: 'onComplete', url, ...options })
  await new HookDispatcher().startOperation({ operationId, hooks: [hook] }).complete()
  await hook.flush()
  expect(got).toHaveLength(1)
  expect(got[0]?.request.headers['webhook-id']).toBe(got[0]?.body.id)
  expect(got[0]?.body.event.operationId).toBe(operationId)
})

it.each([
  ['seconds', () => '1'],
  ['a date', () => new Date(Date.now() + 2_000).toUTCString()],
])('waits for as long as it is asked to, in %s', async (_, until) => {
  const at: number[] = []
  const server = createServer((request, response) => {
    request.resume()
    at.push(performance.now())
    response.writeHead(at.length === 1 ? 429 : 204, { 'retry-after': until() }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const hook = webhookHook({ id: 'billing', type: 'onComplete', url, ...options })
  await new HookDispatcher().startOperation({ hooks: [hook] }).complete()
  await hook.flush()
  expect(at).toHaveLength(2)
  // A date has whole seconds.
  expect((at[1] as number) - (at[0] as number)).toBeGreaterThan(900)
})

it('never keeps the agent waiting, and gives up what does not pass', async () => {
  const { url, got } = await endpoint(() => 400)
  const dead = deadLetters()
  const hook = webhookHook({ id: 'h', type: 'afterToolCall', url, ...options, deadLetterPath: dead.path })
  const op = new HookDispatcher().startOperation({ operationId: 'op-1', hooks: [hook] })
  const outcome = await op.toolCall({ apiName: 't', args: {} }, () => 1)
  expect(outcome.state).toBe('completed')
  await hook.flush()
  expect(got).toHaveLength(1)
  expect(dead.read()).toMatchObject([{ webhookId: 'h', attempts: 1, why: 'status 400' }])
})

it('holds a bounded queue, and keeps what does not fit', async () => {
  const { url } = await endpoint(() => 503)
  const dead = deadLetters()
  const hook = webhookHook({
    id: 'h',
    type: 'afterToolCall',
    url,
    ...options,
    maxQueued: 2,
    maxAttempts: 2,
    deadLetterPath: dead.path,
  })
  const op = new HookDispatcher().startOperation({ hooks: [hook] })
  for (let i = 0; i < 5; i++) await op.toolCall({ apiName: 't', args: {} }, () => i)
  await hook.flush()
  expect(
    dead
      .read()
      .map(({ why }) => why)
      .sort(),
  ).toEqual(['status 503', 'status 503', ...Array(3).fill('the queue was full')])
})

it('sends what was selected, and says on the diagnostics channel what became of it', async () => {
  const { url, got } = await endpoint(() => 204)
  const seen: unknown[] = []
  const listen = (message: unknown) => void seen.push(message)
  subscribe('hookspan:webhook', listen)
  onTestFinished(() => void unsubscribe('hookspan:webhook', listen))
  const hook = webhookHook({
    id: 'h',
    type: 'afterToolCall',
    url: `${url}?token=hidden`,
    ...options,
    select: (event) => ({ tool: event.apiName }),
  })
  const op = new HookDispatcher().startOperation({ operationId: 'op-9', hooks: [hook] })
  await op.toolCall({ apiName: 'search', args: { secret: 1 } }, () => 1)
  await hook.flush()
  expect(got[0]?.body.event).toEqual({ tool: 'search' })
  expect(seen).toMatchObject([
    { status: 'delivered', webhookId: 'h', attempt: 1, statusCode: 204, durationMs: expect.any(Number) },
  ])
  expect(JSON.stringify(seen)).not.toContain('hidden')
})

it('sends an error as what JSON can carry of it', async () => {
  const { url, got } = await endpoint(() => 204)
  const hook = webhookHook({ id: 'h', type: 'onToolCallError', url, ...options })
  const op = new HookDispatcher().startOperation({ hooks: [hook] })
  await op.toolCall({ apiName: 't', args: {} }, () => {
    throw new TypeError('boom')
  })
  await hook.flush()
  expect(got[0]?.body.event.error).toEqual({ name: 'TypeError', message: 'boom' })
})

it('sends the fields that are named, and no others', async () => {
  const { url, got } = await endpoint(() => 204)
  const hook = webhookHook({
    id: 'ops',
    type: 'afterLlmCall',
    url,
    ...options,
    fields: ['operationId', 'usage', 'costUsd'],
  })
  const op = new HookDispatcher().startOperation({ operationId: 'op-1', hooks: [hook] })
  const request = { messages: [{ role: 'user', content: 'a secret' }] }
  const reply = { choices: [{ message: { content: 'a secret' } }], usage: { prompt_tokens: 3 } }
  await op.step((step) => step.llmCall({ model: 'm', request }, () => Promise.resolve(reply)))
  await op.complete()
  await hook.flush()
  expect(got).toHaveLength(1)
  expect(got[0]?.text).not.toContain('a secret')
  expect(got[0]?.body.event).toMatchObject({ operationId: 'op-1', usage: { inputTokens: 3 } })
  expect(Object.keys(got[0]?.body.event ?? {})).not.toContain('request')
})

it('posts several types of events through one queue', async () => {
  const { url, got } = await endpoint(() => 204)
  const hooks = webhookHooks({
    id: 'ops',
    types: ['onStart', 'onComplete'],
    url,
    ...options,
    fields: ['operationId', 'sequence'],
  })
  const op = new HookDispatcher().startOperation({ operationId: 'op-1', hooks })
  await op.complete({ content: 'bye' })
  await Promise.all(hooks.map((hook) => hook.flush()))
  const bodies = got.map(({ body }) => body).sort((one, other) => one.id.localeCompare(other.id))
  expect(bodies.map(({ type }) => type)).toEqual(['onStart', 'onComplete'])
  for (const { event } of bodies) expect(Object.keys(event).sort()).toEqual(['operationId', 'sequence'])
})

it.each([
  ['no type', { types: [] }, /`types` of webhook "ops" to be types of events/],
  ['a type twice', { types: ['onStart', 'onStart'] }, /each once/],
  ['an unknown type', { types: ['onFinish'] }, /Unknown hook type `"onFinish"`/],
  [
    'both ways to choose',
    { types: ['onStart'], fields: ['sequence'], select: () => 1 },
    /one of `fields` and `select`/,
  ],
  [
    'a field that no event has',
    { types: ['onStart'], fields: ['operatonId'] },
    /names of an event's fields \(did you mean "operationId"\?\)/,
  ],
  ['fields that are no list', { types: ['onStart'], fields: 'sequence' }, /`fields`.* a list of strings/],
])('refuses %s', (_what, given, message) => {
  expect(() => webhookHooks({ id: 'ops', url: 'https://a.example/', ...given } as never)).toThrow(message)
})
