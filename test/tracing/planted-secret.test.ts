import { ToolResult } from 'hookspan'
import { type AuditEvent, approvalRoutes, createApprovals } from 'hookspan/approval'
import { type ApprovalRequest, deny, gateAt, mutate, requireApproval } from 'hookspan/gates'
import { commandGate } from 'hookspan/policies'
import { expect, it } from 'vitest'
import { traced } from '../support/span-tree.ts'

/** Nothing else looks like it: whatever has it was not cleaned. */
const SECRET = 'PLANTED-7f3a'

function cleaned(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null).replaceAll(SECRET, '[secret]'))
}

const failure = () => new Error(`at https://user:${SECRET}@host/`, { cause: new Error(SECRET) })

/** By tool: what has a gate say it, in whatever words. */
const GATES = [
  gateAt('beforeToolCall', {
    id: 'denies',
    match: 'denied',
    decide: ({ payload }) => deny(JSON.stringify(payload)),
  }),
  gateAt('beforeToolCall', {
    id: 'throws',
    match: 'thrown',
    decide: () => {
      throw failure()
    },
  }),
  gateAt('beforeToolCall', {
    id: 'nonsense',
    match: 'nonsense',
    decide: () => ({ decision: SECRET }) as never,
  }),
  gateAt('beforeToolCall', {
    id: 'says',
    match: 'said',
    decide: () => ({ decision: 'proceed', reason: SECRET }),
  }),
  gateAt('beforeToolCall', { id: 'changes', match: 'changed', decide: () => mutate({ [SECRET]: SECRET }) }),
  gateAt('beforeToolCall', {
    id: 'asks',
    match: 'asked*',
    decide: () => requireApproval({ instructions: SECRET }),
  }),
  gateAt('afterToolCall', {
    id: 'withholds',
    match: 'withheld',
    decide: () => deny(SECRET, { code: 'secret' }),
  }),
  gateAt('beforeLlmCall', { id: 'stops', decide: () => deny(SECRET) }),
  commandGate({
    id: 'program',
    point: 'beforeToolCall',
    match: 'program',
    command: process.execPath,
    args: ['-e', `console.error('${SECRET}'); process.exit(3)`],
  }),
]

it.each([true, false])(
  'is in no span that `redact` has cleaned, content captured: %s',
  async (captureContent) => {
    using setup = traced({ captureContent, redact: cleaned })
    const answers = {
      asked: { decision: 'approve', reason: SECRET },
      asked_and_refused: { decision: 'reject', reason: SECRET },
      asked_and_edited: { decision: 'edit', args: { text: SECRET } },
    } as const
    setup.dispatcher.use({
      name: 'human',
      gates: GATES,
      approver: { requestApproval: async ({ apiName }) => answers[apiName as keyof typeof answers] },
    })
    const op = setup.dispatcher.startOperation({ agentName: 'a', input: SECRET })
    await op.step(async (step) => {
      const tools = [
        'denied',
        'thrown',
        'nonsense',
        'said',
        'changed',
        'withheld',
        'program',
        ...Object.keys(answers),
      ]
      for (const apiName of tools) {
        const result = new ToolResult({ content: SECRET, data: { [SECRET]: SECRET } })
        await step.toolCall({ apiName, args: { [SECRET]: SECRET } }, () => result)
      }
      await step.toolCall({ apiName: 'fails', args: { text: SECRET } }, () => {
        throw failure()
      })
      const request = { model: 'm', messages: [{ role: 'user', content: SECRET }] }
      await step.llmCall({ model: 'm', request }, () => ({})).catch(() => {})
      await step
        .callAgent({ agentId: 'b', instruction: SECRET }, () => Promise.reject(failure()))
        .catch(() => {})
    })
    op.fail(failure())
    const spans = setup
      .spans()
      .map(({ name, attributes, events, status }) => ({ name, attributes, events, status }))
    expect(spans.length).toBeGreaterThan(15)
    const found = spans.filter((span) => JSON.stringify(span).includes(SECRET))
    expect(found).toEqual([])
  },
)

it.each<[string, () => Error]>([
  ['quotes another stack', () => new Error(`retried: ${failure().stack}\nthen ${failure().stack}`)],
  ['ends in a line like a frame', () => new Error(`refused\n    at https://user:${SECRET}@host/`)],
  ['was changed', () => Object.assign(new Error(`a\n  at ${SECRET}\n${SECRET}`), { message: 'other' })],
])('is not in the stack of an error whose message %s', async (_what, make) => {
  using setup = traced({ redact: cleaned })
  const op = setup.dispatcher.startOperation({ agentName: 'a' })
  await op.step((step) =>
    step.toolCall({ apiName: 'fails', args: {} }, () => {
      throw make()
    }),
  )
  await op.complete()
  const { events, status } = setup.span('execute_tool fails')
  expect(events[0]?.attributes?.['exception.stacktrace']).toContain('planted-secret.test.ts')
  expect(JSON.stringify([events, status])).not.toContain(SECRET)
})

/** Approvals with a request, and what their log is told. */
async function asked(point: ApprovalRequest['point']) {
  const events: AuditEvent[] = []
  const approvals = createApprovals({ audit: { append: async (event) => void events.push(event) } })
  const place = { operationId: 'o', rootOperationId: 'o', toolCallId: 't', callKey: 'c', gateId: 'g' }
  const question = { identifier: point, apiName: point, args: null, argsDigest: 'd', requestedAt: Date.now() }
  await approvals.store.add({
    ...place,
    ...question,
    id: 'apr_1',
    point,
    allow: ['approve', 'edit', 'reject'],
  })
  return { approvals, events }
}

it.each([
  ['beforeLlmCall', SECRET],
  ['afterLlmCall', { content: [SECRET] }],
  ['beforeCallAgent', { instruction: SECRET }],
  ['beforeComplete', { reason: SECRET }],
] as const)('of an edit that cannot stand at %s is not in the audit log', async (point, args) => {
  const { approvals, events } = await asked(point)
  const answered = approvals.respond('apr_1', { decision: 'edit', args })
  await expect(answered).rejects.toMatchObject({ code: 'INVALID_ANSWER' })
  expect(events).toMatchObject([{ event: 'refused', requestId: 'apr_1', code: 'INVALID_ANSWER' }])
  expect(JSON.stringify(events)).not.toContain(SECRET)
})

it.each<[string, object]>([
  ['a decision that has them', { decision: { type: 'edit', args: { password: SECRET } } }],
  ['a digest that is them', { decision: 'approve', argsDigest: JSON.stringify({ password: SECRET }) }],
  ['a digest with them', { decision: 'approve', argsDigest: { password: SECRET } }],
  ['a reason with them', { decision: 'reject', reason: { password: SECRET } }],
  ['a list', [{ decision: 'edit', args: { password: SECRET } }]],
])('of an answer with arguments in the wrong place is not in the audit log: %s', async (_what, answer) => {
  const { approvals, events } = await asked('beforeToolCall')
  await expect(approvals.respond('apr_1', answer as never)).rejects.toThrow('answer')
  expect(events).toMatchObject([{ event: 'refused', requestId: 'apr_1' }])
  expect(JSON.stringify(events)).not.toContain(SECRET)
})

it.each([
  ['is no JSON', `{"args":{"password":"${SECRET}"},`],
  ['has a key twice', `{"decision":"edit","args":{"${SECRET}":1,"${SECRET}":2}}`],
])('of an answer that %s is not in the audit log', async (_what, body) => {
  const events: AuditEvent[] = []
  const approvals = createApprovals({ audit: { append: async (event) => void events.push(event) } })
  const token = 'a token that is long enough'
  const routes = approvalRoutes({ approvals, token })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const url = 'http://localhost/hitl/approvals/apr_1/respond'
  const response = await routes(new Request(url, { method: 'POST', headers, body }))
  expect(response?.status).toBe(400)
  expect(events).toMatchObject([{ event: 'refused', requestId: 'apr_1', code: 'HTTP_400' }])
  expect(JSON.stringify(events)).not.toContain(SECRET)
})
