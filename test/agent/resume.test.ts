import { HookDispatcher, type HookEvent } from 'hookspan'
import { type Agent, execAgent, resumeAgent, type SavedRun } from 'hookspan/agent'
import { type ApprovalStore, createApprovals, sqliteStore } from 'hookspan/approval'
import { budget, requireHuman } from 'hookspan/policies'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { folder } from '../approval/support.ts'
import { statelessModel, type Turn } from '../support/stateless-model.ts'

/** Everything one process has: the store is all that several share. */
function processOf(path: string) {
  const store = sqliteStore({ path })
  const dispatcher = new HookDispatcher()
  dispatcher.use(createApprovals({ store, mode: 'park' }))
  const events: HookEvent[] = []
  const types = [
    'onStart',
    'beforeStep',
    'afterStep',
    'beforeToolCall',
    'afterToolCall',
    'onComplete',
    'beforeCallAgent',
    'afterCallAgent',
    'beforeHumanIntervention',
    'afterHumanIntervention',
  ] as const
  const hooks = types.map((type) => ({
    id: `see-${type}`,
    type,
    handler: (event: HookEvent) => void events.push(event),
  }))
  dispatcher.use({ name: 'see', hooks: hooks as never })
  return { store, dispatcher, events, told: () => events.map((event) => event.hookType) }
}

const ran: unknown[] = []
const refund: Agent['tools'] = [
  {
    name: 'refund',
    parameters: { type: 'object', properties: { amount: { type: 'number' } } },
    needsApproval: (args) => (args as { amount: number }).amount > 10,
    execute: (args) => {
      ran.push(args)
      return `refunded ${(args as { amount: number }).amount}`
    },
  },
]
const support: Agent = { name: 'support', model: 'stateless', tools: refund }

/** Asks for these calls once, then says what it was told. */
const asksFor = (...amounts: number[]) =>
  statelessModel((messages): Turn => {
    const results = messages.filter((message) => message.role === 'tool')
    if (results.length > 0) return { content: results.map((message) => message.content).join('; ') }
    return { calls: amounts.map((amount, i) => ({ id: `c${i}`, name: 'refund', args: { amount } })) }
  })

const amountOf = ({ args }: { args: unknown }) => (args as { amount: number }).amount

async function answerAll(store: ApprovalStore, answer: (amount: number) => object): Promise<void> {
  for (const { request } of await store.list({ status: 'pending' })) {
    await store.answer(request.id, answer(amountOf(request)) as never, Date.now())
  }
}

describe('resumeAgent', () => {
  it('continues in another process, with what ended before, each call by its own answer, each hook once', async () => {
    ran.length = 0
    const path = `${folder()}/a.db`
    const first = processOf(path)
    const client = asksFor(5, 50, 70, 90)
    const run = await execAgent({ agent: support, prompt: 'refund', client, dispatcher: first.dispatcher })
    expect(run).toMatchObject({ status: 'waiting_for_human', reason: 'waiting', steps: 0 })
    expect(run.pendingApprovals?.map((request) => request.args)).toEqual([
      { amount: 50 },
      { amount: 70 },
      { amount: 90 },
    ])
    expect(ran).toEqual([{ amount: 5 }])
    const answers: Record<number, object> = {
      50: { decision: 'approve' },
      70: { decision: 'edit', args: { amount: 7 } },
      90: { decision: 'reject', reason: 'too much' },
    }
    await answerAll(processOf(path).store, (amount) => answers[amount] as object)
    const second = processOf(path)
    const state = JSON.stringify(run.state)
    const rest = await resumeAgent({ agent: support, state, client, dispatcher: second.dispatcher })
    expect(rest).toMatchObject({ status: 'done', reason: 'done', steps: 2, operationId: run.operationId })
    expect(rest.content).toContain('refunded 5; refunded 50; refunded 7; {"rejected":true')
    expect(rest.usage).toMatchObject({ inputTokens: 20, outputTokens: 10 })
    expect(ran).toEqual([{ amount: 5 }, { amount: 50 }, { amount: 7 }])
    const told = [...first.told(), ...second.told()]
    const count = (type: string) => told.filter((one) => one === type).length
    expect(
      [
        'onStart',
        'beforeStep',
        'afterStep',
        'beforeToolCall',
        'afterToolCall',
        'beforeHumanIntervention',
        'afterHumanIntervention',
        'onComplete',
      ].map(count),
    ).toEqual([1, 2, 2, 4, 4, 3, 3, 1])
    const sequence = [...first.events, ...second.events].map((event) => event.sequence)
    expect(new Set(sequence).size).toBe(sequence.length)
    const waited = second.events.find((event) => event.hookType === 'afterHumanIntervention')
    expect((waited as HookEvent<'afterHumanIntervention'>).waitedMs).toBeGreaterThanOrEqual(0)
  })

  it('goes on in a process whose clock is an hour behind, and says that nobody waited', async () => {
    ran.length = 0
    const path = `${folder()}/a.db`
    const first = processOf(path)
    const client = asksFor(5, 50)
    const run = await execAgent({ agent: support, prompt: 'refund', client, dispatcher: first.dispatcher })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
    onTestFinished(() => void vi.useRealTimers())
    await answerAll(processOf(path).store, () => ({ decision: 'approve' }))
    const second = processOf(path)
    const state = JSON.stringify(run.state)
    const rest = await resumeAgent({ agent: support, state, client, dispatcher: second.dispatcher })
    expect(rest).toMatchObject({ status: 'done', reason: 'done' })
    expect(ran).toEqual([{ amount: 5 }, { amount: 50 }])
    const waited = second.events.find((event) => event.hookType === 'afterHumanIntervention')
    expect((waited as HookEvent<'afterHumanIntervention'>).waitedMs).toBe(0)
  })

  it('waits again while there is no answer, and goes on once there is one', async () => {
    ran.length = 0
    const path = `${folder()}/a.db`
    const client = asksFor(50)
    const run = await execAgent({
      agent: support,
      prompt: 'p',
      client,
      dispatcher: processOf(path).dispatcher,
    })
    const again = await resumeAgent({
      agent: support,
      state: run.state as SavedRun,
      client,
      dispatcher: processOf(path).dispatcher,
    })
    expect(again.status).toBe('waiting_for_human')
    expect(again.pendingApprovals?.[0]?.id).toBe(run.pendingApprovals?.[0]?.id)
    await answerAll(processOf(path).store, () => ({ decision: 'approve' }))
    const last = processOf(path)
    const done = await resumeAgent({
      agent: support,
      state: again.state as SavedRun,
      client,
      dispatcher: last.dispatcher,
    })
    expect(done).toMatchObject({ status: 'done', content: 'refunded 50' })
    expect(ran).toHaveLength(1)
    expect(last.told()).not.toContain('beforeHumanIntervention')
  })

  it('runs an approved tool once, also when the run is resumed twice', async () => {
    ran.length = 0
    const path = `${folder()}/a.db`
    const client = asksFor(50)
    const run = await execAgent({
      agent: support,
      prompt: 'p',
      client,
      dispatcher: processOf(path).dispatcher,
    })
    await answerAll(processOf(path).store, () => ({ decision: 'approve' }))
    const resume = () =>
      resumeAgent({
        agent: support,
        state: run.state as SavedRun,
        client,
        dispatcher: processOf(path).dispatcher,
      })
    expect((await resume()).content).toBe('refunded 50')
    expect((await resume()).content).toBe('refunded 50')
    expect(ran).toHaveLength(1)
  })

  describe('goes on from a state once', () => {
    /** A run whose refunds wait for a human, after which it sends a mail that nobody has to approve. */
    async function waiting(...amounts: number[]) {
      const path = `${folder()}/a.db`
      let asked = 0
      let failing = false
      const sent: unknown[] = []
      const mails = [{ name: 'send_mail', execute: () => void sent.push(1) }]
      const agent: Agent = { ...support, tools: [...(refund ?? []), ...mails] }
      const client = statelessModel((messages): Turn => {
        asked++
        const told = messages.filter((message) => message.role === 'tool').length
        if (told === amounts.length) return { calls: [{ id: 'm', name: 'send_mail', args: {} }] }
        if (told > amounts.length && failing) throw new Error('the model is away')
        if (told > amounts.length) return { content: 'sent' }
        return { calls: amounts.map((amount, i) => ({ id: `c${i}`, name: 'refund', args: { amount } })) }
      })
      const common = () => ({ agent, client, dispatcher: processOf(path).dispatcher })
      const run = await execAgent({ ...common(), prompt: 'p' })
      const resume = () => resumeAgent({ ...common(), state: run.state as SavedRun })
      const { store } = processOf(path)
      const answerOne = async () => {
        const pending = await store.list({ status: 'pending' })
        // Two that were made in one millisecond are listed in no order.
        const [first] = pending.map(({ request }) => request).sort((a, b) => amountOf(a) - amountOf(b))
        await store.answer(first?.id ?? '', { decision: 'approve' }, Date.now())
      }
      const fail = (now: boolean) => {
        failing = now
      }
      return { resume, sent, answerOne, asked: () => asked, fail }
    }

    it('and gives who comes later what came of it', async () => {
      const { resume, answerOne, sent, asked } = await waiting(50)
      await answerOne()
      const first = await resume()
      expect(first).toMatchObject({ status: 'done', content: 'sent' })
      expect(first.resumedBefore).toBeUndefined()
      const before = asked()
      expect(await resume()).toEqual({ ...first, resumedBefore: true })
      expect([sent.length, asked()]).toEqual([1, before])
    })

    it('and refuses who comes meanwhile', async () => {
      const { resume, answerOne, sent } = await waiting(50)
      await answerOne()
      const [first, second] = await Promise.allSettled([resume(), resume()])
      const codes = [first, second].map((one) => (one.status === 'rejected' ? one.reason.code : 'done'))
      expect(codes.sort()).toEqual(['STATE_CLAIMED', 'done'])
      expect(sent).toHaveLength(1)
    })

    it('but as often as one likes while nobody answers, and from where it is then', async () => {
      const { resume, answerOne, sent } = await waiting(50, 70)
      ran.length = 0
      for (let i = 0; i < 3; i++) expect((await resume()).status).toBe('waiting_for_human')
      await answerOne()
      expect(await resume()).toMatchObject({ status: 'waiting_for_human' })
      expect(ran).toEqual([{ amount: 50 }])
      for (let i = 0; i < 2; i++) expect((await resume()).status).toBe('waiting_for_human')
      await answerOne()
      expect(await resume()).toMatchObject({ status: 'done', content: 'sent' })
      expect(await resume()).toMatchObject({ status: 'done', resumedBefore: true })
      expect(ran).toEqual([{ amount: 50 }, { amount: 70 }])
      expect(sent).toHaveLength(1)
    })

    it('unless it failed: then it may be tried again', async () => {
      const { resume, answerOne, fail } = await waiting(50)
      await answerOne()
      fail(true)
      expect((await resume()).status).toBe('error')
      fail(false)
      const again = await resume()
      expect(again).toMatchObject({ status: 'done', content: 'sent' })
      expect(again.resumedBefore).toBeUndefined()
    })
  })

  it('does not run what was changed in the saved state', async () => {
    ran.length = 0
    const path = `${folder()}/a.db`
    const client = asksFor(50)
    const run = await execAgent({
      agent: support,
      prompt: 'p',
      client,
      dispatcher: processOf(path).dispatcher,
    })
    await answerAll(processOf(path).store, () => ({ decision: 'approve' }))
    const forged = JSON.stringify(run.state).replaceAll('{\\"amount\\":50}', '{\\"amount\\":5000}')
    expect(forged).not.toBe(JSON.stringify(run.state))
    const rest = await resumeAgent({
      agent: support,
      state: forged,
      client,
      dispatcher: processOf(path).dispatcher,
    })
    expect(ran).toEqual([])
    expect(rest.content).toContain('approval_mismatch')
  })

  it('keeps a budget over the park', async () => {
    const path = `${folder()}/a.db`
    const client = asksFor(5, 50)
    const run = async (maxTokens: number) => {
      const dispatcherOf = () => {
        const { dispatcher } = processOf(path)
        const gate = budget({ maxToolCalls: 2, maxTokens, estimateTokens: () => 2 })
        dispatcher.use({ name: 'budget', gates: [gate] })
        return dispatcher
      }
      const parked = await execAgent({ agent: support, prompt: 'p', client, dispatcher: dispatcherOf() })
      await answerAll(processOf(path).store, () => ({ decision: 'approve' }))
      const state = parked.state as SavedRun
      return resumeAgent({ agent: support, state, client, dispatcher: dispatcherOf() })
    }
    expect(await run(20)).toMatchObject({ reason: 'done', content: 'refunded 5; refunded 50' })
    expect(await run(16)).toMatchObject({ reason: 'denied', denial: { code: 'budget_exceeded' } })
  })

  it.each([
    ['its model has spent the limit', { maxCostUsd: 1 }],
    ['the limit is lower now', {}],
  ])('makes the calls of its turn that a human has approved, though %s', async (_why, before) => {
    ran.length = 0
    const path = `${folder()}/a.db`
    const [first, second] = [processOf(path), processOf(path)]
    const options = { client: asksFor(50), priceOf: () => 2 }
    const { state } = await execAgent({
      ...options,
      agent: { ...support, ...before },
      prompt: 'p',
      dispatcher: first.dispatcher,
    })
    await answerAll(second.store, () => ({ decision: 'approve' }))
    const agent = { ...support, maxCostUsd: 1 }
    const run = await resumeAgent({
      ...options,
      agent,
      state: state as SavedRun,
      dispatcher: second.dispatcher,
    })
    expect(run).toMatchObject({ status: 'done', reason: 'cost_limit' })
    expect(ran).toEqual([{ amount: 50 }])
  })

  it('resumes a sub-agent that waits, in the run of its caller', async () => {
    ran.length = 0
    const path = `${folder()}/a.db`
    const boss: Agent = { name: 'boss', model: 'stateless', subAgents: [support] }
    const client = statelessModel((messages, { tools }): Turn => {
      const results = messages.filter((message) => message.role === 'tool')
      const isBoss = JSON.stringify(tools).includes('"support"')
      if (results.length > 0) return { content: `${isBoss ? 'boss' : 'support'}: ${results[0]?.content}` }
      if (isBoss) return { calls: [{ id: 'b0', name: 'support', args: { instruction: 'refund 50' } }] }
      return { calls: [{ id: 's0', name: 'refund', args: { amount: 50 } }] }
    })
    const first = processOf(path)
    const run = await execAgent({ agent: boss, prompt: 'p', client, dispatcher: first.dispatcher })
    expect(run).toMatchObject({
      status: 'waiting_for_human',
      pendingApprovals: [{ agentName: 'support', rootOperationId: run.operationId }],
    })
    await answerAll(processOf(path).store, () => ({ decision: 'approve' }))
    const second = processOf(path)
    const rest = await resumeAgent({
      agent: boss,
      state: JSON.stringify(run.state),
      client,
      dispatcher: second.dispatcher,
    })
    expect(rest).toMatchObject({ status: 'done', content: 'boss: support: refunded 50' })
    expect(ran).toHaveLength(1)
    const told = [...first.told(), ...second.told()]
    const count = (type: string) => told.filter((one) => one === type).length
    expect(
      ['beforeCallAgent', 'afterCallAgent', 'beforeToolCall', 'afterToolCall', 'onComplete', 'onStart'].map(
        count,
      ),
    ).toEqual([1, 1, 2, 2, 2, 2])
    expect(rest.usage).toMatchObject({ inputTokens: 40 })
  })

  it('does not go on without the gates of a sub-agent that waits', async () => {
    ran.length = 0
    const path = `${folder()}/a.db`
    const [{ needsApproval: _asks, ...tool } = { name: '', execute: () => {} }] = refund
    const boss = (...gates: NonNullable<Agent['gates']>): Agent => ({
      name: 'boss',
      model: 'stateless',
      subAgents: [{ ...support, tools: [tool], gates }],
    })
    const client = statelessModel((messages, { tools }): Turn => {
      if (messages.some(({ role }) => role === 'tool')) return { content: 'done' }
      if (JSON.stringify(tools).includes('"support"'))
        return { calls: [{ id: 'b0', name: 'support', args: { instruction: 'refund 50' } }] }
      return { calls: [{ id: 's0', name: 'refund', args: { amount: 50 } }] }
    })
    const careful = requireHuman({ match: 'refund', id: 'careful' })
    const { dispatcher } = processOf(path)
    const { state } = await execAgent({ agent: boss(careful), prompt: 'p', client, dispatcher })
    const resume = (agent: Agent) =>
      resumeAgent({ agent, state: state as SavedRun, client, dispatcher: processOf(path).dispatcher })
    await expect(resume(boss())).rejects.toMatchObject({
      code: 'INVALID_STATE',
      message: expect.stringMatching(/agent "support" was held by the gate\(s\) careful/),
    })
    expect(ran).toEqual([])
    expect((await resume(boss(careful))).status).toBe('waiting_for_human')
  })

  it('refuses a state that it cannot continue', async () => {
    const path = `${folder()}/a.db`
    const client = asksFor(50)
    const hooks = [{ id: 'mine', type: 'onComplete' as const, handler: () => {} }]
    const { dispatcher } = processOf(path)
    const run = await execAgent({ agent: support, prompt: 'p', client, hooks, dispatcher })
    const state = run.state as SavedRun
    const fails = async (given: unknown, message: string, more = {}) =>
      expect(
        resumeAgent({ agent: support, state: given as SavedRun, client, hooks, ...more }),
      ).rejects.toThrow(message)
    await fails('{', 'it is not JSON')
    await fails({}, 'expected `schema`')
    await fails({ ...state, version: 2 }, 'this hookspan reads version 1')
    await fails({ ...state, loop: 1 }, 'expected `loop`')
    await fails(state, 'cannot be resumed by "other"', { agent: { ...support, name: 'other' } })
    await fails(state, "begun with `api: 'chat'`, and is to go on with 'responses'", {
      agent: { ...support, api: 'responses' },
    })
    await fails(state, 'observed by the hook(s) mine', { hooks: [] })
    await fails(`{"__proto__":{}}`, '__proto__')
  })
})

describe('hooks by name', () => {
  it('come back in another process by themselves, and one that nobody defined is told', async () => {
    const path = `${folder()}/named.db`
    const client = asksFor(50)
    const ended: string[] = []
    const onEnd = (where: string) => [
      { id: 'on-end', type: 'onComplete' as const, handler: () => void ended.push(where) },
    ]
    const first = processOf(path)
    first.dispatcher.namedHooks.define(onEnd('first'))
    const { dispatcher } = first
    const run = await execAgent({ agent: support, prompt: 'refund', client, dispatcher, hooks: ['on-end'] })
    await answerAll(processOf(path).store, () => ({ decision: 'approve' }))
    const state = JSON.stringify(run.state)
    await expect(
      resumeAgent({ agent: support, state, client, dispatcher: processOf(path).dispatcher }),
    ).rejects.toThrow(/observed by the hook\(s\) on-end, which are missing/)
    const second = processOf(path)
    second.dispatcher.namedHooks.define(onEnd('second'))
    await resumeAgent({ agent: support, state, client, dispatcher: second.dispatcher })
    expect(ended).toEqual(['second'])
  })

  it('are refused when nothing stands for them, or two hooks want one name', () => {
    const { namedHooks } = new HookDispatcher()
    expect(() => namedHooks.resolve(['audit'])).toThrow(/No hook is defined as "audit"\. Defined: none/)
    namedHooks.define([{ id: 'audit', type: 'onComplete', handler: () => {} }])
    expect(() => namedHooks.define([{ id: 'audit', type: 'onComplete', handler: () => {} }])).toThrow(
      /stands for another/,
    )
  })
})
