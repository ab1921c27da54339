import { readFileSync } from 'node:fs'
import { type AuditEntry, createApprovals, verifyAudit } from 'hookspan/approval'
import { startViewer } from 'hookspan/viewer'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { request } from '../approval/support.ts'
import { type Asking, startAsking } from './asking.ts'
import { getJson } from './support.ts'

const error = async (response: Response) => ((await response.json()) as { error: string }).error

describe('approvals answered from the viewer, for an agent in another process', () => {
  let asking: Asking
  beforeEach(async () => {
    asking = await startAsking()
  })
  afterEach(() => asking[Symbol.asyncDispose]())

  it('lets the call run, with the arguments of the answer, or tells why not; each answer is audited', async () => {
    const agent = asking.ask('as-asked', 'edited', 'rejected')
    const first = await asking.waiting()
    expect(first).toMatchObject({
      agentName: 'clerk',
      apiName: 'delete_order',
      args: { id: 4711, keep: 'invoice' },
      instructions: 'Only orders that were never shipped.',
      allow: ['approve', 'edit', 'reject'],
      toolCallId: 'call-as-asked',
    })
    // Without the token: how many, and nothing of what.
    expect(await getJson(asking.viewer, '/api/status')).toMatchObject({ waiting: 1 })

    const { argsDigest } = first
    const answered = await asking.call(`/${encodeURIComponent(first.id)}/respond`, {
      body: { decision: 'approve', argsDigest, approver: 'mallory' },
    })
    expect(answered.status).toBe(200)
    // In whose name is told by whoever started the viewer, not by who asks.
    expect(await answered.json()).toMatchObject({ status: 'answered', answer: { approver: 'ines' } })

    await expect.poll(async () => (await asking.waiting()).id).not.toBe(first.id)
    const second = await asking.waiting()
    await asking.call(`/${encodeURIComponent(second.id)}/respond`, {
      body: { decision: 'edit', args: { id: 4712 }, argsDigest: second.argsDigest },
    })
    await expect.poll(async () => (await asking.waiting()).id).not.toBe(second.id)
    const third = await asking.waiting()
    await asking.call(`/${encodeURIComponent(third.id)}/respond`, {
      body: { decision: 'reject', reason: 'it was shipped', argsDigest: third.argsDigest },
    })
    await agent.ended
    // The request named the run as its spans do.
    const run = await getJson<{ summary: { agent: string } }>(asking.viewer, `/api/runs/${first.traceId}`)
    expect(run.summary.agent).toBe('clerk')
    expect(agent.printed()).toContain('as-asked: completed: deleted {"id":4711,"keep":"invoice"}')
    expect(agent.printed()).toContain('edited: completed: deleted {"id":4712}')
    expect(agent.printed()).toMatch(/rejected: .*it was shipped/)
    expect(verifyAudit({ path: asking.audit })).toMatchObject({ ok: true })
    const { answer } = (await asking.approvals.get(third.id))!
    expect(answer).toMatchObject({ decision: 'reject', approver: 'ines', reason: 'it was shipped' })
  })

  it('refuses a stale, an answered and an unknown request and says which it is', async () => {
    const agent = asking.ask('once')
    const { id, argsDigest } = await asking.waiting()
    const respond = (body: object) => asking.call(`/${encodeURIComponent(id)}/respond`, { body })
    const stale = await respond({ decision: 'approve', argsDigest: 'f'.repeat(64) })
    expect(stale.status).toBe(409)
    expect(await error(stale)).toMatch(/for other arguments.*Look at the request again/)
    const blind = await respond({ decision: 'approve' })
    expect(blind.status).toBe(422)
    expect(await error(blind)).toMatch(/lacks `argsDigest`/)
    const odd = await respond({ decision: 'perhaps', argsDigest })
    expect(odd.status).toBe(422)
    expect((await respond({ decision: 'approve', argsDigest })).status).toBe(200)
    await agent.ended
    const again = await respond({ decision: 'reject', argsDigest })
    expect(again.status).toBe(409)
    expect(await error(again)).toMatch(/was answered already by ines/)
    const log = readFileSync(asking.audit, 'utf8').trim().split('\n')
    const refused = log
      .map((line) => JSON.parse(line) as AuditEntry)
      .filter(({ event }) => event === 'refused')
    expect(refused.filter(({ requestId }) => requestId === id)).toMatchObject(
      ['APPROVAL_MISMATCH', 'HTTP_422', 'INVALID_ANSWER', 'APPROVAL_ANSWERED'].map((code) => ({
        code,
        approver: 'ines',
        problem: expect.any(String),
      })),
    )
    expect(await (await asking.call(`/${encodeURIComponent(id)}`)).json()).toEqual({
      status: 'answered',
      answer: expect.objectContaining({ decision: 'approve' }),
    })
    expect(
      (await asking.call('/nothing/respond', { body: { decision: 'approve', argsDigest } })).status,
    ).toBe(404)
    expect(
      (await asking.call('/%E0%A4%A/respond', { body: { decision: 'approve', argsDigest } })).status,
    ).toBe(400)
  })

  it('shows and takes nothing without the token, from another site, or beyond reason', async () => {
    const agent = asking.ask('guarded')
    const { id, argsDigest } = await asking.waiting()
    const path = `/${encodeURIComponent(id)}/respond`
    const body = { decision: 'approve', argsDigest }
    for (const token of ['', 'x', `${asking.viewer.token}x`]) {
      expect((await asking.call('', { token })).status).toBe(401)
      expect((await asking.call(`/${encodeURIComponent(id)}`, { token })).status).toBe(401)
      expect((await asking.call(path, { token, body })).status).toBe(401)
      expect((await asking.call(`/${encodeURIComponent(id)}/context`, { token })).status).toBe(401)
    }
    expect((await asking.call(path, { body, headers: { origin: 'https://evil.example' } })).status).toBe(403)
    expect((await asking.call(path, { body, headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
    expect((await asking.call(path, { body: '{' })).status).toBe(400)
    expect((await asking.call(path, { body: '[]' })).status).toBe(422)
    expect((await asking.call(path, { body: `{"__proto__":{},"argsDigest":"${argsDigest}"}` })).status).toBe(
      400,
    )
    expect((await asking.call(path, { body: { ...body, reason: 'x'.repeat(300_000) } })).status).toBe(413)
    expect((await asking.approvals.get(id))!.status).toBe('pending')
    expect((await asking.call(path, { body })).status).toBe(200)
    await agent.ended
  })
})

it('a viewer without approvals has none waiting and takes no answer', async () => {
  const viewer = await startViewer({ db: ':memory:', port: 0 })
  const headers = { authorization: `Bearer ${viewer.token}` }
  const list = await fetch(`${viewer.url}/api/approvals`, { headers })
  expect(await list.json()).toEqual({ connected: false, requests: [] })
  const answer = await fetch(`${viewer.url}/api/approvals/x/respond`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ decision: 'approve', argsDigest: 'd' }),
  })
  expect(answer.status).toBe(404)
  expect(await error(answer)).toContain('--approvals FILE')
  await viewer.close()
})

it('a viewer that closes tells the human whose answer is being taken that it was', async () => {
  const [asked, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const approvals = createApprovals()
  const viewer = await startViewer({
    ...{ db: ':memory:', port: 0, approver: 'ines' },
    approvals: {
      list: (filter) => approvals.list(filter),
      get: (id) => approvals.get(id),
      respond: async (id, answer) => {
        asked.resolve()
        await taken.promise
        return approvals.respond(id, answer)
      },
    },
  })
  await approvals.store.add(request('r1'))
  const answered = fetch(`${viewer.url}/api/approvals/r1/respond`, {
    method: 'POST',
    headers: { authorization: `Bearer ${viewer.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ decision: 'approve', argsDigest: request('r1').argsDigest }),
  })
  answered.catch(() => {})
  await asked.promise
  const closed = viewer.close()
  taken.resolve()
  expect((await answered).status).toBe(200)
  await closed
})
