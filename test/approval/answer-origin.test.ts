/** By what way an answer came, from where, and whether it is known who gave it: as the audit log has it, of each way there is. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { HookEvent } from 'hookspan'
import {
  type Approvals,
  type AuditEntry,
  approvalRoutes,
  auditLog,
  createApprovals,
  redisChannel,
  serveApprovals,
  signedMessage,
  sqliteStore,
  verifyAudit,
} from 'hookspan/approval'
import type { ApprovalRequest, HeardAnswer } from 'hookspan/gates'
import { requireHuman } from 'hookspan/policies'
import { startViewer } from 'hookspan/viewer'
import { createClient } from 'redis'
import { Webhook } from 'standardwebhooks'
import { expect, it, onTestFinished } from 'vitest'
import { traced } from '../support/span-tree.ts'
import { desk, folder, pending, redisUrl, request } from './support.ts'

const BIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))
const ANN = 'a token that ann alone has'
const SHARED = 'a token that several have'
const SECRET = 'a secret of some length'
const here = { host: hostname() }
const user = userInfo().username

const redis = await redisUrl()

function entriesOf(path: string): AuditEntry[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** A log, a store in a file, and requests in it. */
async function office(...ids: string[]) {
  const path = folder()
  const place = { db: `${path}/approvals.db`, audit: `${path}/audit.jsonl` }
  const approvals = createApprovals({
    store: sqliteStore({ path: place.db }),
    audit: auditLog({ path: place.audit }),
  })
  onTestFinished(() => approvals.close())
  for (const id of ids) await approvals.store.add(request(id))
  const told = (requestId: string) => entriesOf(place.audit).find((entry) => entry.requestId === requestId)
  return { ...place, approvals, told }
}

async function post(url: string, body: object | string, headers: Record<string, string>): Promise<number> {
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
  const type = { 'content-type': 'application/json' }
  return (await fetch(url, { method: 'POST', body: sent, headers: { ...type, ...headers } })).status
}

it('of HTTP: with a token of their own, with one that several have, without any', async () => {
  const { approvals, told } = await office('r1', 'r2', 'r3', 'r4')
  const server = await serveApprovals({ approvals, token: SHARED, tokens: { ann: ANN } })
  onTestFinished(() => server.close())
  const answer = (id: string, body: object, token: string) =>
    post(`${server.url}/hitl/approvals/${id}/respond`, body, { authorization: `Bearer ${token}` })
  expect(await answer('r1', { decision: 'approve', approver: 'eve' }, ANN)).toBe(200)
  expect(await answer('r2', { decision: 'approve', approver: 'ann' }, SHARED)).toBe(200)
  expect(await answer('r3', { decision: 'approve', approver: 'ann' }, 'none of theirs')).toBe(401)
  expect(await answer('r4', { decision: 'perhaps' }, ANN)).toBe(422)
  const http = { channel: 'http', address: '127.0.0.1', ...here }
  expect(told('r1')).toMatchObject({ event: 'answered', approver: 'ann', identity: 'proved', ...http })
  expect(told('r2')).toMatchObject({ event: 'answered', approver: 'ann', identity: 'claimed', ...http })
  expect(told('r3')).toMatchObject({ event: 'refused', code: 'UNAUTHORIZED', ...http })
  expect(told('r3')).not.toHaveProperty('identity')
  expect(told('r4')).toMatchObject({ event: 'refused', approver: 'ann', identity: 'proved', ...http })
})

it('of a webhook: who signs vouches for nobody', async () => {
  const { approvals, told } = await office('r1', 'r2')
  const server = await serveApprovals({ approvals, webhookSecret: SECRET })
  onTestFinished(() => server.close())
  const body = JSON.stringify({ decision: 'reject', approver: 'slack:ann' })
  const answer = (id: string, secret: string, now = new Date()) =>
    post(`${server.url}/hitl/approvals/${id}/respond`, body, {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': new Webhook(secret, { format: 'raw' }).sign(id, now, body),
    })
  expect([await answer('r1', SECRET), await answer('r2', 'another secret')]).toEqual([200, 401])
  const webhook = { channel: 'webhook', address: '127.0.0.1', ...here }
  expect(told('r1')).toMatchObject({ approver: 'slack:ann', identity: 'claimed', ...webhook })
  expect(told('r2')).toMatchObject({ event: 'refused', code: 'UNAUTHORIZED', ...webhook })
})

it('of a server of yours: the address only where it says so, whatever it hands over', async () => {
  const { approvals, told } = await office('r1', 'r2', 'r3')
  const routes = approvalRoutes({ approvals, tokens: { ann: ANN } })
  const answer = (id: string, ...from: unknown[]) => {
    const asked = new Request(`http://host/hitl/approvals/${id}/respond`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ANN}`, 'content-type': 'application/json' },
      body: '{"decision":"approve"}',
    })
    return (routes as (...args: unknown[]) => Promise<Response>)(asked, ...from)
  }
  for (const [id, ...from] of [
    ['r1', { remoteAddress: '10.0.0.7' }],
    ['r2', null],
    ['r3', { remoteAddress: {} }],
  ])
    expect((await answer(id as string, ...from)).status).toBe(200)
  expect(told('r1')).toMatchObject({ channel: 'http', address: '10.0.0.7' })
  for (const id of ['r2', 'r3']) expect(told(id)).not.toHaveProperty('address')
})

it.skipIf(redis === undefined)('of Redis', async () => {
  const { db, audit } = await office('r1')
  const topic = crypto.randomUUID()
  const approvals = createApprovals({
    store: sqliteStore({ path: db }),
    audit: auditLog({ path: audit }),
    channels: [redisChannel({ url: redis as string, secret: SECRET, responseTopic: topic })],
  })
  onTestFinished(() => approvals.close())
  await approvals.ready()
  const client = await createClient({ url: redis as string }).connect()
  onTestFinished(() => client.destroy())
  const answer = { decision: 'approve', approver: 'ann' }
  await client.publish(topic, signedMessage(SECRET, { id: 'r1', answer }))
  await expect.poll(async () => (await approvals.get('r1'))?.status).toBe('answered')
  expect(entriesOf(audit)).toMatchObject([
    { approver: 'ann', channel: 'redis', identity: 'claimed', ...here },
  ])
})

it('of the page: in the name that it was started with', async () => {
  const { approvals, told } = await office('r1')
  const viewer = await startViewer({ port: 0, db: ':memory:', approvals, approver: 'ines' })
  onTestFinished(() => viewer.close())
  const { argsDigest } = request('r1')
  expect(
    await post(
      `${viewer.url}/api/approvals/r1/respond`,
      { decision: 'approve', argsDigest },
      { authorization: `Bearer ${viewer.token}` },
    ),
  ).toBe(200)
  const page = { channel: 'page', identity: 'claimed', address: '127.0.0.1', user, ...here }
  expect(told('r1')).toMatchObject({ event: 'answered', approver: 'ines', ...page })
})

it('of the command: by the account that it ran as, whatever it says; a refused attempt, too', async () => {
  const { db, audit, told } = await office('r1')
  const answer = (id: string) =>
    spawnSync(
      process.execPath,
      ['--no-warnings', BIN, 'approvals', 'approve', id, '--db', db, '--audit', audit, '--as', 'ann'],
      { encoding: 'utf8' },
    )
  expect([answer('r1').status, answer('r2').status]).toEqual([0, 1])
  const cli = { approver: 'ann', channel: 'cli', identity: 'claimed', user, ...here }
  expect(told('r1')).toMatchObject({ event: 'answered', ...cli })
  expect(told('r2')).toMatchObject({ event: 'refused', code: 'APPROVAL_NOT_FOUND', ...cli })
})

it('of the command by a server: the server says who it was', async () => {
  const { approvals, told } = await office('r1')
  const server = await serveApprovals({ approvals, tokens: { ann: ANN } })
  onTestFinished(() => server.close())
  const place = ['--url', server.url, '--token', ANN, '--as', 'the boss']
  const child = spawn(process.execPath, ['--no-warnings', BIN, 'approvals', 'approve', 'r1', ...place])
  const [said] = await Promise.all([text(child.stderr), once(child, 'exit')])
  expect(said).toBe('')
  expect(told('r1')).toMatchObject({ approver: 'ann', channel: 'http', identity: 'proved' })
})

it('of code: by the name that it gives its way, and nothing else', async () => {
  const { approvals, audit } = await office('r1', 'r2', 'r3')
  await approvals.respond('r1', { decision: 'approve', approver: 'ann' })
  const slack = { channel: 'slack', identity: 'proved', address: '10.0.0.7' } as const
  await approvals.respond('r2', { decision: 'approve', approver: 'ann' }, slack)
  await approvals.respond('r3', { decision: 'approve' })
  await expect(
    approvals.respond('r3', { decision: 'approve' }, { token: ANN } as never),
  ).rejects.toMatchObject({ code: expect.stringMatching(/^UNKNOWN|^INVALID/) })
  const [first, second, third, ...more] = entriesOf(audit)
  expect(first).toMatchObject({ channel: 'code', identity: 'claimed', ...here })
  expect(second).toMatchObject({ ...slack, ...here })
  // Nobody was named.
  expect(third).not.toHaveProperty('identity')
  expect(more).toEqual([])
})

it('goes with an answer that is given where nobody knows of the log, to the run that writes it down', async () => {
  const path = folder()
  const [db, audit] = [`${path}/approvals.db`, `${path}/audit.jsonl`]
  const { approvals, call, ran } = desk({
    store: sqliteStore({ path: db }),
    audit: auditLog({ path: audit }),
  })
  onTestFinished(() => approvals.close())
  const outcome = call()
  const { id } = await pending(approvals)
  const answer = ['approvals', 'approve', id, '--db', db, '--as', 'ann']
  expect(spawnSync(process.execPath, ['--no-warnings', BIN, ...answer]).status).toBe(0)
  expect(await outcome).toMatchObject({ state: 'completed' })
  expect(ran).toHaveLength(1)
  const cli = { channel: 'cli', identity: 'claimed', user, ...here }
  expect(entriesOf(audit).find(({ event }) => event === 'answered')).toMatchObject({
    approver: 'ann',
    elsewhere: true,
    ...cli,
  })
  expect(verifyAudit({ path: audit })).toMatchObject({ ok: true })
})

it('is not told of an answer that came with nothing, as that of an older version', async () => {
  const path = `${folder()}/audit.jsonl`
  const { approvals, call } = desk({ audit: auditLog({ path }) })
  const outcome = call()
  const { id } = await pending(approvals)
  await approvals.store.answer(id, { decision: 'approve', approver: 'ann' }, Date.now())
  await outcome
  const told = entriesOf(path).find(({ event }) => event === 'answered')
  expect(told).toMatchObject({ approver: 'ann', elsewhere: true })
  for (const field of ['channel', 'identity', 'host']) expect(told).not.toHaveProperty(field)
})

it('says of each call which agent made it, below which run, and on which machine it ran', async () => {
  const path = `${folder()}/audit.jsonl`
  const { approvals, call } = desk({ audit: auditLog({ path }), ask: { approvers: ['ann', 'bob'] } })
  const outcome = call()
  const { id, callKey } = await pending(approvals)
  await approvals.respond(id, { decision: 'approve', approver: 'bob' })
  await outcome
  const entries = entriesOf(path)
  expect(entries[0]).toMatchObject({
    event: 'requested',
    operationId: 'op',
    rootOperationId: 'op',
    callKey,
    approvers: ['ann', 'bob'],
    ...here,
  })
  expect(entries.map(({ event }) => event)).toEqual(['requested', 'answered', 'claimed', 'settled'])
  for (const entry of entries) expect(entry).toMatchObject(here)
})

/** What hooks and the span say of an answer that is given while a run waits in this process, with a log or without. */
async function toldOfRun(
  isLogged: boolean,
  answer: (request: ApprovalRequest, place: { db: string; approvals: Approvals }) => Promise<unknown>,
) {
  const path = folder()
  const db = `${path}/approvals.db`
  const audit = isLogged ? { audit: auditLog({ path: `${path}/audit.jsonl` }) } : {}
  const approvals = createApprovals({ store: sqliteStore({ path: db }), pollMs: 10, ...audit })
  onTestFinished(() => approvals.close())
  using tracing = traced()
  const { dispatcher } = tracing
  dispatcher.use(approvals)
  const events: HookEvent<'afterHumanIntervention'>[] = []
  const hook = { id: 'answers', type: 'afterHumanIntervention' } as const
  const hooks = [
    { ...hook, handler: (event: HookEvent<'afterHumanIntervention'>) => void events.push(event) },
  ]
  dispatcher.use({ name: 'human', gates: [requireHuman()], hooks })
  const op = dispatcher.startOperation({ operationId: 'op' })
  const outcome = op.toolCall({ apiName: 'delete_order', args: { id: 1 } }, () => 'deleted')
  await answer(await pending(approvals), { db, approvals })
  expect(await outcome).toMatchObject({ state: 'completed' })
  await op.complete({ reason: 'done' })
  const { attributes } = tracing.span('human_intervention')
  const [event] = events
  return { event, attributes, all: JSON.stringify([events, tracing.spans().map((span) => span.attributes)]) }
}

it.each([true, false])(
  'is told to hooks and on the span, without address, account and machine (logged: %s)',
  async (isLogged) => {
    const byHttp = await toldOfRun(isLogged, async ({ id, argsDigest }, { approvals }) => {
      const server = await serveApprovals({ approvals, tokens: { ann: ANN } })
      onTestFinished(() => server.close())
      const url = `${server.url}/hitl/approvals/${id}/respond`
      await post(url, { decision: 'approve', argsDigest }, { authorization: `Bearer ${ANN}` })
    })
    expect(byHttp.event).toMatchObject({ approver: 'ann', channel: 'http', identity: 'proved' })
    expect(byHttp.attributes).toMatchObject({
      'hookspan.human.approver': 'ann',
      'hookspan.human.channel': 'http',
      'hookspan.human.identity': 'proved',
    })
    expect(byHttp.all).not.toContain('127.0.0.1')
    const byCommand = await toldOfRun(isLogged, async ({ id }, { db }) => {
      const args = ['approvals', 'approve', id, '--db', db, '--as', 'the boss']
      expect(spawnSync(process.execPath, ['--no-warnings', BIN, ...args]).status).toBe(0)
    })
    expect(byCommand.event).toMatchObject({ approver: 'the boss', channel: 'cli', identity: 'claimed' })
    expect(byCommand.attributes).toMatchObject({
      'hookspan.human.channel': 'cli',
      'hookspan.human.identity': 'claimed',
    })
    for (const secret of [user, hostname()]) expect(byCommand.all).not.toContain(`"${secret}"`)
  },
)

it('is told of by an approver of yours; what is no way of one, and what a store has that is none, is not passed on', async () => {
  const asked = async (answer: object) => {
    using tracing = traced()
    const approver = { requestApproval: async () => answer as HeardAnswer }
    tracing.dispatcher.use({ name: 'human', gates: [requireHuman()], approver })
    const op = tracing.dispatcher.startOperation({ operationId: 'op' })
    const { state } = await op.toolCall({ apiName: 'delete_order', args: {} }, () => 'deleted')
    await op.complete({ reason: 'done' })
    return { state, attributes: tracing.span('human_intervention').attributes }
  }
  const slack = await asked({ decision: 'approve', channel: 'slack', identity: 'proved' })
  expect(slack.state).toBe('completed')
  expect(slack.attributes).toMatchObject({
    'hookspan.human.channel': 'slack',
    'hookspan.human.identity': 'proved',
  })
  for (const wrong of [{ channel: 7 }, { identity: 'sworn' }])
    expect(await asked({ decision: 'approve', ...wrong })).toMatchObject({ state: 'denied' })
  const written = await toldOfRun(false, async ({ id }, { approvals }) => {
    const origin = { channel: { of: 'mine' }, identity: 'sworn' } as never
    await approvals.store.answer(id, { decision: 'approve', approver: 'eve', origin }, Date.now())
  })
  expect(written.event).toMatchObject({ approver: 'eve' })
  for (const field of ['channel', 'identity']) {
    expect(written.event).not.toHaveProperty(field)
    expect(written.attributes).not.toHaveProperty([`hookspan.human.${field}`])
  }
})
