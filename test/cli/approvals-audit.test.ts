/** `hookspan approvals audit`: who let which call run, over logs that were written by the ways that write them. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { HookDispatcher } from 'hookspan'
import { auditLog, createApprovals, serveApprovals, sqliteStore } from 'hookspan/approval'
import { requireHuman } from 'hookspan/policies'
import { expect, it, onTestFinished } from 'vitest'
import { pending } from '../approval/support.ts'

const BIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))
const ANN = 'a token that ann alone has'

function approvalsCommand(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--no-warnings', BIN, 'approvals', ...args],
    { encoding: 'utf8', maxBuffer: 1 << 28 },
  )
  return { status, stdout, stderr }
}

const audit = (...args: string[]) => approvalsCommand('audit', ...args)
const requestsOf = (...args: string[]) => JSON.parse(audit('--json', ...args).stdout).requests

function folder(): string {
  const path = mkdtempSync(`${tmpdir()}/hookspan-audit-`)
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** An agent whose refunds two gates ask about, a server that takes answers, and what the command answers. */
async function office(gates = [requireHuman({ id: 'refunds', match: 'refund' })]) {
  const path = folder()
  const place = { db: `${path}/approvals.db`, log: `${path}/audit.jsonl` }
  const approvals = createApprovals({
    store: sqliteStore({ path: place.db }),
    audit: auditLog({ path: place.log }),
  })
  const server = await serveApprovals({ approvals, tokens: { ann: ANN } })
  onTestFinished(async () => {
    await server.close()
    await approvals.close()
  })
  const dispatcher = new HookDispatcher()
  dispatcher.use(approvals)
  dispatcher.use({ name: 'careful', gates })
  const op = dispatcher.startOperation({ agentName: 'support' })
  const call = (apiName: string, args: object, tool: () => unknown = () => 'done') =>
    op.toolCall({ apiName, identifier: 'shop', args }, tool)
  const byHttp = async (answer: object) => {
    const { id, argsDigest } = await pending(approvals)
    const response = await fetch(`${server.url}/hitl/approvals/${id}/respond`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ANN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ argsDigest, ...answer }),
    })
    expect(response.status).toBe(200)
    return id
  }
  const byCommand = async (how: string, ...more: string[]) => {
    const { id } = await pending(approvals)
    const where = ['--db', place.db, '--audit', place.log]
    expect(approvalsCommand(how, id, ...where, ...more).status).toBe(0)
    return id
  }
  return { ...place, approvals, op, call, byHttp, byCommand }
}

it('says who answered which call with which arguments, by what way, when, and what became of it', async () => {
  const { db, log, call, byHttp, byCommand, op } = await office()
  const first = call('refund', { order: 7 })
  const approved = await byHttp({ decision: 'approve', reason: 'it came broken' })
  await first
  const second = call('refund', { order: 8, all: true })
  const edited = await byCommand('approve', '--as', 'bob', '--args', '{"order":8}')
  await second
  const third = call('refund', { order: 9 }, () => {
    throw new Error('no money')
  })
  const failed = await byHttp({ decision: 'approve', alwaysAllow: true })
  await third
  await call('refund', { order: 10 })
  expect(approvalsCommand('reject', approved, '--db', db, '--audit', log, '--as', 'eve').status).toBe(1)

  const { requests, logs } = JSON.parse(audit(log, '--db', db, '--json').stdout)
  expect(logs).toMatchObject([{ path: log, ok: true }])
  expect(requests).toMatchObject([
    {
      requestId: approved,
      status: 'approved',
      agentName: 'support',
      operationId: op.operationId,
      identifier: 'shop',
      apiName: 'refund',
      gateId: 'refunds',
      args: { order: 7 },
      answer: { approver: 'ann', identity: 'proved', channel: 'http', address: '127.0.0.1' },
      ended: { ok: true },
      attempts: [{ approver: 'eve', identity: 'claimed', channel: 'cli', code: 'APPROVAL_ANSWERED' }],
    },
    {
      requestId: edited,
      status: 'edited',
      args: { order: 8, all: true },
      answer: { approver: 'bob', identity: 'claimed', channel: 'cli', editedArgs: { order: 8 } },
    },
    { requestId: failed, status: 'approved', answer: { alwaysAllow: true }, ended: { ok: false } },
    { status: 'allowed', allowedBy: { requestId: failed, approver: 'ann', identity: 'proved' } },
  ])
  const told = audit(log, '--db', db)
  expect([told.status, told.stderr]).toEqual([
    0,
    expect.stringMatching(/audit\.jsonl: 14 entries, unchanged/),
  ])
  expect(told.stdout).toMatch(
    new RegExp(
      `${approved}  approved by ann \\(proved, http from 127\\.0\\.0\\.1\\)
  support: shop/refund {"order":7}
  asked     \\S+Z on \\S+ by gate refunds, in run ${op.operationId}
  answered  \\S+Z on \\S+: "it came broken"
  ran       \\S+Z on \\S+, ended well \\S+Z on \\S+
  refused   \\S+Z on \\S+: eve \\(claimed, cli, account \\S+\\), reject: APPROVAL_ANSWERED: "Request`,
    ),
  )
  expect(told.stdout).toContain('  edited to {"order":8}')

  const ids = (...flags: string[]) =>
    requestsOf(log, ...flags).map(({ requestId }: { requestId: string }) => requestId)
  expect(ids('--approver', 'bob')).toEqual([edited])
  // What they let run by a yes for all, too.
  expect(ids('--approver', 'ann', '--status', 'approved')).toHaveLength(3)
  expect(ids('--approver', 'eve')).toEqual([approved])
  expect(ids('--request', failed)).toEqual([failed])
  expect(ids('--tool', 'shop/ref*', '--run', op.operationId)).toHaveLength(4)
  expect(ids('--tool', 'delete*')).toEqual([])
  for (const ago of ['3600s', '60m', '1h', '1.5h', '7d', '2w']) expect(ids('--since', ago)).toHaveLength(4)
  expect(ids('--until', '1h')).toEqual([])
  expect(ids('--since', '2000-01-01', '--until', '2001-01-01')).toEqual([])
  expect(audit(log, '--run', 'none').stdout).toBe('Nothing of that is in the log.\n')
})

it('has each of several whose yes a call needs, and that none of theirs is more than the call', async () => {
  const { log, call, byHttp, byCommand } = await office([
    requireHuman({ id: 'one', match: 'refund' }),
    requireHuman({ id: 'two', match: 'refund', approvers: ['bob'] }),
  ])
  const outcome = call('refund', { order: 7 })
  await byHttp({ decision: 'approve' })
  await expect.poll(async () => requestsOf(log).length).toBe(2)
  await byCommand('approve', '--as', 'bob')
  await outcome
  const ran = { begun: { at: expect.any(String) }, ended: { ok: true } }
  expect(requestsOf(log)).toMatchObject([
    { gateId: 'one', answer: { approver: 'ann' }, ...ran },
    { gateId: 'two', answer: { approver: 'bob' }, approvers: ['bob'], ...ran },
  ])
})

it('reads logs that were moved away and packed, in whatever order, each with its key, as one', async () => {
  const path = folder()
  const log = `${path}/audit.jsonl`
  const asked = { event: 'requested', requestId: 'r1', identifier: 'shop', apiName: 'refund' } as const
  const write = async (key: string | undefined, ...events: Parameters<typeof first.append>[0][]) => {
    for (const event of events) await auditLog({ path: log, ...(key && { key }) }).append(event)
  }
  const first = auditLog({ path: log, key: 'the first key' })
  await write('the first key', asked)
  writeFileSync(`${log}.2.gz`, gzipSync(readFileSync(log)))
  rmSync(log)
  await write('the second key', { event: 'answered', requestId: 'r1', decision: 'approve', approver: 'ann' })
  renameSync(log, `${log}.1`)
  await write(undefined, { event: 'claimed', requestId: 'r1', state: 'run' })
  const files = [log, `${log}.1`, `${log}.2.gz`, `${log}.lock`]
  const keys = ['--key', 'the second key', '--key', 'the first key']
  const told = audit(...files, ...keys)
  expect([told.status, told.stderr.match(/1 entry, unchanged/g)]).toEqual([
    0,
    [1, 2, 3].map(() => expect.anything()),
  ])
  expect(told.stdout).toMatch(/^r1 {2}approved by ann \(way unknown\)\n {2}shop\/refund\n/)
  expect(told.stdout).toMatch(/ran {7}\S+, how it ended is not known/)
  // Who has not the key sees what is said, and that nobody vouches for it.
  const without = audit(...files, '--key', 'the second key')
  expect([without.status, without.stderr]).toEqual([1, expect.stringContaining('the log has another key')])
  expect(without.stdout).toMatch(/^r1 {2}approved .*NOT VERIFIED/)
})

it('takes the arguments out of a file that it may only read, and out of none that has other ones', async () => {
  const { db, log, call, byHttp, approvals } = await office()
  const outcome = call('refund', { order: 7 })
  const id = await byHttp({ decision: 'approve' })
  await outcome
  const record = await approvals.store.get(id)
  await approvals.close()
  const place = folder()
  const copy = `${place}/copy.db`
  copyFileSync(db, copy)
  chmodSync(copy, 0o400)
  chmodSync(place, 0o500)
  expect(requestsOf(log, '--db', copy)).toMatchObject([{ requestId: id, args: { order: 7 } }])
  expect(readdirSync(place)).toEqual(process.getuid?.() === 0 ? expect.anything() : ['copy.db'])
  chmodSync(place, 0o700)
  const forged = new DatabaseSync(db)
  const request = JSON.stringify({ ...record?.request, args: { order: 8 } })
  forged.prepare('UPDATE hookspan_approvals SET request = ?').run(request)
  forged.close()
  expect(requestsOf(log, '--db', db)[0]).not.toHaveProperty('args')
  const { status, stderr } = audit(log, '--db', log)
  expect([status, stderr]).toEqual([
    2,
    expect.stringContaining('Give the file that agents use as their store'),
  ])
})

it('finds that a log was cut off before it was moved away, or is not there, where another goes on from it', async () => {
  const path = folder()
  const log = `${path}/audit.jsonl`
  const writer = auditLog({ path: log })
  for (const requestId of ['r1', 'r2']) await writer.append({ event: 'requested', requestId })
  renameSync(log, `${log}.1`)
  await writer.append({ event: 'requested', requestId: 'r3' })
  expect(audit(log, `${log}.1`).stderr).not.toContain('goes on from')
  const why = 'audit.jsonl: goes on from a log of 2 entries at least, which is none of these, or was cut off.'
  expect(audit(log).stderr).toContain(why)
  writeFileSync(`${log}.1`, readFileSync(`${log}.1`, 'utf8').replace(/.*\n$/, ''))
  const { logs } = JSON.parse(audit(`${log}.1`, log, '--json').stdout)
  expect(logs).toMatchObject([{ ok: true, entries: 1 }, { missing: [{ seq: 2 }] }])
})

it('says until when was waited for somebody, where nobody wrote down that it was over', async () => {
  const log = `${folder()}/audit.jsonl`
  const asked = { event: 'requested', requestId: 'r1', apiName: 'refund', expiresAt: 1.7e12 } as const
  await auditLog({ path: log }).append(asked)
  const { stdout } = audit(log)
  expect(stdout.split('\n')[0]).toBe('r1  waiting')
  expect(stdout).toContain('\n  expires   2023-11-14T22:13:20.000Z\n')
})

it('shows what stands in a log that was changed as not vouched for, from the line on', async () => {
  const log = `${folder()}/audit.jsonl`
  for (const requestId of ['r1', 'r2', 'r3'])
    await auditLog({ path: log }).append({
      event: 'answered',
      requestId,
      decision: 'approve',
      approver: 'ann',
    })
  writeFileSync(log, readFileSync(log, 'utf8').replace(/"ann"(?=.*"r2")/, '"bob"'))
  const { status, stdout, stderr } = audit(log)
  expect([status, stderr]).toEqual([1, expect.stringContaining('audit.jsonl:2: the line was changed.')])
  expect(stdout.match(/^r.*$/gm)).toEqual([
    expect.not.stringContaining('NOT VERIFIED'),
    expect.stringMatching(/^r2 {2}approved by bob .*NOT VERIFIED/),
    expect.stringContaining('NOT VERIFIED'),
  ])
  expect(JSON.parse(audit(log, '--json').stdout)).toMatchObject({
    requests: [{ requestId: 'r1' }, { unverified: true }, { unverified: true }],
    logs: [{ ok: false, line: 2 }],
  })
})

it('lets no text of a log act on the terminal, or pass for a line or a word of ours', async () => {
  const log = `${folder()}/audit.jsonl`
  const forged = 'ann (proved, http)\nr9  approved by root\u001b[2K\u202e\u200b'
  const fields = [
    'agentName',
    'operationId',
    'gateId',
    'identifier',
    'apiName',
    'argsDigest',
    'point',
    'host',
  ]
  const said = ['approver', 'identity', 'channel', 'address', 'user', 'reason', 'decision', 'problem', 'code']
  const of = (names: string[]) => Object.fromEntries(names.map((name) => [name, forged]))
  const writer = auditLog({ path: log })
  await writer.append({ event: 'requested', requestId: forged, ...of(fields), approvers: [forged] })
  await writer.append({ event: 'answered', requestId: forged, ...of(said) })
  await writer.append({ event: 'refused', requestId: forged, ...of(said) })
  await writer.append({ event: 'answered', requestId: 'odd', approver: 7, decision: {}, reason: [] } as never)
  const { stdout, status } = audit(log)
  expect(status).toBe(0)
  for (const acting of ['\u001b', '\u202e', '\u200b']) expect(stdout).not.toContain(acting)
  expect(stdout).not.toMatch(/^r9|^ann/m)
  expect(stdout).not.toMatch(/(?<!")ann \(proved/)
})

it('says all of a log of many more requests than it keeps, and of one that is told of late', async () => {
  const path = folder()
  const log = `${path}/audit.jsonl`
  const script = `
    import { createHash } from 'node:crypto'
    import { writeFileSync } from 'node:fs'
    const sorted = (o) => '{' + Object.keys(o).sort().map((k) => JSON.stringify(k) + ':' + JSON.stringify(o[k])).join(',') + '}'
    let [seq, prev, text] = [0, '0'.repeat(64), '']
    const add = (event) => {
      const entry = { seq: ++seq, at: new Date(1.7e12 + seq).toISOString(), ...event, prev }
      prev = createHash('sha256').update(sorted(entry)).digest('hex')
      text += sorted({ ...entry, hash: prev }) + '\\n'
    }
    add({ event: 'requested', requestId: 'waits', apiName: 'refund' })
    for (let i = 0; i < 22_000; i++) add({ event: 'answered', requestId: 'r' + i, decision: 'reject', approver: 'ann' })
    add({ event: 'answered', requestId: 'waits', decision: 'reject', approver: 'bob' })
    writeFileSync(${JSON.stringify(log)}, text)`
  expect(spawnSync(process.execPath, ['--input-type=module', '-e', script]).status).toBe(0)
  const { requests, logs } = JSON.parse(audit(log, '--json').stdout)
  expect(logs).toMatchObject([{ ok: true, entries: 22_002 }])
  expect(new Set(requests.map(({ requestId }: { requestId: string }) => requestId)).size).toBe(22_001)
  expect(requests).toHaveLength(22_001)
  expect(requestsOf(log, '--approver', 'bob')).toMatchObject([{ requestId: 'waits', apiName: 'refund' }])
})

it.each([
  [['/none'], '"/none" cannot be read: ENOENT'],
  [[], 'Say which audit log'],
  [['LOG', '--status', 'aproved'], 'Did you mean approved?'],
  [['LOG', '--since', 'yesterday'], 'Expected --since to be a time'],
  [['LOG', '--until', '5'], 'got "5"'],
  [['LOG', '--tool', 'refund|pay'], 'Expected --tool to be a name or a glob'],
  [['LOG', '--db', '/none.db'], 'There is no file /none.db'],
])('refuses what it is not asked by: %j', async (args, why) => {
  const log = `${folder()}/audit.jsonl`
  writeFileSync(log, '')
  const { status, stderr, stdout } = audit(...args.map((arg) => (arg === 'LOG' ? log : arg)))
  expect([status, stderr, stdout]).toEqual([2, expect.stringContaining(why), ''])
})
