/** PulseBot's configuration examples, in our form. `docs/coming-from.md` names each test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { HookDispatcher, type HookEvent } from 'hookspan'
import { loadConfig, verifySignature } from 'hookspan/policies'
import { expect, it, onTestFinished, vi } from 'vitest'

const SECRET = 'a secret of some length'

async function run(yaml: string, env: Record<string, string> = {}) {
  const cwd = mkdtempSync(`${tmpdir()}/hookspan-pulsebot-`)
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  writeFileSync(`${cwd}/hookspan.config.yaml`, yaml)
  const { plugin } = await loadConfig({ cwd, userFile: false, env })
  const dispatcher = new HookDispatcher()
  dispatcher.use(plugin)
  const op = dispatcher.startOperation()
  const call = async (apiName: string, args: unknown) => {
    const outcome = await op.toolCall({ apiName, args }, (given) => given)
    return 'code' in outcome ? outcome.code : 'result' in outcome ? outcome.result : outcome.state
  }
  return { dispatcher, op, call }
}

async function guard(handle: RequestListener): Promise<string> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
}

it('policy: deny_tools, then deny_argument_patterns, then allow_tools', async () => {
  const { call } = await run(`
gates:
  - id: policy
    type: toolPolicy
    deny: [run_command]
    denyArguments: { command: ['rm -rf'] }
    allow: [file_*, shell]
`)
  expect(await call('run_command', {})).toBe('tool_not_allowed')
  expect(await call('shell', { command: 'rm -rf /' })).toBe('argument_denied')
  expect(await call('browser', {})).toBe('tool_not_allowed')
  expect(await call('file_read', { path: 'a' })).toEqual({ path: 'a' })
})

const WEBHOOK = `
gates:
  - id: guard
    type: http
    point: beforeToolCall
    url: \${URL}
    secret: \${SECRET}
    headers: { authorization: 'Bearer \${TOKEN}' }
    timeoutMs: 5000
    allowPrivateAddresses: true
`

it('webhook: approve, deny and modify, with a token from the environment', async () => {
  const url = await guard(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    verifySignature({ secret: SECRET, headers: request.headers, body })
    const { apiName } = JSON.parse(body)
    if (request.headers.authorization !== 'Bearer the-token') response.writeHead(401)
    const answers = {
      bad: { decision: 'deny', reason: 'no', code: 'guard' },
      fix: { decision: 'mutate', payload: { fixed: true } },
    }
    response.end(JSON.stringify(answers[apiName as 'bad'] ?? { decision: 'proceed' }))
  })
  const { call } = await run(WEBHOOK, { URL: url, SECRET, TOKEN: 'the-token' })
  expect([await call('ok', { a: 1 }), await call('bad', {}), await call('fix', {})]).toEqual([
    { a: 1 },
    'guard',
    { fixed: true },
  ])
})

it('webhook with fail_open: false, which is what we do without being asked', async () => {
  const answers = ['{"verdict":"approve"}', 'not json', '{"decision":"mutate"}']
  const url = await guard((_request, response) => void response.end(answers.shift()))
  const { call } = await run(WEBHOOK, { URL: url, SECRET, TOKEN: 't' })
  expect([await call('t', {}), await call('t', {}), await call('t', {})]).toEqual(
    Array(3).fill('gate_invalid'),
  )
})

it('webhook with fail_open: true, where the user wrote so', async () => {
  const open = `${WEBHOOK}    onFailure: proceed\n`
  const { call } = await run(open, { URL: 'http://127.0.0.1:9/', SECRET, TOKEN: 't' })
  expect(await call('t', { a: 1 })).toEqual({ a: 1 })
})

it('an unknown type or a misspelt field is an error, never a missing guard', async () => {
  await expect(run('gates:\n  - { id: a, type: polcy }\n')).rejects.toThrow('unknown gate type')
  await expect(run('gates:\n  - { id: a, type: toolPolicy, deny_tools: [x] }\n')).rejects.toThrow(
    'unknown field',
  )
})

it('post_call: an observer, which fires after a refusal, too; after a throw it is onToolCallError', async () => {
  const { dispatcher, op, call } = await run('gates:\n  - { id: p, type: toolPolicy, deny: [bad] }\n')
  const seen: string[] = []
  const handler = (event: HookEvent<'afterToolCall'>) => void seen.push(`${event.apiName} ${event.outcome}`)
  const failed = (event: HookEvent<'onToolCallError'>) => void seen.push(`${event.apiName} threw`)
  dispatcher.register(op.operationId, [
    { id: 'post', type: 'afterToolCall', handler },
    { id: 'failed', type: 'onToolCallError', handler: failed },
  ])
  await call('good', {})
  await call('bad', {})
  await op.toolCall({ apiName: 'broken', args: {} }, () => Promise.reject(new Error('no')))
  expect(seen).toEqual(['good completed', 'bad denied', 'broken threw'])
})

it('sub-agents are under the same policy', async () => {
  const { dispatcher, op } = await run('gates:\n  - { id: p, type: toolPolicy, deny: [bad] }\n')
  const inner = await op.callAgent({ agentName: 'a', instruction: 'i' }, (parent) =>
    dispatcher.startOperation({ parent }).toolCall({ apiName: 'bad', args: {} }, () => 1),
  )
  expect(inner.state).toBe('denied')
})

/** An endpoint as PulseBot's documentation has it: reads `tool_name`, answers a verdict, observes afterwards. */
async function pulsebotEndpoint(answers: Record<string, string>) {
  const got: { body: Record<string, unknown>; authorization: string | undefined }[] = []
  const url = await guard(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString())
    got.push({ body, authorization: request.headers.authorization })
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(body.event === 'post_call' ? '{}' : answers[body.tool_name])
  })
  return { url, got }
}

const SPEAKING = `
gates:
  - id: guard
    type: http
    protocol: pulsebot
    point: beforeToolCall
    url: \${URL}
    headers: { authorization: 'Bearer \${TOKEN}' }
    allowPrivateAddresses: true
hooks:
  - { id: after, type: webhook, protocol: pulsebot, on: afterToolCall, url: '\${URL}', allowPrivateAddresses: true }
`

it('protocol: pulsebot, asked, answered and told afterwards as PulseBot does', async () => {
  const { url, got } = await pulsebotEndpoint({
    ok: '{"verdict":"approve","reasoning":"fine"}',
    bad: '{"verdict":"deny","reasoning":"not today"}',
    fix: '{"verdict":"modify","modified_arguments":{"path":"/tmp"}}',
  })
  const { call, op } = await run(SPEAKING, { URL: url, TOKEN: 'the-token' })
  expect([await call('ok', { a: 1 }), await call('bad', {}), await call('fix', { path: '/' })]).toEqual([
    { a: 1 },
    'policy_denied',
    { path: '/tmp' },
  ])
  await vi.waitFor(() => expect(got).toHaveLength(5), { timeout: 60_000 })
  const asked = got.filter(({ body }) => body.event === undefined)
  expect(asked[0]).toEqual({
    body: { tool_name: 'ok', arguments: { a: 1 }, session_id: op.operationId },
    authorization: 'Bearer the-token',
  })
  const told = got.filter(({ body }) => body.event === 'post_call').map(({ body }) => body)
  expect(told.map(({ tool_name }) => tool_name).sort()).toEqual(['fix', 'ok'])
  expect(told.find(({ tool_name }) => tool_name === 'fix')).toEqual({
    event: 'post_call',
    tool_name: 'fix',
    arguments: { path: '/tmp' },
    result: { success: true, output: '{"path":"/tmp"}', error: null },
    session_id: op.operationId,
  })
})

it.each(['{}', '{"verdict":"aprove"}', '{"verdict":"modify"}', '[]', 'approve'])(
  'protocol: pulsebot denies what is no verdict, where PulseBot approves: %s',
  async (answer) => {
    const { url } = await pulsebotEndpoint({ t: answer })
    expect(await (await run(SPEAKING, { URL: url, TOKEN: 't' })).call('t', {})).toBe('gate_invalid')
  },
)

it.each([
  [201, { a: 1 }],
  [302, 'gate_error'],
  [404, 'gate_error'],
  [500, 'gate_error'],
])(
  'protocol: pulsebot denies what comes with another status than 2xx, which PulseBot does not look at: %i',
  async (status, told) => {
    const URL = await guard((_, response) => {
      response.writeHead(status, { location: '/' }).end('{"verdict":"approve","reasoning":"fine"}')
    })
    expect(await (await run(SPEAKING, { URL, TOKEN: 't' })).call('t', { a: 1 })).toEqual(told)
  },
)

it('protocol: pulsebot is for tool calls only, and a misspelt protocol is an error', async () => {
  const wrong = (text: string) =>
    run(SPEAKING.replace('protocol: pulsebot', text), { URL: 'http://127.0.0.1:9', TOKEN: 't' })
  await expect(wrong('protocol: pulsbot')).rejects.toThrow(
    'to be "hookspan", "pulsebot" or "meerkat", got `"pulsbot"`',
  )
  await expect(
    run(SPEAKING.replace('beforeToolCall', 'beforeLlmCall'), { URL: 'http://127.0.0.1:9', TOKEN: 't' }),
  ).rejects.toThrow('cannot ask at `beforeLlmCall`; it knows beforeToolCall')
  await expect(
    run(SPEAKING.replace('on: afterToolCall', 'on: onComplete'), { URL: 'http://127.0.0.1:9', TOKEN: 't' }),
  ).rejects.toThrow('to come with `type` afterToolCall')
})
