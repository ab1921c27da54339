/** PulseBot's configuration examples, in our form. `docs/coming-from.md` names each test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { HookDispatcher, type HookEvent } from 'hookspan'
import { loadConfig, verifySignature } from 'hookspan/policies'
import { expect, it, onTestFinished } from 'vitest'

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

it('post_call: an observer, which fires after a refusal and a failure, too', async () => {
  const { dispatcher, op, call } = await run('gates:\n  - { id: p, type: toolPolicy, deny: [bad] }\n')
  const seen: string[] = []
  const handler = (event: HookEvent<'afterToolCall'>) => void seen.push(`${event.apiName} ${event.outcome}`)
  dispatcher.register(op.operationId, [{ id: 'post', type: 'afterToolCall', handler }])
  await call('good', {})
  await call('bad', {})
  expect(seen).toEqual(['good completed', 'bad denied'])
})

it('sub-agents are under the same policy', async () => {
  const { dispatcher, op } = await run('gates:\n  - { id: p, type: toolPolicy, deny: [bad] }\n')
  const inner = await op.callAgent({ agentName: 'a', instruction: 'i' }, (parent) =>
    dispatcher.startOperation({ parent }).toolCall({ apiName: 'bad', args: {} }, () => 1),
  )
  expect(inner.state).toBe('denied')
})
