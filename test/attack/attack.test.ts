import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { HookDispatcher } from 'hookspan'
import { createApprovals, serveApprovals } from 'hookspan/approval'
import { type Gate, mutate } from 'hookspan/gates'
import {
  commandGate,
  httpGate,
  loadConfig,
  ReplayGuard,
  toolPolicy,
  verifySignature,
} from 'hookspan/policies'
import { describe, expect, it, onTestFinished } from 'vitest'
import { guardedLookup, type LookupAll } from '../../src/internal/http/post-json.ts'
import { isPrivateAddress } from '../../src/internal/http/private-addresses.ts'
import { signatureHeaders } from '../../src/internal/signature.ts'
import { desk, pending, request } from '../approval/support.ts'
import { callTool, start } from '../gates/support.ts'
import { cpuMs } from '../support/cpu.ts'

const SECRET = 'a secret of some length'
const TOKEN = 'a bearer token that is long'

async function listen(handle: RequestListener): Promise<string> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const says =
  (text: string): RequestListener =>
  (_request, response) =>
    void response.end(text)
const PROCEED = '{"decision":"proceed"}'

function folder(): string {
  const path = mkdtempSync(`${tmpdir()}/hookspan-attack-`)
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const decide = async (gate: Gate) => (await callTool(start([gate]).op)).outcome

describe('requests that are to go where they must not', () => {
  const urls = [
    'http://127.0.0.1/',
    'http://localhost/',
    'http://LOCALHOST./',
    'http://api.localhost/',
    'http://0x7f.1/',
    'http://2130706433/',
    'http://017700000001/',
    'http://0/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[fe80::1]/',
    'http://[fd00:ec2::254]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://１２７.0.0.1/',
    'http://user:pass@guard.example/',
    'file:///etc/passwd',
    'gopher://guard.example/',
    'javascript:1',
  ]
  it.each(urls)('refuses %s when the gate is made', (url) => {
    expect(() => httpGate({ id: 'g', point: 'beforeToolCall', url })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    )
  })

  const answers: [string, string[]][] = [
    ['loopback', ['127.0.0.1']],
    ['a private address among public ones', ['93.184.216.34', '10.0.0.1']],
    ['the metadata service', ['169.254.169.254']],
    ['IPv6 loopback', ['::1']],
    ['a mapped address', ['::ffff:10.0.0.1']],
    ['a mapped public address', ['::ffff:8.8.8.8']],
    ['a scoped address', ['fe80::1%eth0']],
    ['nothing', []],
    ['what is no address', ['localhost']],
  ]
  it.each(answers)('refuses a name whose DNS answer is %s', async (_name, addresses) => {
    const lookup = guardedLookup(((_host, _options, callback) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )) as LookupAll)
    for (const all of [true, false]) {
      const error = await new Promise<unknown>((resolve) => lookup('guard.example', { all }, resolve))
      expect(error).toMatchObject({ code: 'PRIVATE_ADDRESS' })
    }
  })

  it('connects to the very address that was checked, so that a second answer changes nothing', async () => {
    let asked = 0
    const lookup = guardedLookup(((_host, _options, callback) =>
      callback(null, [{ address: asked++ === 0 ? '93.184.216.34' : '127.0.0.1', family: 4 }])) as LookupAll)
    const given = await new Promise((resolve) =>
      lookup('rebind.example', {}, (_error, address) => resolve(address)),
    )
    expect([given, asked]).toEqual(['93.184.216.34', 1])
  })

  it('takes public addresses', () => {
    for (const address of [
      '8.8.8.8',
      '93.184.216.34',
      '172.32.0.1',
      '2606:4700::1111',
      '2001:4860:4860::8888',
    ]) {
      expect(isPrivateAddress(address), address).toBe(false)
    }
  })

  it.each([301, 302, 303, 307, 308])('follows no redirect %i', async (status) => {
    let reached = false
    const inner = await listen((_request, response) => {
      reached = true
      response.end(PROCEED)
    })
    const url = await listen(
      (_request, response) => void response.writeHead(status, { location: inner }).end(PROCEED),
    )
    const outcome = await decide(
      httpGate({ id: 'g', point: 'beforeToolCall', url, allowPrivateAddresses: true }),
    )
    expect([outcome.state, reached]).toEqual(['denied', false])
  })
})

describe('signatures', () => {
  const body = PROCEED
  const now = Date.now()
  const good = signatureHeaders({ secret: SECRET, id: 'msg_1', body, timestampMs: now })
  const check = (headers: Record<string, string>, more: object = {}) =>
    verifySignature({ secret: SECRET, headers, body, replay: new ReplayGuard(), ...more })

  it('takes the good one, and one of a secret that is being replaced', () => {
    expect(check(good)).toMatchObject({ id: 'msg_1' })
    expect(check(good, { secret: ['the next secret', SECRET] })).toMatchObject({ id: 'msg_1' })
    const upper = Object.fromEntries(Object.entries(good).map(([name, value]) => [name.toUpperCase(), value]))
    expect(check(upper)).toMatchObject({ id: 'msg_1' })
  })

  const later = String(Math.floor(now / 1_000) + 1)
  const forged: [string, Record<string, string>, object][] = [
    ['another body', good, { body: '{"decision":"deny"}' }],
    ['another secret', good, { secret: 'another secret' }],
    ['no secret', good, { secret: [] }],
    ['an empty secret', signatureHeaders({ secret: '', id: 'm', body, timestampMs: now }), { secret: '' }],
    [
      'an empty one among its secrets',
      signatureHeaders({ secret: 'whsec_', id: 'm', body, timestampMs: now }),
      { secret: [SECRET, 'whsec_'] },
    ],
    [
      'other bytes that read the same',
      signatureHeaders({ secret: SECRET, id: 'm', body: '"\ufffd"', timestampMs: now }),
      { body: Buffer.from([0x22, 0xff, 0x22]) },
    ],
    [
      'a byte order mark before the body',
      good,
      { body: Buffer.concat([Buffer.from('\ufeff'), Buffer.from(body)]) },
    ],
    ['another id', { ...good, 'webhook-id': 'msg_2' }, {}],
    ['another time', { ...good, 'webhook-timestamp': later }, {}],
    ['no signature', { ...good, 'webhook-signature': '' }, {}],
    ['an empty signature', { ...good, 'webhook-signature': 'v1,' }, {}],
    [
      'an unknown version',
      { ...good, 'webhook-signature': (good['webhook-signature'] ?? '').replace('v1', 'v0') },
      {},
    ],
    [
      'a signature cut short',
      { ...good, 'webhook-signature': (good['webhook-signature'] ?? '').slice(0, 20) },
      {},
    ],
    ['an old request', good, { now: now + 301_000 }],
    ['a request of the future', good, { now: now - 302_000 }],
    [
      'a time that is no number',
      signatureHeaders({ secret: SECRET, id: 'm', body, timestampMs: Number.NaN }),
      {},
    ],
  ]
  it.each(forged)('refuses %s', (_name, headers, more) => {
    expect(() => check(headers, more)).toThrow(expect.objectContaining({ code: 'INVALID_SIGNATURE' }))
  })

  it('refuses a request that came before, and everything once it can remember no more', () => {
    const replay = new ReplayGuard({ maxEntries: 2 })
    check(good, { replay })
    expect(() => check(good, { replay })).toThrow('came before')
    check(signatureHeaders({ secret: SECRET, id: 'msg_2', body }), { replay })
    expect(() => check(signatureHeaders({ secret: SECRET, id: 'msg_3', body }), { replay })).toThrow(
      'came before',
    )
  })
})

describe('approvals', () => {
  const post = (url: string, body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })

  async function waiting() {
    const parts = desk()
    const server = await serveApprovals({ approvals: parts.approvals, token: TOKEN })
    onTestFinished(() => server.close())
    const outcome = parts.call()
    const asked = await pending(parts.approvals)
    return { ...parts, outcome, asked, url: `${server.url}/hitl/approvals/${asked.id}/respond` }
  }

  it('are answered once, of fifty answers at once', async () => {
    const { url, outcome, ran } = await waiting()
    const answers = Array.from({ length: 50 }, (_, i) =>
      post(url, JSON.stringify({ decision: i % 2 ? 'approve' : 'reject' }), {
        authorization: `Bearer ${TOKEN}`,
      }),
    )
    const statuses = (await Promise.all(answers)).map((response) => response.status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(new Set(statuses)).toEqual(new Set([200, 409]))
    await outcome
    expect(ran.length).toBeLessThan(2)
  })

  it.each([
    ['no token', {}],
    ['a wrong token', { authorization: `Bearer ${TOKEN.slice(0, -1)}X` }],
    ['half a token', { authorization: `Bearer ${TOKEN.slice(0, 10)}` }],
    ['the token as a query', {}],
    ['the token as a cookie', { cookie: `authorization=Bearer ${TOKEN}` }],
  ])('take no answer with %s', async (name, headers) => {
    const { url, approvals, asked } = await waiting()
    const target = name.endsWith('query') ? `${url}?token=${encodeURIComponent(TOKEN)}` : url
    expect((await post(target, '{"decision":"approve"}', headers)).status).toBe(401)
    expect((await approvals.get(asked.id))?.status).toBe('pending')
  })

  it('do not run what was changed after the human saw it', async () => {
    const args = { amount: 1 }
    const approvals = createApprovals({ pollMs: 5 })
    const dispatcher = new HookDispatcher()
    dispatcher.use(approvals)
    dispatcher.use({
      name: 'h',
      gates: [{ id: 'h', point: 'beforeToolCall', decide: () => ({ decision: 'require_approval' }) }],
    })
    const ran: unknown[] = []
    const call = dispatcher
      .startOperation()
      .toolCall({ apiName: 'pay', args }, (given) => void ran.push(given))
    const asked = await pending(approvals)
    args.amount = 1_000_000
    await approvals.respond(asked.id, { decision: 'approve', argsDigest: asked.argsDigest })
    await call
    expect(ran).toEqual([{ amount: 1 }])
  })

  it('refuse an answer for other arguments, and a request of the same id with other ones', async () => {
    const { approvals, asked } = await waiting()
    await expect(
      approvals.respond(asked.id, { decision: 'approve', argsDigest: '0'.repeat(64) }),
    ).rejects.toMatchObject({ code: 'APPROVAL_MISMATCH' })
    const forged = { ...asked, args: { id: 2 }, argsDigest: '1'.repeat(64) }
    const signal = new AbortController().signal
    await expect(approvals.approver.requestApproval(forged, { signal })).rejects.toMatchObject({
      code: 'APPROVAL_MISMATCH',
    })
  })

  it('take no page of another site for their own', async () => {
    const { url, approvals, asked } = await waiting()
    const { request: send } = await import('node:http')
    const status = await new Promise((resolve) => {
      const headers = {
        host: 'rebind.example',
        authorization: `Bearer ${TOKEN}`,
        'content-type': 'application/json',
      }
      send(url, { method: 'POST', headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      }).end('{"decision":"approve"}')
    })
    expect(status).toBe(421)
    expect((await approvals.get(asked.id))?.status).toBe('pending')
  })

  it.each(['../../etc', '..%2f..%2fetc', "' OR 1=1 --", '%00', '__proto__', 'constructor'])(
    'know no request %s',
    async (id) => {
      const server = await serveApprovals({ approvals: createApprovals(), token: TOKEN })
      onTestFinished(() => server.close())
      const response = await fetch(`${server.url}/hitl/approvals/${encodeURIComponent(id)}`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      })
      expect(response.status).toBe(404)
    },
  )
})

describe('headers', () => {
  it.each<Record<string, string>>([
    { 'x-a': 'b\r\nx-evil: 1' },
    { 'x-a': 'b\nx' },
    { 'x-a\r\nevil': '1' },
    { 'x-a': '\u0000' },
    { 'x-a': 'ſ' },
    { host: 'other' },
    { 'Content-Length': '0' },
    { 'transfer-encoding': 'chunked' },
    { 'webhook-signature': 'v1,x' },
    { traceparent: 'x' },
    { '': 'x' },
    { __proto__x: ['a'] as never },
  ])('are refused: %j', (headers) => {
    expect(() => httpGate({ id: 'g', point: 'onStart', url: 'https://guard.example', headers })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    )
  })

  it('cannot be forged by a tool name or arguments', async () => {
    let got: IncomingMessage | undefined
    const url = await listen((incoming, response) => {
      got = incoming
      response.end(PROCEED)
    })
    const { op } = start([
      httpGate({ id: 'g', point: 'beforeToolCall', url, secret: SECRET, allowPrivateAddresses: true }),
    ])
    await callTool(op, { a: '\r\nx-evil: 1' }, 'tool\r\nx-evil: 1')
    expect(got?.headers['x-evil']).toBeUndefined()
  })
})

describe('hostile answers', () => {
  const nested = (depth: number) => `{"decision":"mutate","payload":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const bodies: [string, string][] = [
    ['__proto__', '{"decision":"mutate","payload":{"__proto__":{"polluted":true}}}'],
    ['a nested __proto__', '{"decision":"mutate","payload":{"a":[{"__proto__":{"polluted":true}}]}}'],
    [
      'constructor.prototype',
      '{"decision":"mutate","payload":{"constructor":{"prototype":{"polluted":true}}}}',
    ],
    ['__proto__ beside the decision', '{"decision":"proceed","__proto__":{"stop":true}}'],
    ['100 levels', nested(100)],
    ['100 000 levels', nested(100_000)],
    ['a million brackets', '['.repeat(1_000_000)],
    ['2 MB of spaces', `${PROCEED}${' '.repeat(2_000_000)}`],
    ['a byte order mark and rubbish', '\uFEFF{]'],
    ['a comment', `/* */${PROCEED}`],
    ['NaN', '{"decision":"require_approval","timeoutMs":NaN}'],
    ['an endless timeout', '{"decision":"require_approval","timeoutMs":1e999}x'],
  ]
  it.each(bodies)('of an endpoint are refused: %s', async (_name, text) => {
    const url = await listen(says(text))
    const outcome = await decide(
      httpGate({ id: 'g', point: 'beforeToolCall', url, allowPrivateAddresses: true }),
    )
    expect(outcome).toMatchObject({ state: 'denied', code: expect.stringMatching(/^gate_(invalid|error)$/) })
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('of a command are refused, too', async () => {
    const script = `process.stdout.write('{"decision":"mutate","payload":{"__proto__":{"polluted":true}}}')`
    const outcome = await decide(
      commandGate({ id: 'g', point: 'beforeToolCall', command: process.execPath, args: ['-e', script] }),
    )
    expect(outcome).toMatchObject({ code: 'gate_invalid' })
  })

  it('of a function pollute nothing when they are merged into a request', async () => {
    const payload = JSON.parse('{"__proto__":{"polluted":true},"temperature":0}')
    const { op } = start([{ id: 'g', point: 'beforeLlmCall', decide: () => mutate(payload) }])
    await op.llmCall({ model: 'm', request: { messages: [] } }, (sent) => ({ sent }))
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('cannot stall the process with a pattern', async () => {
    const { op } = start([toolPolicy({ denyArguments: { '*': '^(([a-z])+.)+[A-Z]([a-z])+$' } })])
    expect(await cpuMs(() => callTool(op, { a: 'a'.repeat(50_000) }))).toBeLessThan(20_000)
  })
})

describe('arguments nested so deeply that JSON cannot show them', () => {
  const args: unknown = JSON.parse(`{"command":"rm -rf /","pad":${'['.repeat(20_000)}${']'.repeat(20_000)}}`)

  it.each<[string, () => Promise<Gate>]>([
    [
      'a command',
      async () => commandGate({ id: 'g', point: 'beforeToolCall', command: 'echo', args: [PROCEED] }),
    ],
    [
      'an endpoint',
      async () => {
        const url = await listen(says(PROCEED))
        return httpGate({ id: 'g', point: 'beforeToolCall', url, allowPrivateAddresses: true })
      },
    ],
  ])('do not run on the word of %s, which has not seen them', async (_name, make) => {
    const { outcome, ran } = await callTool(start([await make()]).op, args)
    expect(outcome).toMatchObject({
      state: 'denied',
      code: 'not_json',
      reason: expect.stringContaining('JSON cannot carry'),
    })
    expect(ran).toEqual([])
  })

  it('do not run on the word of a human, who has not seen them', async () => {
    const { call, ran } = desk()
    expect(await call(args)).toMatchObject({ state: 'denied', code: 'not_json' })
    expect(ran).toEqual([])
  })
})

describe('config files', () => {
  const load = (text: string, name = 'hookspan.config.yaml', more: (path: string) => void = () => {}) => {
    const cwd = folder()
    writeFileSync(`${cwd}/${name}`, text)
    more(cwd)
    return loadConfig({ cwd, userFile: false })
  }
  const command = (path: string, cwd?: string) =>
    `gates:\n  - { id: a, type: command, point: onStart, command: "${path}"${cwd ? `, cwd: "${cwd}"` : ''} }\n`

  const files: [string, string, string?][] = [
    ['__proto__ in YAML', 'gates:\n  - { id: a, type: toolPolicy, __proto__: { shadow: true } }\n'],
    ['__proto__ in JSON', '{"__proto__":{"polluted":true},"gates":[]}', 'hookspan.config.json'],
    ['__proto__ in TOML', '[__proto__]\npolluted = true\n', 'hookspan.config.toml'],
    ['a type of the prototype', 'gates:\n  - { id: a, type: constructor }\n'],
    ['a type of the prototype, again', 'gates:\n  - { id: a, type: __proto__ }\n'],
    ['deep nesting', `gates: ${'['.repeat(200)}${']'.repeat(200)}\n`],
    [
      'a bomb of aliases',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefgh'
        .split('')
        .map((key, i) => `${key}: &${key} [${Array(9).fill(`*${'abcdefg'[i]}`)}]`)
        .join('\n')}\ngates: []\n`,
    ],
    ['more than a megabyte', `# ${'x'.repeat(1_100_000)}\n`],
    ['a custom tag', 'gates: !!js/function "function(){}"\n'],
    ['a command above the folder', command('../evil.sh')],
    ['a command above the folder, hidden', command('a/../../evil.sh')],
    ['a folder above the folder', command('node', '..')],
    ['a null byte in a command', command('a\\0b')],
    [
      'a line break in a header',
      'gates:\n  - { id: a, type: http, point: onStart, url: "https://g.example", headers: { a: "b\\r\\nc: d" } }\n',
    ],
    [
      'a private address',
      'gates:\n  - { id: a, type: http, point: onStart, url: "http://169.254.169.254/" }\n',
    ],
  ]
  it.each(files)('are refused with %s', async (_name, text, file) => {
    await expect(load(text, file)).rejects.toMatchObject({ code: 'INVALID_CONFIG' })
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('are refused when a command is a link out of the folder', async () => {
    await expect(
      load(command('./guard.sh'), undefined, (cwd) => symlinkSync('/bin/sh', `${cwd}/guard.sh`)),
    ).rejects.toThrow('leads out of')
  })

  it('are refused when they are a link out of their folder, or everybody may write them', async () => {
    const evil = folder()
    writeFileSync(`${evil}/c.yaml`, 'gates: []\n')
    const cwd = folder()
    symlinkSync(`${evil}/c.yaml`, `${cwd}/hookspan.config.yaml`)
    await expect(loadConfig({ cwd, userFile: false })).rejects.toThrow('a link that leads out')
    await expect(
      load('gates: []\n', undefined, (path) => chmodSync(`${path}/hookspan.config.yaml`, 0o646)),
    ).rejects.toThrow('everybody may write')
  })

  it('start no shell and expand nothing in a command', async () => {
    const cwd = folder()
    mkdirSync(`${cwd}/sub`)
    writeFileSync(
      `${cwd}/hookspan.config.yaml`,
      `gates:\n  - { id: a, type: command, point: beforeToolCall, command: "node; touch pwned", args: ["$(touch pwned)"] }\n`,
    )
    const { plugin } = await loadConfig({ cwd, userFile: false })
    const outcome = await decide(plugin.gates?.[0] as Gate)
    expect(outcome).toMatchObject({ state: 'denied', code: 'gate_error' })
    expect(existsSync(`${cwd}/pwned`)).toBe(false)
  })
})

it('a store keeps what it was given, whatever the caller does with it afterwards', async () => {
  const approvals = createApprovals()
  const args = { amount: 1 }
  const given = request('apr_1', { args })
  await approvals.store.add(given)
  args.amount = 2
  expect((await approvals.get('apr_1'))?.request.args).toEqual({ amount: 1 })
})
