/** The patterns that Dapr Agents documents, in our form. `docs/coming-from.md` names each test. */
import { HookDispatcher } from 'hookspan'
import {
  approvalRoutes,
  createApprovals,
  redisChannel,
  serveApprovals,
  signedMessage,
} from 'hookspan/approval'
import { deny, type Gate, mutate, skip } from 'hookspan/gates'
import { requireHuman, toolCache } from 'hookspan/policies'
import { createClient } from 'redis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { pending, redisUrl } from '../../approval/support.ts'

const reply = (content: string) => ({
  choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }],
})
const standIn = ({ content = '' }: { content?: string }) => reply(content)

function run(...gates: Gate[]) {
  const dispatcher = new HookDispatcher({ composition: 'firstDecision' })
  dispatcher.use({ name: 'dapr', gates })
  const op = dispatcher.startOperation()
  const ran: unknown[] = []
  const tool = (apiName: string, args: unknown) => op.toolCall({ apiName, args }, (given) => ran.push(given))
  const sent: Record<string, unknown>[] = []
  const model = async (request: Record<string, unknown>, answer = 'the answer') => {
    const got = await op.llmCall({ model: 'm', request, standIn }, (effective) => {
      sent.push(effective)
      return reply(answer)
    })
    return got.choices[0]?.message.content
  }
  return { dispatcher, op, ran, tool, sent, model }
}

it('gates a destructive call', async () => {
  const gate: Gate = {
    id: 'gate',
    point: 'beforeToolCall',
    decide: ({ apiName }) =>
      apiName === 'drop_table' ? deny('destructive', { code: 'destructive' }) : undefined,
  }
  const { tool, ran } = run(gate)
  const outcome = await tool('drop_table', {})
  expect(outcome.toToolMessage().content).toContain('destructive')
  expect(ran).toEqual([])
  expect((await tool('select', {})).state).toBe('completed')
})

it('tells a gate where the tool lives', async () => {
  const seen: unknown[] = []
  const decide: Gate['decide'] = ({ source, identifier }) => void seen.push([source, identifier])
  const { op } = run({ id: 'where', point: ['beforeToolCall', 'afterToolCall'], decide })
  await op.toolCall({ apiName: 't', args: {} }, () => 1)
  await op.toolCall({ apiName: 't', identifier: 'github', source: 'mcp', args: {} }, () => 1)
  expect(seen).toEqual([
    ['local', 'local'],
    ['local', 'local'],
    ['mcp', 'github'],
    ['mcp', 'github'],
  ])
})

it('caches a tool', async () => {
  const { tool, ran } = run(toolCache({ match: 'weather' }))
  await tool('weather', { city: 'Berlin' })
  expect((await tool('weather', { city: 'Berlin' })).state).toBe('skipped')
  expect(ran).toHaveLength(1)
})

it('rewrites arguments', async () => {
  const { tool, ran } = run({
    id: 'limit',
    point: 'beforeToolCall',
    decide: ({ payload }) => mutate({ ...(payload as object), limit: 10 }),
  })
  await tool('search', { q: 'x', limit: 9_999 })
  expect(ran).toEqual([{ q: 'x', limit: 10 }])
})

it('injects context into every prompt', async () => {
  const system = { role: 'system', content: 'Today is Monday.' }
  const { model, sent } = run({
    id: 'context',
    point: 'beforeLlmCall',
    decide: ({ payload }) => mutate({ messages: [system, ...(payload as { messages: object[] }).messages] }),
  })
  await model({ messages: [{ role: 'user', content: 'hi' }], temperature: 0 })
  expect(sent).toEqual([{ messages: [system, { role: 'user', content: 'hi' }], temperature: 0 }])
})

it('gives a canned reply', async () => {
  const { model, sent } = run({ id: 'canned', point: 'beforeLlmCall', decide: () => skip('We are closed.') })
  expect(await model({ messages: [] })).toBe('We are closed.')
  expect(sent).toEqual([])
})

it('refuses a model call', async () => {
  const { model } = run({ id: 'no', point: 'beforeLlmCall', decide: () => deny('the prompt is not allowed') })
  expect(await model({ messages: [] })).toBe('the prompt is not allowed')
})

it('redacts a reply', async () => {
  const { model } = run({
    id: 'redact',
    point: 'afterLlmCall',
    decide: ({ payload }) => {
      const { content = '' } = payload as { content?: string }
      return mutate({ ...(payload as object), content: content.replace(/\d{4}/, '****') })
    },
  })
  expect(await model({ messages: [] }, 'PIN 1234')).toBe('PIN ****')
})

it('approves over HTTP', async () => {
  const { dispatcher, tool } = run(requireHuman({ match: 'delete', timeoutMs: 5_000, instructions: 'sure?' }))
  const approvals = createApprovals({ pollMs: 10 })
  dispatcher.use(approvals)
  const token = 'a bearer token that is long'
  const server = await serveApprovals({ approvals, token })
  onTestFinished(() => server.close())
  const outcome = tool('delete', { id: 1 })
  await pending(approvals)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const [record] = (await (
    await fetch(`${server.url}/hitl/approvals?status=pending`, { headers })
  ).json()) as [{ request: { id: string; argsDigest: string } }]
  const { id, argsDigest } = record.request
  const body = JSON.stringify({ decision: 'approve', approver: 'ann', argsDigest })
  await fetch(`${server.url}/hitl/approvals/${id}/respond`, { method: 'POST', headers, body })
  expect((await outcome).state).toBe('completed')
})

const url = await redisUrl()
it.skipIf(url === undefined)('approves over pub/sub', async () => {
  const { dispatcher, tool } = run(requireHuman({ timeoutMs: 5_000 }))
  const secret = 'a secret of some length'
  const responseTopic = crypto.randomUUID()
  const channel = redisChannel({
    url: url as string,
    secret,
    requestTopic: crypto.randomUUID(),
    responseTopic,
  })
  const approvals = createApprovals({ channels: [channel], pollMs: 10 })
  dispatcher.use(approvals)
  onTestFinished(() => approvals.close())
  // What is published before somebody listens is lost: that is publish/subscribe.
  await approvals.ready()
  const outcome = tool('delete', {})
  const { id, argsDigest } = await pending(approvals)
  const client = createClient({ url: url as string })
  await client.connect()
  onTestFinished(() => client.destroy())
  const answer = { decision: 'reject', reason: 'not today', approver: 'bob', argsDigest }
  await client.publish(responseTopic, signedMessage(secret, { id, answer }))
  expect(await outcome).toMatchObject({ state: 'rejected', reason: 'not today' })
})

it('denies when nobody answers in time', async () => {
  const { dispatcher, tool } = run(requireHuman({ timeoutMs: 30 }))
  dispatcher.use(createApprovals())
  expect(await tool('delete', {})).toMatchObject({ state: 'denied', code: 'approval_timeout' })
})

it('lets the first decision that is not proceed end the chain, as Dapr does', async () => {
  const { tool, ran } = run(
    { id: 'a', point: 'beforeToolCall', decide: () => mutate({ by: 'a' }) },
    { id: 'b', point: 'beforeToolCall', decide: () => deny('never asked') },
  )
  await tool('t', {})
  expect(ran).toEqual([{ by: 'a' }])
})

describe('protocol: dapr', () => {
  async function asked() {
    const { dispatcher, tool } = run(
      requireHuman({ match: 'delete', timeoutMs: 60_000, instructions: 'sure?' }),
    )
    const approvals = createApprovals({ pollMs: 10 })
    dispatcher.use(approvals)
    const server = await serveApprovals({ approvals, tokens: { ann: TOKEN }, protocol: 'dapr' })
    onTestFinished(() => server.close())
    const outcome = tool('delete', { id: 1 })
    await pending(approvals)
    return { server, outcome, approvals }
  }
  const TOKEN = 'a bearer token that is long'
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }

  /** What Dapr's own example of an approver does: list, pick, respond. */
  async function approver(url: string, body: unknown) {
    const listed = (await (await fetch(`${url}/hitl/approvals`, { headers })).json()) as [
      { approval_request_id: string },
    ]
    const id = listed[0].approval_request_id
    const respond = `${url}/hitl/approvals/${id}/respond`
    const response = await fetch(respond, { method: 'POST', headers, body: JSON.stringify(body) })
    return { listed, id, status: response.status, answer: await response.json() }
  }

  it('lists what Dapr lists, and takes { approved: true }', async () => {
    const { server, outcome, approvals } = await asked()
    const { listed, id, answer } = await approver(server.url, { approved: true })
    expect(listed).toEqual([
      {
        approval_request_id: id,
        instance_id: expect.any(String),
        step_name: 'delete',
        tool_name: 'delete',
        step_kind: 'tool',
        source: 'local',
        tool_call_id: expect.any(String),
        tool_arguments: { id: 1 },
        instructions: 'sure?',
        context: {},
        requested_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        timeout_seconds: 60,
        required_approver_scopes: [],
        allowed_approver_subjects: [],
        approver_audience: null,
      },
    ])
    expect(answer).toEqual({ status: 'ok', approval_request_id: id, approved: true })
    expect((await outcome).state).toBe('completed')
    expect((await approvals.get(id))?.answer).toMatchObject({ decision: 'approve', approver: 'ann' })
    const after = await fetch(`${server.url}/hitl/approvals`, { headers })
    expect(await after.json()).toEqual([])
  })

  it('tells the model the reason of { approved: false }, which Dapr throws away', async () => {
    const { server, outcome } = await asked()
    await approver(server.url, { approved: false, reason: 'not on sundays' })
    expect(await outcome).toMatchObject({ state: 'rejected', reason: 'not on sundays' })
  })

  it.each([{}, { approved: 'yes' }, { approved: true, args: {} }, { decision: 'approve' }])(
    'takes nothing else: %j',
    async (body) => {
      const { server, approvals } = await asked()
      const { id, status } = await approver(server.url, body)
      expect(status).toBe(422)
      expect((await approvals.get(id))?.status).toBe('pending')
    },
  )

  it('is open to nobody without a token, and answers 404 for what is not there', async () => {
    const { server } = await asked()
    expect((await fetch(`${server.url}/hitl/approvals`)).status).toBe(401)
    const body = '{"approved":true}'
    const nowhere = await fetch(`${server.url}/hitl/approvals/none/respond`, {
      method: 'POST',
      headers,
      body,
    })
    expect(nowhere.status).toBe(404)
  })

  it('needs to know who answers', () => {
    const approvals = createApprovals()
    expect(() => approvalRoutes({ approvals, token: TOKEN, protocol: 'dapr' })).toThrow('needs `tokens`')
    expect(() => approvalRoutes({ approvals, tokens: { ann: TOKEN }, protocol: 'darp' as never })).toThrow(
      '"hookspan" or "dapr", got `"darp"`',
    )
  })
})
