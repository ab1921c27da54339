import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { HookDispatcher } from 'hookspan'
import {
  type HookRoutesOptions,
  type HooksListing,
  hookRoutes,
  serveHooks,
  toolPolicy,
  type WebhookChange,
} from 'hookspan/policies'
import { describe, expect, it, onTestFinished, vi } from 'vitest'

const TOKEN = 'the token that ops holds'
const SECRET_URL = 'http://127.0.0.1:9/?key=hidden'
const WEBHOOK = { on: 'onComplete', url: SECRET_URL, fields: ['operationId', 'reason'] }

function setUp(options: Partial<HookRoutesOptions> = {}) {
  const dispatcher = new HookDispatcher()
  const changes: WebhookChange[] = []
  const routes = hookRoutes({
    ...{ dispatcher, tokens: { ops: TOKEN }, allowPrivateAddresses: true },
    onChange: (change) => void changes.push(change),
    ...options,
  })
  onTestFinished(() => routes[Symbol.dispose]())
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await routes(
      new Request(`http://host${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    )
    const said = await response?.text()
    return { status: response?.status, body: said ? JSON.parse(said) : undefined }
  }
  return { dispatcher, routes, ask, changes }
}

async function endpoint() {
  const got: { type: string; event: Record<string, unknown> }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    got.push(JSON.parse(body))
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, got }
}

it('tells a process outside, which registered itself, of runs', async () => {
  const dispatcher = new HookDispatcher()
  const server = await serveHooks({ dispatcher, tokens: { ops: TOKEN }, allowPrivateAddresses: true })
  onTestFinished(() => server.close())
  const path = fileURLToPath(new URL('processes/subscriber.mjs', import.meta.url))
  const outside = spawn(process.execPath, [path, `${server.url}/hooks`, TOKEN, '3'])
  onTestFinished(() => void outside.kill())
  const said: { registered?: number; event?: { sequence: number } }[] = []
  const lines = createInterface({ input: outside.stdout })
  lines.on('line', (line) => void said.push(JSON.parse(line)))
  await vi.waitFor(() => expect(said).toEqual([{ registered: 201 }]), { timeout: 30_000 })
  const op = dispatcher.startOperation({ operationId: 'run-1', input: 'a secret prompt' })
  await op.toolCall({ apiName: 'search', args: { q: 'secret' } }, () => 'secret result')
  await op.complete()
  await once(lines, 'close')
  const told = said.slice(1).sort((a, b) => (a.event?.sequence ?? 0) - (b.event?.sequence ?? 0))
  expect(told).toMatchObject([
    { type: 'onStart', verified: true, event: { operationId: 'run-1' } },
    { type: 'afterToolCall', verified: true, event: { apiName: 'search', success: true } },
    { type: 'onComplete', verified: true, event: { reason: 'done' } },
  ])
  expect(JSON.stringify(told)).not.toContain('secret')
})

it('takes what docs/policies.md has the reader send', async ({ skip }) => {
  const page = readFileSync(new URL('../../docs/policies.md', import.meta.url), 'utf8')
  const [command = 'there is none'] = /^curl -X PUT [^`]*/m.exec(page) ?? []
  if (spawnSync('curl', ['--version']).status !== 0) return skip('there is no curl')
  const options = { dispatcher: new HookDispatcher(), tokens: { ops: TOKEN }, deliverTo: ['*.ops.example'] }
  const server = await serveHooks(options)
  onTestFinished(() => server.close())
  const shell = spawn('sh', ['-c', command.replace('http://127.0.0.1:4320', server.url)], {
    env: { ...process.env, OPS_TOKEN: TOKEN },
  })
  expect(JSON.parse(await text(shell.stdout))).toMatchObject({
    ...{ id: 'costs', on: ['onComplete', 'onError'], by: 'ops', url: 'https://a.ops.example/runs' },
  })
})

it('lists what was registered, with what became of it, and what the program has in use', async () => {
  const { url, got } = await endpoint()
  const { ask, dispatcher, routes } = setUp()
  const log = { id: 'log', type: 'afterToolCall' as const, match: /^a/, handler: () => {} }
  dispatcher.use({ name: 'own', hooks: [log], gates: [toolPolicy({ deny: ['drop_*'] })] })
  expect(
    await ask('PUT', '/hooks/audit', { ...WEBHOOK, url: `${url}?key=hidden`, secret: 'x'.repeat(20) }),
  ).toMatchObject({
    status: 201,
  })
  await dispatcher.startOperation().complete()
  await routes.flush()
  expect(got).toHaveLength(1)
  const { body } = (await ask('GET', '/hooks')) as { body: HooksListing }
  expect(body).toEqual({
    webhooks: [
      {
        ...{ id: 'audit', on: ['onComplete'], url, fields: ['operationId', 'reason'], by: 'ops' },
        registeredAt: expect.any(Number),
        ...{ delivered: 1, givenUp: 0, pending: 0 },
      },
    ],
    fixed: {
      hooks: [{ id: 'log', type: 'afterToolCall', plugin: 'own', match: '/^a/' }],
      gates: [{ id: 'tool-policy', point: 'beforeToolCall', plugin: 'own' }],
    },
  })
  expect(await ask('GET', '/hooks/audit')).toMatchObject({ status: 200, body: { id: 'audit', delivered: 1 } })
})

it('replaces one in its place, removes it, and tells who did', async () => {
  const first = await endpoint()
  const second = await endpoint()
  const { ask, dispatcher, routes, changes } = setUp()
  const run = () => dispatcher.startOperation().complete()
  await ask('PUT', '/hooks/a', { ...WEBHOOK, url: first.url })
  await run()
  expect(await ask('PUT', '/hooks/a', { ...WEBHOOK, url: second.url })).toMatchObject({ status: 200 })
  await run()
  expect(await ask('DELETE', '/hooks/a')).toEqual({ status: 204, body: undefined })
  await run()
  // What was told before it was replaced or removed is still delivered, and waited for.
  await routes.flush()
  expect([first.got.length, second.got.length]).toEqual([1, 1])
  expect(await ask('DELETE', '/hooks/a')).toMatchObject({ status: 404 })
  expect(changes).toEqual([
    { action: 'registered', id: 'a', by: 'ops' },
    { action: 'replaced', id: 'a', by: 'ops' },
    { action: 'removed', id: 'a', by: 'ops' },
  ])
  expect(dispatcher.plugins).toEqual([])
})

it('tells of one run and what it calls, and goes when that has ended', async () => {
  const { url, got } = await endpoint()
  const { ask, dispatcher, routes } = setUp()
  const types = { ...WEBHOOK, url, on: ['onStart', 'onComplete'], fields: ['operationId'] }
  await ask('PUT', '/hooks/one', { ...types, operationId: 'run-1' })
  await dispatcher.startOperation({ operationId: 'other' }).complete()
  const op = dispatcher.startOperation({ operationId: 'run-1' })
  await op.callAgent({ agentName: 'child', instruction: 'go' }, (parent) =>
    dispatcher.startOperation({ operationId: 'child', parent }).complete(),
  )
  expect(await ask('GET', '/hooks/one')).toMatchObject({ status: 200, body: { operationId: 'run-1' } })
  await op.complete()
  await vi.waitFor(async () => expect(await ask('GET', '/hooks/one')).toMatchObject({ status: 404 }))
  await routes.flush()
  expect(got.map(({ type, event }) => `${type} ${event.operationId}`).sort()).toEqual([
    'onComplete child',
    'onComplete run-1',
    'onStart child',
    'onStart run-1',
  ])
})

describe('the hook routes', () => {
  const entry = (more: object) => ({ ...WEBHOOK, ...more })
  const refused: [string, string, string, unknown, Record<string, string>, number, RegExp][] = [
    ['no token', 'PUT', '/hooks/a', WEBHOOK, { authorization: '' }, 401, /bearer token/],
    ['no token for reading', 'GET', '/hooks', undefined, { authorization: '' }, 401, /bearer token/],
    ['a wrong token', 'PUT', '/hooks/a', WEBHOOK, { authorization: 'Bearer wrong' }, 401, /bearer token/],
    ['a form', 'PUT', '/hooks/a', '{}', { 'content-type': 'text/plain' }, 415, /application\/json/],
    ['no JSON', 'PUT', '/hooks/a', 'on=onStart', {}, 400, /not JSON/],
    ['a key twice', 'PUT', '/hooks/a', '{"url":"x","url":"y"}', {}, 400, /twice/],
    ['a body that is too large', 'PUT', '/hooks/a', `"${'x'.repeat(70_000)}"`, {}, 413, /65536/],
    ['a list', 'POST', '/hooks', WEBHOOK, {}, 405, /Use GET/],
    ['an unknown route', 'GET', '/hooks/a/b', undefined, {}, 404, /no such route/],
    ['an id that is none', 'PUT', '/hooks/a%20b', WEBHOOK, {}, 422, /the id to be/],
    ['a path that is none', 'GET', '/hooks/%E0%A4%A', undefined, {}, 400, /path/],
    ['an id of the program', 'PUT', '/hooks/tool-policy', WEBHOOK, {}, 409, /plugin "own"/],
    ['to remove what the program has', 'DELETE', '/hooks/tool-policy', undefined, {}, 404, /registered here/],
    ['no fields', 'PUT', '/hooks/a', { on: 'onStart', url: SECRET_URL }, {}, 422, /`fields`/],
    ['a field that no event has', 'PUT', '/hooks/a', entry({ fields: ['promt'] }), {}, 422, /fields/],
    ['an unknown type', 'PUT', '/hooks/a', entry({ on: 'onStrat' }), {}, 422, /onStrat/],
    ['a misspelt key', 'PUT', '/hooks/a', entry({ feilds: [] }), {}, 422, /Did you mean `fields`/],
    ['a file to write', 'PUT', '/hooks/a', entry({ deadLetterPath: '/etc/x' }), {}, 422, /deadLetterPath/],
    [
      'to widen what may be reached',
      'PUT',
      '/hooks/a',
      entry({ allowPrivateAddresses: true }),
      {},
      422,
      /allowPrivate/,
    ],
    [
      'a glob of tools on a run’s end',
      'PUT',
      '/hooks/a',
      entry({ match: 'a_*' }),
      {},
      422,
      /not a tool hook/,
    ],
    ['another protocol', 'PUT', '/hooks/a', entry({ url: 'file:///etc/passwd' }), {}, 422, /url/],
  ]
  it.each(refused)('refuse %s', async (_name, method, path, body, headers, status, message) => {
    const { ask, dispatcher, changes } = setUp()
    dispatcher.use({ name: 'own', gates: [toolPolicy({ deny: ['drop_*'] })] })
    const answered = await ask(method, path, body, headers)
    expect(answered).toMatchObject({ status, body: { message: expect.stringMatching(message) } })
    expect(dispatcher.plugins.map(({ name }) => name)).toEqual(['own'])
    expect(changes).toEqual([])
  })

  it('post to no private address, and to no host that is not named', async () => {
    const { ask } = setUp({ allowPrivateAddresses: false, deliverTo: ['*.example.com'] })
    expect(await ask('PUT', '/hooks/a', WEBHOOK)).toMatchObject({ status: 422 })
    const elsewhere = entry({ url: 'https://evil.example/x.example.com/' })
    expect(await ask('PUT', '/hooks/a', elsewhere)).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('on *.example.com, got') },
    })
    expect(await ask('PUT', '/hooks/a', entry({ url: 'https://a.example.com/' }))).toMatchObject({
      status: 201,
    })
  })

  it('keep what there was when its replacement is refused', async () => {
    const { ask } = setUp()
    await ask('PUT', '/hooks/a', WEBHOOK)
    expect(await ask('PUT', '/hooks/a', entry({ on: 'nothing' }))).toMatchObject({ status: 422 })
    expect(await ask('GET', '/hooks/a')).toMatchObject({ status: 200, body: { on: ['onComplete'] } })
  })

  it('hold as many as they may, and bound who asks', async () => {
    const { ask } = setUp({ maxWebhooks: 1, perMinute: 3 })
    await ask('PUT', '/hooks/a', WEBHOOK)
    expect(await ask('PUT', '/hooks/b', WEBHOOK)).toMatchObject({ status: 409 })
    expect(await ask('PUT', '/hooks/a', WEBHOOK)).toMatchObject({ status: 200 })
    expect(await ask('GET', '/hooks')).toMatchObject({ status: 429 })
  })

  it('need a token', () => {
    expect(() => hookRoutes({ dispatcher: new HookDispatcher() })).toThrow(/need a `token` or `tokens`/)
    expect(() => hookRoutes({ dispatcher: {} as HookDispatcher, token: TOKEN })).toThrow(/a HookDispatcher/)
  })

  it('answer to no other name than loopback’s', async () => {
    const server = await serveHooks({ dispatcher: new HookDispatcher(), token: TOKEN })
    onTestFinished(() => server.close())
    const { port } = new URL(server.url)
    const { request } = await import('node:http')
    const asked = request({ port, host: '127.0.0.1', path: '/hooks', headers: { host: 'evil.example' } })
    const [response] = await once(asked.end(), 'response')
    expect(response.statusCode).toBe(421)
    response.destroy()
  })
})
