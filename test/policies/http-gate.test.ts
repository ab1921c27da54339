import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createRawServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Gate } from 'hookspan/gates'
import { type HttpGateOptions, httpGate, verifySignature } from 'hookspan/policies'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { callTool, start } from '../gates/support.ts'

const SECRET = 'a secret of some length'
type Handle = (request: IncomingMessage & { text: string }, response: ServerResponse) => void

/** A real policy service. */
async function serve(handle: Handle): Promise<{ url: string; connections: () => number }> {
  let connections = 0
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    handle(Object.assign(request, { text: Buffer.concat(chunks).toString() }), response)
  })
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/decide`,
    connections: () => connections,
  }
}

/** A service that writes what it likes, once for each request. */
async function serveRaw(answer: (socket: Socket) => void): Promise<string> {
  const open: Socket[] = []
  const server = createRawServer((socket) => {
    open.push(socket)
    socket.on('error', () => {})
    socket.on('data', (data) => data.includes('POST ') && answer(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/decide`
}

const json =
  (value: unknown, headers = {}): Handle =>
  (_request, response) =>
    void response
      .writeHead(200, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(value))

function guard(url: string, more: Partial<HttpGateOptions> = {}): Gate {
  return httpGate({ id: 'guard', point: 'beforeToolCall', url, allowPrivateAddresses: true, ...more })
}

const decide = async (handle: Handle, more?: Partial<HttpGateOptions>) =>
  callTool(start([guard((await serve(handle)).url, more)]).op)

describe('httpGate', () => {
  it('takes each decision from the reply', async () => {
    expect((await decide(json({ decision: 'proceed' }))).outcome.state).toBe('completed')
    expect((await decide(json({ decision: 'deny', reason: 'no', code: 'x' }))).outcome).toMatchObject({
      code: 'x',
    })
    expect((await decide(json({ decision: 'mutate', payload: { q: 2 } }))).ran).toEqual([{ q: 2 }])
    expect((await decide(json({ decision: 'skip', result: 1 }))).outcome).toMatchObject({ state: 'skipped' })
  })

  it('posts the question, with the headers that were asked for', async () => {
    let got: (IncomingMessage & { text: string }) | undefined
    await decide(
      (request, response) => {
        got = request
        json({ decision: 'proceed' })(request, response)
      },
      { headers: { authorization: 'Bearer t' } },
    )
    expect(got?.method).toBe('POST')
    expect(got?.headers).toMatchObject({ authorization: 'Bearer t', 'content-type': 'application/json' })
    expect(JSON.parse(got?.text ?? '')).toMatchObject({
      schemaVersion: '1.0',
      gateId: 'guard',
      payload: { q: 1 },
    })
  })

  it('signs each request so that its own helper and any Standard Webhooks library can check it', async () => {
    const requests: (IncomingMessage & { text: string })[] = []
    const handle: Handle = (request, response) => {
      requests.push(request)
      json({ decision: 'proceed' })(request, response)
    }
    await decide(handle, { secret: SECRET })
    const [{ headers, text }] = requests as [IncomingMessage & { text: string }]
    expect(verifySignature({ secret: SECRET, headers, body: text }).id).toBe(headers['webhook-id'])
    const other = new Webhook(SECRET, { format: 'raw' })
    expect(other.verify(text, headers as Record<string, string>)).toMatchObject({ gateId: 'guard' })
  })

  it('keeps the connection open between calls', async () => {
    const { url, connections } = await serve(json({ decision: 'proceed' }))
    const { op } = start([guard(url)])
    for (let i = 0; i < 5; i++) await callTool(op)
    expect(connections()).toBe(1)
  })

  it('loses no question to a server that closes without a word, also of more than go out at once', async () => {
    const { url } = await serve((request, response) => {
      response.end('{"decision":"proceed"}', () => request.socket.end())
    })
    const { op } = start([guard(url)])
    const calls = await Promise.all(Array.from({ length: 300 }, () => callTool(op, {})))
    expect(calls.filter(({ outcome }) => outcome.state !== 'completed')).toEqual([])
  })

  it('is asked over a connection of its own where those that were kept have been closed', async () => {
    const asked = new Map<Socket, number>()
    let waiting: (() => void)[] = []
    const { url, connections } = await serve(({ socket }, response) => {
      const times = (asked.get(socket) ?? 0) + 1
      asked.set(socket, times)
      // As a proxy that is restarted, or lets a connection have so many requests.
      if (times > 1) return void socket.destroy()
      waiting.push(() => json({ decision: 'proceed' })(undefined as never, response))
      if (waiting.length < 3 && asked.size <= 3) return
      for (const reply of waiting) reply()
      waiting = []
    })
    const { op } = start([guard(url)])
    await Promise.all([callTool(op), callTool(op), callTool(op)])
    expect(connections()).toBe(3)
    expect((await callTool(op)).outcome.state).toBe('completed')
    expect(connections()).toBe(4)
  })

  it('hands on the trace', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    let got: string | undefined
    const { url } = await serve((request, response) => {
      got = request.headers.traceparent as string
      json({ decision: 'proceed' })(request, response)
    })
    const scope = { run: <T>(fn: () => T) => fn(), end: () => {}, traceparent }
    await callTool(start([guard(url)], { plugin: { instrument: { start: () => scope } } }).op)
    expect(got).toBe(traceparent)
  })

  const failures: [string, Handle, string, RegExp][] = [
    ['204', (_q, r) => void r.writeHead(204).end(), 'gate_error', /status 204/],
    ['500', (_q, r) => void r.writeHead(500).end('{"decision":"proceed"}'), 'gate_error', /status 500/],
    ['404', (_q, r) => void r.writeHead(404).end(), 'gate_error', /status 404/],
    [
      '201 with a decision',
      (_q, r) => void r.writeHead(201).end('{"decision":"proceed"}'),
      'gate_error',
      /201/,
    ],
    [
      'a redirect',
      (_q, r) => void r.writeHead(302, { location: 'http://127.0.0.1:1/' }).end('{"decision":"proceed"}'),
      'gate_error',
      /status 302/,
    ],
    ['no body', (_q, r) => void r.writeHead(200).end(), 'gate_invalid', /is not JSON/],
    ['HTML', (_q, r) => void r.end('<html>Log in</html>'), 'gate_invalid', /is not JSON/],
    [
      'an unknown field',
      json({ decision: 'proceed', verdict: 1 }),
      'gate_invalid',
      /unknown field `verdict`/,
    ],
    ['an unknown decision', json({ decision: 'approve' }), 'gate_invalid', /expected `decision`/],
    ['a wrong type', json({ decision: 'deny', code: 7 }), 'gate_invalid', /`code` to be a string/],
    [
      'a huge body',
      (_q, r) => void r.end(`{"decision":"proceed"}${' '.repeat(2_000_000)}`),
      'gate_error',
      /larger/,
    ],
    [
      'a body without end',
      (_q, r) => {
        const more = setInterval(() => r.write('x'.repeat(100_000)), 1)
        r.on('close', () => clearInterval(more))
      },
      'gate_error',
      /larger than 1048576 bytes/,
    ],
    [
      'what is no UTF-8',
      (_q, r) => void r.end(Buffer.from('{"decision":"mutate","payload":{"q":"\xff"}}', 'latin1')),
      'gate_invalid',
      /is not UTF-8/,
    ],
    [
      'what is compressed, unasked',
      (_q, r) =>
        void r.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"decision":"proceed"}')),
      'gate_invalid',
      /is compressed \(gzip\)\. Let it answer uncompressed/,
    ],
    ['a closed connection', (_q, r) => void r.socket?.destroy(), 'gate_error', /did not answer/],
    [
      'half a body',
      (_q, r) => {
        r.writeHead(200, { 'content-length': 100 }).write('{"decision"', () => void r.socket?.destroy())
      },
      'gate_error',
      /did not answer/,
    ],
    ['silence', () => {}, 'gate_timeout', /no decision within 300 ms/],
    ['a head and then silence', (_q, r) => void r.writeHead(200).write('{'), 'gate_timeout', /300 ms/],
    [
      'a wrong signature',
      json(
        { decision: 'proceed' },
        { 'webhook-id': 'a', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA' },
      ),
      'gate_invalid',
      /signature is not valid/,
    ],
  ]

  it.each(failures)('denies on %s', async (_name, handle, code, reason) => {
    const { outcome, ran } = await decide(handle, { timeoutMs: 300, secret: SECRET })
    expect(ran).toEqual([])
    expect(outcome).toMatchObject({ state: 'denied', code, reason: expect.stringMatching(reason) })
    expect(JSON.parse(outcome.toToolMessage().content)).toMatchObject({ denied: true, code })
  })

  it.each([
    ['another protocol', '101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other'],
    [
      'another protocol, in error',
      '426 Upgrade Required\r\nconnection: upgrade\r\nupgrade: other\r\ncontent-length: 0',
    ],
  ])('denies at once on an answer in %s', async (_name, head) => {
    const url = await serveRaw((socket) => void socket.write(`HTTP/1.1 ${head}\r\n\r\n`))
    const { outcome, ran } = await callTool(start([guard(url, { timeoutMs: 60_000 })]).op)
    expect(ran).toEqual([])
    expect(outcome).toMatchObject({ code: 'gate_error', reason: expect.stringContaining(head.slice(0, 3)) })
  })

  it('denies when nobody listens', async () => {
    const { outcome } = await callTool(start([guard('http://127.0.0.1:9/')]).op)
    expect(outcome).toMatchObject({
      code: 'gate_error',
      reason: expect.stringMatching(/ECONNREFUSED|did not answer/),
    })
  })

  it('takes a signed reply to its own request only, when it asks for one', async () => {
    const signed =
      (id?: string): Handle =>
      (request, response) => {
        const body = JSON.stringify({ decision: 'proceed' })
        const messageId = id ?? (request.headers['webhook-id'] as string)
        const now = new Date()
        response.setHeader('webhook-id', messageId)
        response.setHeader('webhook-timestamp', String(Math.floor(now.getTime() / 1000)))
        response.setHeader(
          'webhook-signature',
          new Webhook(SECRET, { format: 'raw' }).sign(messageId, now, body),
        )
        response.end(body)
      }
    const options = { secret: SECRET, requireSignedReply: true }
    expect((await decide(signed(), options)).outcome.state).toBe('completed')
    expect((await decide(signed('msg_other'), options)).outcome).toMatchObject({ code: 'gate_invalid' })
    expect((await decide(json({ decision: 'proceed' }), options)).outcome).toMatchObject({
      code: 'gate_invalid',
    })
  })

  it.each<[string, Partial<HttpGateOptions> & { url?: string }]>([
    ['another scheme', { url: 'file:///etc/passwd' }],
    ['no URL', { url: 'guard' }],
    ['a password in the URL', { url: 'https://u:p@guard.example/' }],
    ['a header with a line break', { headers: { a: 'b\r\nx: y' } }],
    ['a header of the client itself', { headers: { Host: 'other' } }],
    ['a header name with a space', { headers: { 'a b': 'c' } }],
    ['an empty secret', { secret: '' }],
    ['a required signature without a secret', { requireSignedReply: true }],
  ])('refuses %s at once', (_name, options) => {
    expect(() => guard('https://guard.example/', options)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    )
  })
})
