import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { HOOK_CHANNEL, type HookEvent, type Operation, ToolResult } from 'hookspan'
import { createApprovals } from 'hookspan/approval'
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  deny,
  type Gate,
  type GatePoint,
  mutate,
  requireApproval,
  type SettledExecution,
} from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { callTool, gate, start } from './support.ts'

/** One gate that asks, one human who answers, and what was asked. */
function asked(point: GatePoint, answer: ApprovalAnswer, gates: Gate[] = []) {
  const requests: ApprovalRequest[] = []
  const approver = {
    requestApproval: async (request: ApprovalRequest) => {
      requests.push(request)
      return answer
    },
  }
  const asks = gate(point, () => requireApproval(), { id: 'asks' })
  return { requests, ...start([...gates, asks], { plugin: { approver } }) }
}

const edit = (args: unknown): ApprovalAnswer => ({ decision: 'edit', args })
const reply = { id: 'r', model: 'm', choices: [{ message: { role: 'assistant', content: 'hi' } }], usage: {} }

describe('an edit', () => {
  it.each([
    ['null', null],
    ['a number', 5],
    ['a reason that there is not', { reason: 'donee' }],
    ['a misspelt field', { reason: 'done', contnt: 'bye' }],
  ])('of a run’s outcome to %s is refused, and the run ends', async (_name, args) => {
    const { op } = asked('beforeComplete', edit(args))
    expect(await op.complete({ content: 'bye' })).toMatchObject({
      reason: 'denied',
      refusal: { code: 'approval_error' },
    })
    expect(op.ended).toBe(true)
  })

  it.each([
    ['beforeCallAgent', { to: 'look' }],
    ['beforeLlmCall', 5],
    ['afterLlmCall', { contnt: 'hi' }],
    ['afterLlmCall', { content: 5 }],
  ] as const)('at %s to %j is refused, as a gate’s is', async (point, args) => {
    const { op } = asked(point, edit(args))
    const made: unknown[] = []
    const calls = async () => {
      await op.callAgent({ agentName: 'a', instruction: 'look' }, async () => void made.push('agent'))
      await op.llmCall({ model: 'm', request: {} }, async () => reply)
    }
    await expect(calls()).rejects.toThrow('the edit cannot stand')
    expect(made).toHaveLength(point === 'beforeCallAgent' ? 0 : 1)
  })

  it('is refused where the human gives it, who may mend it', async () => {
    const approvals = createApprovals({ pollMs: 10 })
    const { dispatcher, op } = start([gate('beforeCallAgent', () => requireApproval())])
    dispatcher.use(approvals)
    const called = op.callAgent(
      { agentName: 'a', instruction: 'look' },
      async (_parent, { instruction }) => instruction,
    )
    await expect.poll(() => approvals.list()).toHaveLength(1)
    const [{ request } = { request: { id: '' } }] = await approvals.list()
    await expect(
      approvals.respond(request.id, { decision: 'edit', args: { to: 'look' } }),
    ).rejects.toMatchObject({
      code: 'INVALID_ANSWER',
      message: expect.stringContaining("an agent's instruction"),
    })
    await approvals.respond(request.id, { decision: 'edit', args: 'look twice' })
    expect(await called).toBe('look twice')
  })

  it.each<[string, unknown, unknown, string]>([
    ['words', { content: 'none left', success: false, data: { left: 0 } }, { left: 0 }, 'none left'],
    ['success', { content: 'sold out', success: true, data: 1 }, 1, 'sold out'],
    ['form', { left: 'few' }, { left: 'few' }, '{"left":"few"}'],
  ])(
    'of a tool’s result may change its %s, and a failure stays one',
    async (_name, args, result, content) => {
      const { op, dispatcher } = asked('afterToolCall', edit(args))
      const told: HookEvent<'afterToolCall'>[] = []
      const handler = (event: HookEvent<'afterToolCall'>) => void told.push(event)
      dispatcher.register('op', [{ id: 'told', type: 'afterToolCall', handler }])
      const given = new ToolResult({ content: 'sold out', success: false, data: { left: 0 } })
      const outcome = await op.toolCall({ apiName: 'book', args: {} }, () => given)
      expect(outcome).toMatchObject({ state: 'completed', result })
      expect(told).toMatchObject([{ success: false, content }])
    },
  )

  it.each(['beforeCompact', 'afterStep'] as const)(
    'is not offered at %s, where nothing can be changed',
    async (point) => {
      const { op, requests } = asked(point, { decision: 'approve' })
      await op.step((step) => step.compact({ messageCount: 1, tokenCount: 1 }, () => ({})))
      expect(requests).toMatchObject([{ allow: ['approve', 'reject'] }])
    },
  )

  it.each(['beforeCompact', 'afterStep'] as const)('cannot be all that is wanted at %s', async (point) => {
    const { op } = start([gate(point, () => requireApproval({ allow: ['edit'] }))])
    const run = async () => {
      await op.step((step) => step.compact({ messageCount: 1, tokenCount: 1 }, () => ({})))
      throw new Error(op.stopRequested?.reason)
    }
    await expect(run()).rejects.toThrow(`there is nothing to edit at ${point}`)
  })
})

describe('a yes', () => {
  it('to a model’s reply leaves it as it came', async () => {
    const { op } = asked('afterLlmCall', { decision: 'approve' })
    expect(await op.llmCall({ model: 'm', request: {} }, async () => reply)).toBe(reply)
  })

  it('to a streamed reply leaves it as it came', async () => {
    const { op } = asked('afterLlmCall', { decision: 'approve' })
    const chunk = { id: 'r', choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }] }
    const stream = await op.llmCall({ model: 'm', request: {} }, async () => {
      return (async function* () {
        yield chunk
      })()
    })
    const read: unknown[] = []
    for await (const one of stream) read.push(one)
    expect(read).toEqual([chunk])
  })

  it('to a tool’s result leaves what the model is told, and that the tool failed', async () => {
    const { op, dispatcher } = asked('afterToolCall', { decision: 'approve' })
    const told: HookEvent[] = []
    const handler = (event: HookEvent) => void told.push(event)
    dispatcher.register('op', [{ id: 'told', type: 'afterToolCall', handler }])
    const result = new ToolResult({ content: 'sold out', success: false, data: { left: 0 } })
    const outcome = await op.toolCall({ apiName: 'book', args: {} }, () => result)
    expect(outcome).toMatchObject({ state: 'completed', result: { left: 0 } })
    expect(outcome.toToolMessage().content).toBe('sold out')
    expect(told).toMatchObject([{ success: false, content: 'sold out' }])
  })

  it('to a tool’s result is to what the model is told of it, too', async () => {
    const { op, requests } = asked('afterToolCall', { decision: 'approve' })
    const result = new ToolResult({ content: 'sold out', success: false, data: { left: 0 } })
    await op.toolCall({ apiName: 'book', args: {} }, () => result)
    await op.toolCall({ apiName: 'look', args: {} }, () => ({ left: 0 }))
    expect(requests.map(({ args }) => args)).toEqual([
      { content: 'sold out', success: false, data: { left: 0 } },
      { left: 0 },
    ])
  })

  it('to a result that has changed since gives what was shown', async () => {
    const result = { left: 3 }
    const approver = {
      requestApproval: async () => {
        result.left = 0
        return { decision: 'approve' as const }
      },
    }
    const { op } = start([gate('afterToolCall', () => requireApproval())], { plugin: { approver } })
    expect(await op.toolCall({ apiName: 'book', args: {} }, () => result)).toMatchObject({
      result: { left: 3 },
    })
  })
})

describe('gates that are asked again about an edit', () => {
  /** What the event of the call tells, and what is published. */
  async function told(decide: Gate['decide'], more: Partial<Gate> = {}) {
    const first = gate('beforeToolCall', decide, { id: 'first', ...more })
    const { op, dispatcher } = asked('beforeToolCall', edit({ q: 2 }), [first])
    const events: HookEvent<'afterToolCall'>[] = []
    const hook = { id: 'told', type: 'afterToolCall' as const }
    dispatcher.register('op', [
      { ...hook, handler: (event: HookEvent<'afterToolCall'>) => void events.push(event) },
    ])
    const published: unknown[] = []
    const listen = (message: unknown) => {
      const { status, gateId, decision, enforced } = message as Record<string, unknown>
      if (status === 'decided') published.push([gateId, decision, enforced])
    }
    subscribe(HOOK_CHANNEL, listen)
    const { outcome, ran } = await callTool(op)
    unsubscribe(HOOK_CHANNEL, listen)
    const gates = events[0]?.gates?.map(({ gateId, decision, enforced }) => [gateId, decision, enforced])
    expect(gates).toEqual(published)
    return { gates, outcome, ran }
  }
  const before = [
    ['first', 'proceed', true],
    ['asks', 'require_approval', true],
  ]

  it('are told with the call, where one of them refuses', async () => {
    const { gates, outcome, ran } = await told(({ payload }) => {
      return (payload as { q: number }).q === 2 ? deny('not 2') : undefined
    })
    expect(gates).toEqual([...before, ['first', 'deny', true]])
    expect(outcome).toMatchObject({ state: 'denied', reason: 'not 2' })
    expect(ran).toEqual([])
  })

  it('are told with the call, where they let it, and what they would change is not enforced', async () => {
    const asks = ['asks', 'require_approval', false]
    expect((await told(() => {})).gates).toEqual([...before, ['first', 'proceed', true], asks])
    const { gates, ran } = await told(({ payload }) => {
      return (payload as { q: number }).q === 2 ? mutate({ q: 3 }) : undefined
    })
    expect(gates).toEqual([...before, ['first', 'mutate', false], asks])
    expect(ran).toEqual([{ q: 2 }])
  })

  /** Small sums are for the clerk, large ones for the boss, and there is an end to it. */
  function sums(answers: Readonly<Record<string, ApprovalAnswer>>) {
    const asked: unknown[] = []
    const approver = {
      requestApproval: async ({ approvers: [who = ''] = [], args }: ApprovalRequest) => {
        asked.push([who, args])
        return answers[who] as ApprovalAnswer
      },
    }
    const decide: Gate['decide'] = ({ payload }) => {
      const { sum } = payload as { sum: number }
      return sum > 1_000 ? deny('too much') : requireApproval({ approvers: [sum > 100 ? 'boss' : 'clerk'] })
    }
    return { asked, ...start([gate('beforeToolCall', decide)], { plugin: { approver } }) }
  }
  const refund = (sum: number) => edit({ sum })

  it('are also the one that asked, which refuses what it would have refused', async () => {
    const { op, asked } = sums({ clerk: refund(5_000) })
    const { outcome, ran } = await callTool(op, { sum: 5 })
    expect(outcome).toMatchObject({ state: 'denied', reason: 'too much' })
    expect([asked, ran]).toEqual([[['clerk', { sum: 5 }]], []])
  })

  it('are also the one that asked, which has others decide on what is theirs', async () => {
    for (const [decision, state] of [
      ['approve', 'completed'],
      ['reject', 'rejected'],
    ] as const) {
      const { op, asked } = sums({ clerk: refund(500), boss: { decision } })
      expect((await callTool(op, { sum: 5 })).outcome.state).toBe(state)
      expect(asked).toEqual([
        ['clerk', { sum: 5 }],
        ['boss', { sum: 500 }],
      ])
    }
    const { op, asked } = sums({ clerk: refund(6) })
    expect((await callTool(op, { sum: 5 })).ran).toEqual([{ sum: 6 }])
    expect(asked).toEqual([['clerk', { sum: 5 }]])
  })

  it('refuse where they could only have it edited again', async () => {
    const { outcome, ran } = await told(({ payload }) => {
      return (payload as { q: number }).q === 2 ? requireApproval({ allow: ['edit'] }) : undefined
    })
    expect(outcome).toMatchObject({ state: 'denied', code: 'approval_mismatch' })
    expect(ran).toEqual([])
  })
})

it('gives who goes on with a run the result that an approved tool gave, in its own words', async () => {
  const settled = new Map<string, string>()
  const ledger = {
    async claim(id: string) {
      const result = settled.get(id)
      return result === undefined
        ? { state: 'run' as const }
        : { state: 'done' as const, result: JSON.parse(result) as SettledExecution }
    },
    settle: async (id: string, result: SettledExecution) => void settled.set(id, JSON.stringify(result)),
  }
  const approver = { requestApproval: async () => ({ decision: 'approve' as const }), ledger }
  const { op, dispatcher } = start([gate('beforeToolCall', () => requireApproval())], {
    plugin: { approver },
  })
  const state = JSON.parse(JSON.stringify(op.checkpoint()))
  const call = (run: Operation, tool: () => unknown) =>
    run.toolCall({ apiName: 'book', args: {}, toolCallId: 't' }, tool)
  const result = new ToolResult({ content: 'sold out', success: false, data: { left: 0 } })
  const first = await call(op, () => result)
  op.leave()
  const next = await call(dispatcher.startOperation({ resume: state }), () => 'ran twice')
  expect(next).toMatchObject({ state: 'completed', result: { left: 0 } })
  expect(next.toToolMessage()).toEqual(first.toToolMessage())
})
