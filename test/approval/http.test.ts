import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  type ApprovalRoutesOptions,
  type AuditEvent,
  approvalRoutes,
  createApprovals,
  memoryStore,
  serveApprovals,
  verifySignature,
  webhookChannel,
} from 'hookspan/approval'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { desk, folder, pending, request } from './support.ts'

const TOKEN = 'a bearer token that is long'
const SECRET = 'a secret of some length'

async function routes(options: Partial<ApprovalRoutesOptions> = {}) {
  const noted: AuditEvent[] = []
  const approvals = createApprovals({ audit: { append: async (event) => void noted.push(event) } })
  await approvals.store.add(request('apr_1'))
  const handle = approvalRoutes({ approvals, token: TOKEN, ...options })
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await handle(
      new Request(`http://host${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    )
    return { status: response?.status, headers: response?.headers, body: await response?.json() }
  }
  return { approvals, handle, ask, noted }
}
const RESPOND = '/hitl/approvals/apr_1/respond'

describe('approvalRoutes', () => {
  it('lists requests, shows one, and takes its answer', async () => {
    const { ask } = await routes()
    expect(await ask('GET', '/hitl/approvals?status=pending')).toMatchObject({
      status: 200,
      body: [{ status: 'pending', request: { id: 'apr_1', apiName: 'delete_order' } }],
    })
    expect(await ask('GET', '/hitl/approvals/apr_1')).toMatchObject({
      status: 200,
      body: { status: 'pending' },
    })
    const answer = { decision: 'approve', approver: 'ann', argsDigest: 'd'.repeat(64) }
    expect(await ask('POST', RESPOND, answer)).toMatchObject({
      status: 200,
      body: { status: 'answered', answer: { decision: 'approve', approver: 'ann' } },
    })
  })

  const refused: [string, string, string, unknown, Record<string, string>, number][] = [
    ['without a token', 'POST', RESPOND, { decision: 'approve' }, { authorization: '' }, 401],
    ['with a wrong token', 'POST', RESPOND, { decision: 'approve' }, { authorization: 'Bearer wrong' }, 401],
    ['with the token in another scheme', 'POST', RESPOND, {}, { authorization: `Basic ${TOKEN}` }, 401],
    ['without a token for reading', 'GET', '/hitl/approvals', undefined, { authorization: '' }, 401],
    ['for an unknown request', 'POST', '/hitl/approvals/nope/respond', { decision: 'approve' }, {}, 404],
    ['on an unknown route', 'POST', '/hitl/approvals/apr_1/delete', {}, {}, 404],
    ['with a wrong method', 'GET', RESPOND, undefined, {}, 405],
    ['with no JSON', 'POST', RESPOND, 'decision=approve', {}, 400],
    ['with a form', 'POST', RESPOND, '{}', { 'content-type': 'text/plain' }, 415],
    ['with an unknown decision', 'POST', RESPOND, { decision: 'yes' }, {}, 422],
    ['with an unknown field', 'POST', RESPOND, { decision: 'approve', admin: true }, {}, 422],
    ['for other arguments', 'POST', RESPOND, { decision: 'approve', argsDigest: 'e' }, {}, 409],
    ['with a body that is too large', 'POST', RESPOND, `"${'x'.repeat(300_000)}"`, {}, 413],
    [
      'with a key that pollutes',
      'POST',
      RESPOND,
      '{"decision":"edit","args":{"__proto__":{"a":1}}}',
      {},
      400,
    ],
    [
      'with two decisions',
      'POST',
      RESPOND,
      `{"decision":"reject","decision":"approve","argsDigest":"${'d'.repeat(64)}"}`,
      {},
      400,
    ],
    ['with a broken path', 'GET', '/hitl/approvals/%E0%A4%A', undefined, {}, 400],
  ]
  it.each(refused)('refuses %s', async (_name, method, path, body, headers, status) => {
    const { ask, approvals, noted } = await routes()
    expect(await ask(method, path, body, headers)).toMatchObject({
      status,
      body: { message: expect.any(String) },
    })
    // What is too large was not read, so nobody knows yet who sent it.
    const isAttempt = method === 'POST' && path.endsWith('/respond') && status !== 413
    expect(noted.map(({ event }) => event)).toEqual(isAttempt ? ['refused'] : [])
    expect((await approvals.get('apr_1'))?.status).toBe('pending')
  })

  it('takes the first answer only', async () => {
    const { ask } = await routes()
    await ask('POST', RESPOND, { decision: 'approve' })
    expect(await ask('POST', RESPOND, { decision: 'reject' })).toMatchObject({
      status: 409,
      body: { error: 'APPROVAL_ANSWERED' },
    })
  })

  it('takes the owner of a token for the approver, whatever the answer says', async () => {
    const { ask, approvals } = await routes({ tokens: { ann: 'the token that ann holds' } })
    await ask(
      'POST',
      RESPOND,
      { decision: 'approve', approver: 'boss' },
      { authorization: 'Bearer the token that ann holds' },
    )
    expect((await approvals.get('apr_1'))?.answer?.approver).toBe('ann')
  })

  it('takes a signed answer once', async () => {
    const { ask, approvals } = await routes({ webhookSecret: SECRET })
    const body = JSON.stringify({ decision: 'reject', approver: 'slack:ann' })
    const now = new Date()
    const sign = (secret: string) => ({
      authorization: '',
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': new Webhook(secret, { format: 'raw' }).sign('msg_1', now, body),
    })
    expect((await ask('POST', RESPOND, body, sign('another secret'))).status).toBe(401)
    expect((await ask('POST', RESPOND, body, sign(SECRET))).status).toBe(200)
    expect((await approvals.get('apr_1'))?.answer).toMatchObject({ approver: 'slack:ann' })
    expect((await ask('POST', RESPOND, body, sign(SECRET))).status).toBe(401)
  })

  it('takes answers that are signed with either secret while it is changed, and says why it takes one not', async () => {
    const { ask } = await routes({ webhookSecret: ['the secret of next week', SECRET] })
    const body = JSON.stringify({ decision: 'reject' })
    const answer = (secret: string, at = new Date()) =>
      ask('POST', RESPOND, body, {
        authorization: '',
        'webhook-id': secret,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
        'webhook-signature': new Webhook(secret, { format: 'raw' }).sign(secret, at, body),
      })
    const late = await answer(SECRET, new Date(Date.now() - 3_600_000))
    expect(late).toMatchObject({ status: 401, body: { message: expect.stringContaining('timestamp') } })
    expect(await answer('another secret')).toMatchObject({
      status: 401,
      body: { message: expect.stringContaining('does not match the body') },
    })
    expect((await answer(SECRET)).status).toBe(200)
    // By the other one it is the second answer.
    expect((await answer('the secret of next week')).status).toBe(409)
  })

  it('takes no empty list of secrets, and no empty one among them', async () => {
    for (const webhookSecret of [[], [SECRET, '']])
      await expect(routes({ webhookSecret })).rejects.toThrow('The secret of the approval routes')
  })

  it('takes no signed answer for a request that it may not have been given for', async () => {
    const { ask, approvals } = await routes({ webhookSecret: SECRET })
    const signed = (answer: object, id: string) => {
      const body = JSON.stringify(answer)
      const now = new Date()
      return ask('POST', RESPOND, body, {
        authorization: '',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
        'webhook-signature': new Webhook(SECRET, { format: 'raw' }).sign(id, now, body),
      })
    }
    expect((await signed({ decision: 'approve' }, 'msg_1')).status).toBe(422)
    expect((await signed({ decision: 'approve', argsDigest: 'e'.repeat(64) }, 'msg_2')).status).toBe(409)
    const argsDigest = (await approvals.get('apr_1'))?.request.argsDigest
    expect((await signed({ decision: 'approve', argsDigest }, 'msg_3')).status).toBe(200)
  })

  it('limits how often one may try', async () => {
    const { ask } = await routes({ perMinute: 3 })
    const statuses = []
    for (let i = 0; i < 5; i++)
      statuses.push((await ask('GET', '/hitl/approvals', undefined, { authorization: '' })).status)
    expect(statuses).toEqual([401, 401, 401, 429, 429])
    const good = await ask('GET', '/hitl/approvals')
    expect(good.status).toBe(200)
    for (let i = 0; i < 3; i++) await ask('GET', '/hitl/approvals')
    const last = await ask('GET', '/hitl/approvals')
    expect([last.status, last.headers?.get('retry-after')]).toEqual([429, '20'])
  })

  it('leaves other paths to other routes', async () => {
    const { handle } = await routes()
    expect(await handle(new Request('http://host/other'))).toBeUndefined()
    expect(await handle(new Request('http://host/hitl/approvalsX'))).toBeUndefined()
  })

  it('are found whatever slashes and letters are in `basePath`', async () => {
    for (const [basePath, path] of [
      ['hitl', '/hitl'],
      ['/über uns/', '/%C3%BCber%20uns'],
      ['/', ''],
      ['', ''],
    ]) {
      const { ask } = await routes({ basePath: basePath as string })
      expect(await ask('GET', `${path}/approvals/apr_1`)).toMatchObject({ status: 200 })
    }
  })

  it('take a token from a file that ends with a line break, and one that is not ASCII', async () => {
    const status = async (token: string, sent: string) => {
      const { ask } = await routes({ token })
      return (await ask('GET', '/hitl/approvals', undefined, { authorization: `Bearer ${sent}` })).status
    }
    expect(await status(`${TOKEN}\n`, TOKEN)).toBe(200)
    // As `fetch` sends it, and as curl does.
    const token = 'ein geheimer Schlüssel'
    expect(await status(token, token)).toBe(200)
    expect(await status(token, Buffer.from(token).toString('latin1'))).toBe(200)
    expect(await status(token, token.replace('ü', 'u'))).toBe(401)
    const approvals = createApprovals()
    expect(() => approvalRoutes({ approvals, token: `${TOKEN}\n${TOKEN}` })).toThrow('no header carries')
  })

  it('say that something before them has read the body', async () => {
    const { handle, approvals } = await routes()
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const asked = () =>
      new Request(`http://host${RESPOND}`, { method: 'POST', headers, body: '{"decision":"approve"}' })
    const read = asked()
    await read.json()
    // What is made of a request of Node whose body a parser has: its headers say how long it was.
    const headersOnly = new Request(`http://host${RESPOND}`, {
      method: 'POST',
      headers: { ...headers, 'content-length': '22' },
      body: new ReadableStream({ start: (controller) => controller.close() }),
      duplex: 'half',
    } as RequestInit)
    for (const one of [read, headersOnly]) {
      const response = await handle(one)
      expect(response?.status).toBe(500)
      expect(await response?.json()).toMatchObject({ message: expect.stringContaining('was read before') })
    }
    expect((await approvals.get('apr_1'))?.status).toBe('pending')
    expect((await handle(asked()))?.status).toBe(200)
  })

  it('does not start where nobody could answer or anybody, and warns of a token that can be guessed', () => {
    const approvals = createApprovals()
    expect(() => approvalRoutes({ approvals })).toThrow('need a `token`')
    expect(() => approvalRoutes({ approvals, token: ' ' })).toThrow('must be a text that is not empty')
    expect(() => approvalRoutes({ approvals, tokens: { ann: '' } })).toThrow('approver "ann"')
    const same: Partial<ApprovalRoutesOptions>[] = [
      { tokens: { ann: TOKEN, bob: `${TOKEN}\n` } },
      { tokens: { ann: TOKEN }, token: TOKEN },
    ]
    for (const one of same)
      expect(() => approvalRoutes({ approvals, ...one })).toThrow('Two tokens of the approval routes are the')
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    approvalRoutes({ approvals, token: 'short' })
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('can be guessed'))
    warn.mockRestore()
  })
})

describe('serveApprovals', () => {
  it('answers what has come in when it closes, and says that the connection does', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const store = memoryStore()
    const { list } = store
    store.list = (filter) => gate.then(() => list(filter))
    const server = await serveApprovals({ approvals: createApprovals({ store }), token: TOKEN })
    const { hostname, port } = new URL(server.url)
    const head = `Host: ${hostname}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`
    const said = async (...parts: string[]) => {
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      for (const part of parts) socket.write(part)
      return { socket, text: text(socket) }
    }
    const idle = await said(`GET /hitl/approvals/no HTTP/1.1\r\n${head}`)
    const [before] = await once(idle.socket, 'data')
    expect(String(before)).toContain('Connection: keep-alive')
    const asking = await said(`GET /hitl/approvals HTTP/1.1\r\n${head}`)
    const halfway = await said('GET /hitl/approvals HTTP/1.1\r\n')
    const silent = await said('GET /hitl/approvals HTTP/1.1\r\n')
    // All of it has arrived when an answer to what was sent last has.
    await once((await said(`GET /hitl/approvals/no HTTP/1.1\r\n${head}`)).socket, 'data')

    const closed = server.close()
    await idle.text
    halfway.socket.write(head)
    open()
    for (const { text: answer } of [asking, halfway]) {
      expect(await answer).toMatch(/^HTTP\/1.1 200 OK\r\n.*connection: close\r\n.*\n\[\]\r\n/is)
    }
    await closed
    expect(await silent.text).toBe('')
    await expect(fetch(server.url)).rejects.toThrow()
  })

  const refusals: [string, string, RegExp][] = [
    [
      'a body that nobody reads',
      'PUT /hitl/approvals/no/respond',
      /^HTTP\/1.1 405 .*connection: close\r\n/is,
    ],
    ['what a proxy is asked', 'GET http://elsewhere.example/hitl/approvals', /^HTTP\/1.1 400 /],
    ['a path that is none', 'GET *', /^HTTP\/1.1 400 /],
  ]
  it.each(refusals)('answers %s, and says when it closes the connection', async (_name, line, answer) => {
    const server = await serveApprovals({ approvals: createApprovals(), token: TOKEN })
    onTestFinished(() => server.close())
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    const head = `Host: ${hostname}\r\nAuthorization: Bearer ${TOKEN}\r\n`
    const body = line.startsWith('PUT') ? 'Content-Length: 20\r\n\r\n{' : '\r\n'
    socket.write(`${line} HTTP/1.1\r\n${head}${body}`)
    const [said] = await once(socket, 'data')
    expect(String(said)).toMatch(answer)
    socket.destroy()
  })

  it('refuses an answer whose bytes are no UTF-8, which would be another one as text', async () => {
    const { approvals, call } = desk()
    const server = await serveApprovals({ approvals, token: TOKEN })
    onTestFinished(() => server.close())
    const outcome = call()
    const { id } = await pending(approvals)
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const url = `${server.url}/hitl/approvals/${id}/respond`
    const edit = Buffer.from('{"decision":"edit","args":{"path":"\xff"}}', 'latin1')
    const refused = await fetch(url, { method: 'POST', headers, body: edit })
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('it is not UTF-8')])
    await fetch(url, { method: 'POST', headers, body: '{"decision":"reject"}' })
    expect((await outcome).state).toBe('rejected')
  })

  it('lets a run go on that waits in the process', async () => {
    const { approvals, call } = desk()
    const server = await serveApprovals({ approvals, token: TOKEN })
    onTestFinished(() => server.close())
    const outcome = call()
    const { id, argsDigest } = await pending(approvals)
    const response = await fetch(`${server.url}/hitl/approvals/${id}/respond`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ decision: 'edit', args: { id: 5 }, approver: 'ann', argsDigest }),
    })
    expect(response.status).toBe(200)
    expect(await outcome).toMatchObject({ state: 'completed' })
  })

  it('lets people answer whose clock was set back', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const { ask } = await routes()
    expect((await ask('GET', '/hitl/approvals')).status).toBe(200)
    vi.setSystemTime(Date.now() - 3_600_000)
    expect((await ask('POST', RESPOND, { decision: 'approve', approver: 'ann' })).status).toBe(200)
  })

  it('does not answer to a name that is not its own', async () => {
    const server = await serveApprovals({ approvals: createApprovals(), token: TOKEN })
    onTestFinished(() => server.close())
    const { status } = await raw(server.url, 'GET', '/hitl/approvals', {
      host: 'evil.example',
      authorization: `Bearer ${TOKEN}`,
    })
    expect(status).toBe(421)
  })

  it('refuses a body that never ends', async () => {
    const server = await serveApprovals({ approvals: createApprovals(), token: TOKEN })
    onTestFinished(() => server.close())
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const { status } = await raw(server.url, 'POST', RESPOND, headers, 'x'.repeat(400_000))
    expect([413, undefined]).toContain(status)
  })
})

it('webhookChannel tells of requests and of what became of them, signed, and again after a failure', async () => {
  const got: { type: string; id: string }[] = []
  let failures = 2
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    if (failures-- > 0) return void response.writeHead(503).end()
    const { id } = verifySignature({ secret: SECRET, headers: incoming.headers, body })
    got.push({ type: (JSON.parse(body) as { type: string }).type, id })
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const channel = webhookChannel({ url, secret: SECRET, allowPrivateAddresses: true, baseDelayMs: 5 })
  const { approvals, call } = desk({ channels: [channel] })
  const outcome = call()
  const { id } = await pending(approvals)
  await expect.poll(() => got).toHaveLength(1)
  await approvals.respond(id, { decision: 'approve' })
  await outcome
  await expect
    .poll(() => got)
    .toEqual([
      { type: 'approval.requested', id: `${id}.requested` },
      { type: 'approval.closed', id: `${id}.closed` },
    ])
})

it('webhookChannel keeps what could not be delivered', async () => {
  const deadLetterPath = `${folder()}/dead.jsonl`
  const channel = webhookChannel({
    url: 'http://127.0.0.1:9/',
    allowPrivateAddresses: true,
    maxAttempts: 2,
    baseDelayMs: 1,
    deadLetterPath,
  })
  await channel.requested?.(request('apr_1'))
  expect(JSON.parse(readFileSync(deadLetterPath, 'utf8'))).toMatchObject({
    id: 'apr_1.requested',
    attempts: 2,
    why: expect.stringContaining('ECONNREFUSED'),
  })
})

async function raw(url: string, method: string, path: string, headers: Record<string, string>, body = '') {
  const { request: send } = await import('node:http')
  return new Promise<{ status: number | undefined }>((resolve) => {
    const outgoing = send(new URL(path, url), { method, headers }, (response) => {
      response.resume()
      resolve({ status: response.statusCode })
    })
    outgoing.on('error', () => resolve({ status: undefined }))
    outgoing.end(body)
  })
}
