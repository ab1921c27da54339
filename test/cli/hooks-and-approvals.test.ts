import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { auditLog, createApprovals, serveApprovals, sqliteStore, verifyAudit } from 'hookspan/approval'
import { describe, expect, it, onTestFinished } from 'vitest'
import { request } from '../approval/support.ts'
import { freePort } from '../support/free-port.ts'

const BIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))
const EXAMPLES = fileURLToPath(new URL('../../examples/policies/', import.meta.url))

function hookspan(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', BIN, ...args], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

function folder(): string {
  const path = mkdtempSync(`${tmpdir()}/hookspan-cli-`)
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

describe('hookspan hooks', () => {
  it('lists what is active, and from which line of which file', () => {
    const { stdout, status } = hookspan('hooks', 'list', '--no-user', '-c', `${EXAMPLES}hookspan.config.yaml`)
    expect(status).toBe(0)
    expect(stdout).toMatch(/on\s+tools\s+toolPolicy\s+beforeToolCall\s+project .*hookspan\.config\.yaml:4/)
    expect(stdout).toMatch(/new-rule .*\(shadow\)/)
  })

  it('proves that the guards of all examples start and answer', () => {
    const files = ['yaml', 'json', 'toml'].map((kind) => `${EXAMPLES}hookspan.config.${kind}`)
    const { stdout, status } = hookspan('hooks', 'check', '--no-user', ...files)
    expect(status).toBe(0)
    expect(stdout).toMatch(/ok\s+office-hours\s+\d+ ms\s+started and answered/)
    expect(stdout).not.toContain('FAIL')
  })

  it('names the guard that does not start, and the line of a config that is wrong', () => {
    const path = folder()
    writeFileSync(
      `${path}/c.yaml`,
      'gates:\n  - { id: gone, type: command, point: onStart, command: no-such-guard }\n',
    )
    const missing = hookspan('hooks', 'check', '--no-user', '-c', `${path}/c.yaml`)
    expect([missing.status, missing.stdout]).toEqual([
      1,
      expect.stringMatching(/FAIL\s+gone .*was not found/),
    ])
    writeFileSync(`${path}/d.yaml`, 'gates:\n  - id: a\n    type: toolPolicie\n')
    const wrong = hookspan('hooks', 'check', '--no-user', `${path}/d.yaml`)
    expect([wrong.status, wrong.stderr]).toEqual([
      2,
      expect.stringMatching(/d\.yaml:3: unknown gate type.*toolPolicy/),
    ])
  })

  it('knows the gate types of a module of the project', () => {
    const path = folder()
    writeFileSync(`${path}/c.yaml`, 'gates:\n  - { id: mine, type: officeHours, from: 9 }\n')
    writeFileSync(
      `${path}/types.mjs`,
      `export const gateTypes = { officeHours: { options: ['from'], create: ({ id }) => ({
        id, point: 'beforeToolCall', decide() {}, check() { throw new Error('closed') },
      }) } }`,
    )
    writeFileSync(`${path}/none.mjs`, 'export const other = 1')
    const check = (...more: string[]) =>
      hookspan('hooks', 'check', '--no-user', '-c', `${path}/c.yaml`, ...more)
    const without = check()
    expect([without.status, without.stderr]).toEqual([
      2,
      expect.stringMatching(/unknown gate type .*"officeHours"/),
    ])
    const known = check('--gate-types', `${path}/types.mjs`)
    expect([known.status, known.stdout]).toEqual([1, expect.stringMatching(/FAIL\s+mine .*closed/)])
    const none = check('--gate-types', `${path}/none.mjs`)
    expect([none.status, none.stderr]).toEqual([2, expect.stringMatching(/none\.mjs exports no gate types/)])
    const gone = check('--gate-types', `${path}/gone.mjs`)
    expect([gone.status, gone.stderr]).toEqual([2, expect.stringMatching(/gone\.mjs cannot be loaded/)])
  })

  it('reads a config in TypeScript', () => {
    const path = folder()
    const text =
      "const deny: string[] = ['x']\nexport default { gates: [{ id: 'a', type: 'toolPolicy', deny }] }\n"
    writeFileSync(`${path}/hookspan.config.ts`, text)
    const { stdout } = hookspan('hooks', 'list', '--no-user', '-c', `${path}/hookspan.config.ts`)
    expect(stdout).toMatch(/on\s+a\s+toolPolicy .*hookspan\.config\.ts:2/)
  })

  it('runs recorded events through the gates', () => {
    const events = [
      { hookType: 'beforeToolCall', apiName: 'run_shell', identifier: 'local', args: {} },
      { hookType: 'afterStep', content: 'x' },
      { hookType: 'beforeToolCall', apiName: 'refund_order', args: { id: 1 } },
      { hookType: 'beforeToolCall', apiName: 'call_customer', args: { hour: 3 } },
    ]
    const file = `${folder()}/events.jsonl`
    writeFileSync(file, events.map((event) => JSON.stringify(event)).join('\n'))
    const { stdout } = hookspan('hooks', 'test', file, '--no-user', '-c', `${EXAMPLES}hookspan.config.yaml`)
    expect(stdout).toMatch(/beforeToolCall run_shell -> deny\n\s+tools\s+deny\s+tool_not_allowed/)
    expect(stdout).toMatch(/refund_order -> deny[\s\S]*refunds\s+require_approval/)
    expect(stdout).toMatch(/call_customer -> deny[\s\S]*office_hours: call between/)
  })

  it.each([
    ['a run that was exported', { resourceSpans: [] }, 'A run that was exported is none of them'],
    ['a type that there is not', { hookType: 'beforeTool' }, 'got one of the type "beforeTool"'],
    ['events at which nobody decides', { hookType: 'onError' }, 'no event at which a gate decides'],
    ['no event at all', [], 'no event at which a gate decides'],
  ])('refuses %s, of which it would have said nothing', (_what, event, said) => {
    const file = `${folder()}/events.jsonl`
    writeFileSync(file, JSON.stringify(event))
    const { status, stderr } = hookspan('hooks', 'test', file, '--no-user')
    expect([status, stderr]).toEqual([2, expect.stringContaining(said)])
  })
})

describe('hookspan approvals', () => {
  it('shows what is asked so that no text in it acts on the terminal, or passes for another request', async () => {
    const path = `${folder()}/a.db`
    const hostile = { apiName: 'pay\u001b[2K', args: { to: 'a\u202eb\u200b', note: '\u009b2J' } }
    await sqliteStore({ path }).add(
      request('apr_1', { ...hostile, instructions: 'ok\napr_2  answered (approve by ann)' }),
    )
    const { stdout } = hookspan('approvals', 'list', '--db', path)
    for (const acting of ['\u001b', '\u009b', '\u202e', '\u200b']) expect(stdout).not.toContain(acting)
    expect(stdout).not.toMatch(/^apr_2/m)
    expect(stdout).toContain('pay\\u001b[2K {"to":"a\\u202eb\\u200b","note":"\\u009b2J"}')
  })

  it('shows all of the arguments, and takes none with a key twice', async () => {
    const path = `${folder()}/a.db`
    const args = { lines: Array.from({ length: 2_000 }, (_, i) => ({ i, text: 'x'.repeat(20) })), last: 'rm' }
    const store = sqliteStore({ path })
    await store.add(request('apr_1', { args }))
    expect(hookspan('approvals', 'list', '--db', path).stdout).toContain(JSON.stringify(args))
    const twice = hookspan('approvals', 'approve', 'apr_1', '--db', path, '--args', '{"id":1,"id":2}')
    expect([twice.status, twice.stderr]).toEqual([2, expect.stringContaining('the key "id" twice')])
    expect(await store.get('apr_1')).toMatchObject({ status: 'pending' })
  })

  it('lists, approves and rejects in the file that agents use, and verifies the audit log', async () => {
    const path = folder()
    const store = sqliteStore({ path: `${path}/a.db` })
    await store.add(request('apr_1', { instructions: 'look twice' }))
    await store.add(request('apr_2'))
    const place = ['--db', `${path}/a.db`, '--audit', `${path}/audit.jsonl`]
    expect(hookspan('approvals', 'list', ...place).stdout).toMatch(
      /apr_1 {2}pending\n {2}op: local\/delete_order {"id":1}\n {2}look twice/,
    )
    expect(
      hookspan('approvals', 'approve', 'apr_1', '--as', 'ann', '--args', '{"id":2}', ...place).status,
    ).toBe(0)
    expect(hookspan('approvals', 'reject', 'apr_2', '-r', 'no', '--stop', ...place).stdout).toContain(
      'answered (reject',
    )
    expect(await store.get('apr_1')).toMatchObject({
      answer: { decision: 'edit', args: { id: 2 }, approver: 'ann' },
    })
    expect(await store.get('apr_2')).toMatchObject({
      answer: { decision: 'reject', reason: 'no', stop: true },
    })
    const again = hookspan('approvals', 'approve', 'apr_1', ...place)
    expect([again.status, again.stderr]).toEqual([1, expect.stringContaining('was answered already by ann')])
    expect(verifyAudit({ path: `${path}/audit.jsonl` })).toMatchObject({ ok: true, entries: 3 })
    expect(hookspan('approvals', 'verify', `${path}/audit.jsonl`).stdout).toContain('3 entries, unchanged')
    writeFileSync(
      `${path}/audit.jsonl`,
      readFileSync(`${path}/audit.jsonl`, 'utf8').replace('"ann"', '"eve"'),
    )
    const changed = hookspan('approvals', 'verify', `${path}/audit.jsonl`)
    expect([changed.status, changed.stderr]).toEqual([
      1,
      expect.stringContaining('audit.jsonl:1: the line was changed'),
    ])
  })

  it('writes to a keyed log with the key of the environment, refused attempts included', async () => {
    const path = folder()
    const key = 'nobody else has it'
    const audit = `${path}/audit.jsonl`
    const store = sqliteStore({ path: `${path}/a.db` })
    await store.add(request('apr_1'))
    await auditLog({ path: audit, key }).append({ event: 'requested', requestId: 'apr_1' })
    const run = (...args: string[]) =>
      spawnSync(process.execPath, ['--no-warnings', BIN, 'approvals', ...args], {
        encoding: 'utf8',
        env: { ...process.env, HOOKSPAN_AUDIT_KEY: key },
      })
    const place = ['--db', `${path}/a.db`, '--audit', audit, '--as', 'ann']
    expect(run('approve', 'apr_1', ...place).status).toBe(0)
    expect(run('reject', 'apr_1', ...place).stderr).toContain('was answered already by ann')
    expect(run('approve', 'apr_2', ...place).stderr).toContain('There is no approval request')
    expect(verifyAudit({ path: audit, key })).toMatchObject({ ok: true, entries: 4 })
    expect(run('verify', audit).stdout).toContain('4 entries, unchanged')
    expect(readFileSync(audit, 'utf8').match(/"event":"refused"/g)).toHaveLength(2)
    expect(run('verify', '--help').stdout).not.toContain(key)
    await store.add(request('apr_3'))
    const keyless = hookspan('approvals', 'approve', 'apr_3', ...place)
    expect([keyless.status, keyless.stderr]).toEqual([1, expect.stringContaining('chained with another key')])
    expect(await store.get('apr_3')).toMatchObject({ status: 'pending' })
    expect(verifyAudit({ path: audit, key })).toMatchObject({ ok: true, entries: 4 })
  })

  it('names a file that is no audit log, and begins nothing with one that cannot be written', async () => {
    const path = folder()
    await sqliteStore({ path: `${path}/a.db` }).add(request('apr_1'))
    const verified = hookspan('approvals', 'verify', path)
    expect([verified.status, verified.stderr]).toEqual([
      2,
      expect.stringContaining(`"${path}" cannot be read: it is a folder. Give the audit log.`),
    ])
    const wrong = ['--approvals', `${path}/a.db`, '--audit', path]
    for (const command of [
      ['view', '--memory', '--port', '0', '--no-open'],
      ['mcp', '--allow-approvals'],
    ]) {
      const { status, stderr } = hookspan(...command, ...wrong)
      expect([status, stderr]).toEqual([2, expect.stringContaining('cannot be written: it is no file')])
    }
  })

  it.each(['--db', '--url'])('lists all that wait, of %s', async (place) => {
    const path = `${folder()}/a.db`
    const approvals = createApprovals({ store: sqliteStore({ path }) })
    for (let i = 0; i < 130; i++) await approvals.store.add(request(`apr_${i}`, { requestedAt: i }))
    const token = 'a bearer token that is long'
    const server = await serveApprovals({ approvals, token })
    onTestFinished(() => server.close())
    const where = place === '--db' ? ['--db', path] : ['--url', server.url, '--token', token]
    const child = spawn(process.execPath, ['--no-warnings', BIN, 'approvals', 'list', ...where])
    const listed = await text(child.stdout)
    expect(listed.match(/^apr_\d+ {2}pending/gm)).toHaveLength(130)
  })

  it('answers through a server', async () => {
    const approvals = createApprovals({ store: sqliteStore({ path: `${folder()}/a.db` }) })
    await approvals.store.add(request('apr_1'))
    const token = 'a bearer token that is long'
    const server = await serveApprovals({ approvals, token })
    onTestFinished(() => server.close())
    const run = (...args: string[]) =>
      new Promise<number | null>((resolve) =>
        spawn(process.execPath, ['--no-warnings', BIN, ...args], { stdio: 'ignore' }).on('close', resolve),
      )
    expect(await run('approvals', 'approve', 'apr_1', '--url', server.url, '--token', 'wrong')).toBe(1)
    expect(await run('approvals', 'approve', 'apr_1', '--url', server.url, '--token', token)).toBe(0)
    expect((await approvals.get('apr_1'))?.status).toBe('answered')
  })

  it('says which server cannot be reached, is none of approvals, or says nothing', async () => {
    const servers = await Promise.all(
      [(response: ServerResponse) => void response.writeHead(502).end('<html>'), () => {}].map(
        async (answer) => {
          const server = createServer((_, response) => answer(response)).listen(0, '127.0.0.1')
          onTestFinished(() => void server.close().closeAllConnections())
          await once(server, 'listening')
          return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        },
      ),
    )
    const free = `http://127.0.0.1:${await freePort()}`
    const said = async (...args: string[]) => {
      const child = spawn(process.execPath, ['--no-warnings', BIN, 'approvals', ...args])
      return text(child.stderr)
    }
    const [gone, other, silent] = await Promise.all([
      said('list', '--url', free),
      said('list', '--url', servers[0] as string),
      said('approve', 'apr_1', '--url', servers[1] as string),
    ])
    expect(gone).toContain(`${free} cannot be reached: connect ECONNREFUSED`)
    expect(other).toContain('is no server of approvals: it answered 502, and no JSON')
    expect(silent).toContain('said nothing for 20 s')
  })

  it('says where it looked when there is nothing', () => {
    expect(hookspan('approvals', 'list').stderr).toContain('--db FILE or --url URL')
    expect(hookspan('approvals', 'list', '--db', '/nonexistent.db').stderr).toContain('There is no file')
  })
})
