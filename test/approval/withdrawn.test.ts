import { readFileSync } from 'node:fs'
import { HookDispatcher, type Operation, type ParkedOperation } from 'hookspan'
import { type Agent, execAgent, resumeAgent, type SavedRun } from 'hookspan/agent'
import { type Approvals, auditLog, createApprovals, sqliteStore, verifyAudit } from 'hookspan/approval'
import type { ApprovalAnswer, ApprovalRequest } from 'hookspan/gates'
import { requireHuman } from 'hookspan/policies'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { KeptRuns } from '../agent/kept-runs.ts'
import { statelessModel } from '../support/stateless-model.ts'
import { answer, desk, folder, pending } from './support.ts'

/** What became of each request, the oldest first. */
async function statuses(approvals: Approvals): Promise<string[]> {
  return (await approvals.list()).map(({ status }) => status)
}

/** Where a run of that store goes on: what its gate asks about waits. */
function elsewhere(path: string): HookDispatcher {
  const approvals = createApprovals({ store: sqliteStore({ path }), mode: 'park' })
  onTestFinished(() => approvals.close())
  const dispatcher = new HookDispatcher()
  dispatcher.use(approvals)
  dispatcher.use({ name: 'human', gates: [requireHuman()] })
  return dispatcher
}

/** One call of its own and one of a sub-agent, both waiting. */
async function twoQuestions(op: Operation, dispatcher: HookDispatcher, approvals: Approvals) {
  const own = op.toolCall({ apiName: 'own', args: {}, toolCallId: 'own' }, () => 1)
  const nested = op
    .callAgent({ agentName: 'helper', instruction: 'i' }, (parent) =>
      dispatcher.startOperation({ parent }).toolCall({ apiName: 'nested', args: {} }, () => 1),
    )
    .catch((error: unknown) => error)
  await expect.poll(async () => (await approvals.list({ status: 'pending' })).length).toBe(2)
  return { own, nested }
}

describe('a run that ends while it asks', () => {
  const endings: [string, (op: Operation) => unknown][] = [
    ['is completed', (op) => op.complete()],
    ['has failed', (op) => op.fail(new Error('no'))],
    ['is interrupted', (op) => op.interrupt()],
    ['is abandoned', (op) => op.abandon()],
  ]
  it.each(endings)(
    'cancels its own and nested requests when it %s, and tells each end',
    async (_how, end) => {
      const path = `${folder()}/audit.jsonl`
      const { approvals, op, dispatcher, events } = desk({ audit: auditLog({ path }) })
      const { own, nested } = await twoQuestions(op, dispatcher, approvals)
      await end(op)
      expect(await own).toMatchObject({ state: expect.stringMatching(/denied|errored/) })
      await nested
      await approvals.close()
      expect(await statuses(approvals)).toEqual(['cancelled', 'cancelled'])
      const logged = readFileSync(path, 'utf8').trim().split('\n')
      expect(logged.filter((line) => line.includes('"event":"cancelled"'))).toHaveLength(2)
      expect(verifyAudit({ path })).toMatchObject({ ok: true })
      expect(events.map((event) => event.hookType)).toEqual([
        'beforeHumanIntervention',
        'afterHumanIntervention',
      ])
    },
  )

  it('cancels what is nested when it is aborted', async () => {
    const controller = new AbortController()
    const { approvals, dispatcher } = desk()
    const op = dispatcher.startOperation({ signal: controller.signal })
    const { own, nested } = await twoQuestions(op, dispatcher, approvals)
    controller.abort(new Error('enough'))
    await Promise.all([own, nested])
    await op.complete({ reason: 'interrupted' })
    await expect.poll(() => statuses(approvals)).toEqual(['cancelled', 'cancelled'])
  })

  it('asks no human any more once it was stopped: the others of the batch are cancelled and told why', async () => {
    const { approvals, call, dispatcher, op } = desk()
    const { own, nested } = await twoQuestions(op, dispatcher, approvals)
    const first = call()
    await expect.poll(async () => (await approvals.list({ status: 'pending' })).length).toBe(3)
    const asked = (await approvals.list()).find(({ request }) => request.apiName === 'delete_order')
    await approvals.respond(asked?.request.id as string, { decision: 'reject', reason: 'enough', stop: true })
    expect((await first).state).toBe('rejected')
    expect(await own).toMatchObject({ state: 'denied', code: 'rejected', reason: 'enough' })
    expect(await nested).toMatchObject({ state: 'denied' })
    await expect.poll(() => statuses(approvals)).toEqual(['cancelled', 'cancelled', 'answered'])
    expect(await call({}, 'late', 'late')).toMatchObject({ code: 'rejected', reason: 'enough' })
    expect(await approvals.list()).toHaveLength(3)
  })

  it('does not let a sub-agent that outlives it ask', async () => {
    const { approvals, dispatcher, op } = desk()
    let child: Operation | undefined
    await op.callAgent({ agentName: 'a', instruction: 'i' }, (parent) => {
      child = dispatcher.startOperation({ parent })
    })
    await op.complete()
    expect(await child?.toolCall({ apiName: 't', args: {} }, () => 1)).toMatchObject({ state: 'denied' })
    expect(await approvals.list()).toEqual([])
  })
})

it('ends with its desk, where that is closed, and not with the patience for a store that is away', async () => {
  const { approvals, call } = desk({ store: sqliteStore({ path: `${folder()}/a.db` }) })
  const outcome = call()
  await pending(approvals)
  await approvals.close()
  const closedAt = performance.now()
  expect(await outcome).toMatchObject({ state: 'denied', code: 'approval_error' })
  expect(performance.now() - closedAt).toBeLessThan(15_000)
})

it('is not idle while it waits for a human', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const approvals = createApprovals()
  const dispatcher = new HookDispatcher({ idleTimeoutMs: 40 })
  dispatcher.use(approvals)
  dispatcher.use({ name: 'human', gates: [requireHuman()] })
  const op = dispatcher.startOperation({})
  const outcome = op.callAgent({ agentName: 'a', instruction: 'i' }, (parent) =>
    dispatcher.startOperation({ parent }).toolCall({ apiName: 't', args: {} }, () => 1),
  )
  await vi.advanceTimersByTimeAsync(200)
  await answer(approvals, { decision: 'approve' })
  expect(await outcome).toMatchObject({ state: 'completed' })
  expect(op.ended).toBe(false)
})

const SAID: Record<string, ApprovalAnswer> = {
  t1: { decision: 'approve', alwaysAllow: true },
  t2: { decision: 'reject' },
  t3: { decision: 'edit', args: { edited: true } },
}

describe('a run that is parked', () => {
  async function parkedRun(path: string, end: (op: Operation) => ParkedOperation | Promise<unknown>) {
    const { approvals, dispatcher, op } = desk({ store: sqliteStore({ path }), mode: 'park' })
    await op.step(async (step) => {
      await step.toolCall({ apiName: 'own', args: {}, toolCallId: 'own' }, () => 1)
      await step.callAgent({ agentName: 'helper', instruction: 'i' }, async (parent) => {
        const child = dispatcher.startOperation({ parent })
        await child.toolCall({ apiName: 'nested', args: {} }, () => 1)
        child.park({ waitingFor: 'human' })
        return { status: 'waiting_for_human' }
      })
    })
    const ended = await end(op)
    await approvals.close()
    return ended
  }

  it('keeps its requests, and cancels them when it ends instead, sub-agents included', async () => {
    const path = `${folder()}/a.db`
    await parkedRun(path, (op) => op.complete())
    expect(await statuses(createApprovals({ store: sqliteStore({ path }) }))).toEqual([
      'cancelled',
      'cancelled',
    ])
  })

  it('cancels, in the process that resumed it, what it did not ask again when it ended', async () => {
    const path = `${folder()}/a.db`
    const parked = await parkedRun(path, (op) => op.park({ waitingFor: 'human' }))
    const approvals = createApprovals({ store: sqliteStore({ path }), mode: 'park' })
    const dispatcher = new HookDispatcher()
    dispatcher.use(approvals)
    expect(await statuses(approvals)).toEqual(['pending', 'pending'])
    const resume = JSON.parse(JSON.stringify(parked)) as ParkedOperation
    await dispatcher.startOperation({ resume }).fail(new Error('no'))
    await expect.poll(() => statuses(approvals)).toEqual(['cancelled', 'cancelled'])
  })

  it.each([
    [{ decision: 'approve' }, { state: 'completed', result: { id: 1 } }],
    [
      { decision: 'reject', reason: 'not her' },
      { state: 'rejected', code: 'rejected', reason: 'not her' },
    ],
    [
      { decision: 'edit', args: { id: 2 } },
      { state: 'denied', code: 'approval_mismatch' },
    ],
  ] as const)(
    'holds a call to what a human said of it, where the gate that asked is gone: %j',
    async (said, state) => {
      const path = `${folder()}/a.db`
      const call = { apiName: 'delete_order', args: { id: 1 }, toolCallId: 't1' }
      const before = desk({ store: sqliteStore({ path }), mode: 'park' })
      await before.op.step((step) => step.toolCall(call, (args) => args))
      const { id } = await pending(before.approvals)
      const resume = before.op.park({ waitingFor: 'human' })
      await before.approvals.respond(id, said)
      await before.approvals.close()
      const approvals = createApprovals({ store: sqliteStore({ path }), mode: 'park' })
      onTestFinished(() => approvals.close())
      const dispatcher = new HookDispatcher()
      dispatcher.use(approvals)
      const op = dispatcher.startOperation({ resume: JSON.parse(JSON.stringify(resume)) })
      expect(await op.step((step) => step.toolCall(call, (args) => args))).toMatchObject(state)
      await op.complete()
    },
  )

  it('takes no yes for that of others, whom the gate wants asked now', async () => {
    const path = `${folder()}/a.db`
    const before = desk({ store: sqliteStore({ path }), mode: 'park' })
    await before.call()
    const { id } = await pending(before.approvals)
    const resume = JSON.parse(JSON.stringify(before.op.park({ waitingFor: 'human' })))
    await before.approvals.respond(id, { decision: 'approve', approver: 'clerk' })
    await before.approvals.close()
    const approvals = createApprovals({ store: sqliteStore({ path }), pollMs: 10 })
    onTestFinished(() => approvals.close())
    const dispatcher = new HookDispatcher()
    dispatcher.use(approvals)
    dispatcher.use({ name: 'human', gates: [requireHuman({ approvers: ['boss'] })] })
    const op = dispatcher.startOperation({ resume })
    const ran: unknown[] = []
    const call = { apiName: 'delete_order', args: { id: 1 }, toolCallId: 't1' }
    const outcome = op.toolCall(call, (args) => ran.push(args))
    const asked = await pending(approvals)
    expect(asked).toMatchObject({ approvers: ['boss'], args: { id: 1 } })
    expect(ran).toEqual([])
    await approvals.respond(asked.id, { decision: 'approve', approver: 'boss' })
    expect(await outcome).toMatchObject({ state: 'completed' })
    await op.complete()
  })

  it.each([
    [{ decision: 'edit', args: { id: 9 } }, { state: 'denied', code: 'approval_error' }, []],
    [{ decision: 'approve' }, { state: 'completed' }, [{ id: 1 }]],
    [{ decision: 'reject' }, { state: 'rejected' }, []],
  ] as const)('is held to what the gate lets humans answer now: %j', async (answer, outcome, ran) => {
    const path = `${folder()}/a.db`
    const before = desk({ store: sqliteStore({ path }), mode: 'park' })
    await before.call()
    const { id } = await pending(before.approvals)
    const resume = JSON.parse(JSON.stringify(before.op.park({ waitingFor: 'human' })))
    await before.approvals.respond(id, answer)
    await before.approvals.close()
    const dispatcher = new HookDispatcher()
    const approvals = createApprovals({ store: sqliteStore({ path }), pollMs: 10 })
    onTestFinished(() => approvals.close())
    dispatcher.use(approvals)
    dispatcher.use({ name: 'human', gates: [requireHuman({ allow: ['approve', 'reject'] })] })
    const op = dispatcher.startOperation({ resume })
    const args: unknown[] = []
    const call = { apiName: 'delete_order', args: { id: 1 }, toolCallId: 't1' }
    expect(await op.toolCall(call, (given) => args.push(given))).toMatchObject(outcome)
    expect(args).toEqual(ran)
    await op.complete()
  })

  it.each([
    ['saved before it asked', 'delete_folder', 'local', 'checkpoint'],
    ['saved before it asked', 'delete_order', 'production', 'checkpoint'],
    ['parked', 'delete_order', 'production', 'park'],
  ] as const)(
    'takes no yes to one tool for another, where its code is another: %s, now %s of %s',
    async (_when, apiName, identifier, how) => {
      const path = `${folder()}/a.db`
      const before = desk({ store: sqliteStore({ path }), mode: 'park' })
      const saved = before.op.checkpoint()
      await before.call()
      const { id } = await pending(before.approvals)
      const resume = how === 'park' ? before.op.park({ waitingFor: 'human' }) : saved
      await before.approvals.respond(id, { decision: 'approve' })
      await before.approvals.close()
      const dispatcher = elsewhere(path)
      const op = dispatcher.startOperation({ resume: JSON.parse(JSON.stringify(resume)) })
      const call = { apiName, identifier, args: { id: 1 }, toolCallId: 't1' }
      expect(await op.toolCall(call, () => 'deleted')).toMatchObject({
        state: 'denied',
        code: 'approval_mismatch',
        reason: expect.stringContaining(`now it is "${apiName}" of "${identifier}"`),
      })
      await op.complete()
    },
  )

  it('runs what a human saw, whatever the saved state says that was', async () => {
    const path = `${folder()}/a.db`
    const before = desk({ store: sqliteStore({ path }), mode: 'park' })
    await before.call({ id: 1 })
    const { id } = await pending(before.approvals)
    const parked = JSON.stringify(before.op.park({ waitingFor: 'human' }))
    await before.approvals.respond(id, { decision: 'approve' })
    await before.approvals.close()
    const dispatcher = elsewhere(path)
    const resume = JSON.parse(parked.replace('"args":{"id":1}', '"args":{"id":666}'))
    expect(resume.waiting[0].request.args).toEqual({ id: 666 })
    const op = dispatcher.startOperation({ resume })
    const call = { apiName: 'delete_order', args: { id: 1 }, toolCallId: 't1' }
    expect(await op.toolCall(call, (args) => args)).toMatchObject({ state: 'completed', result: { id: 1 } })
    await op.complete()
  })

  it('holds each call to its own answer, where another of its batch was answered for all further ones', async () => {
    const path = `${folder()}/a.db`
    const calls = ['t1', 't2', 't3', 't4'].map((toolCallId) => ({
      apiName: 'delete_order',
      args: { toolCallId },
      toolCallId,
    }))
    const before = desk({ store: sqliteStore({ path }), mode: 'park' })
    await before.op.step((step) => Promise.all(calls.map((call) => step.toolCall(call, (args) => args))))
    for (const { request } of await before.approvals.list({ status: 'pending' })) {
      const said = SAID[request.toolCallId]
      if (said !== undefined) await before.approvals.respond(request.id, said)
    }
    const resume = before.op.park({ waitingFor: 'human' })
    await before.approvals.close()
    const dispatcher = elsewhere(path)
    const op = dispatcher.startOperation({ resume: JSON.parse(JSON.stringify(resume)) })
    const outcomes: object[] = []
    for (const call of calls) outcomes.push(await op.toolCall(call, (args) => args))
    expect(outcomes).toMatchObject([
      { state: 'completed', result: { toolCallId: 't1' } },
      { state: 'rejected' },
      { state: 'completed', result: { edited: true } },
      // Nobody has said anything of it, and now nobody needs to.
      { state: 'completed', result: { toolCallId: 't4' } },
    ])
    await op.complete()
  })

  it('holds a call to a no that came while its process was dead, whatever is allowed since', async () => {
    const before = desk({ mode: 'park' })
    await before.op.step((step) => step.toolCall({ apiName: 'delete', args: {}, toolCallId: 't1' }, () => 1))
    const asked = await pending(before.approvals)
    const resume = before.op.park({ waitingFor: 'human' })
    /** One process goes on: asks about another call, and may die then. */
    const goOn = async (first: ApprovalAnswer, second?: ApprovalRequest) => {
      const approvals = createApprovals({ mode: 'park' })
      await approvals.store.add(asked)
      await approvals.respond(asked.id, first)
      if (second !== undefined) {
        await approvals.store.add(second)
        await approvals.respond(second.id, { decision: 'reject' })
      }
      const dispatcher = new HookDispatcher()
      dispatcher.use(approvals)
      dispatcher.use({ name: 'human', gates: [requireHuman()] })
      const op = dispatcher.startOperation({ resume: JSON.parse(JSON.stringify(resume)) })
      await op.toolCall({ apiName: 'delete', args: {}, toolCallId: 't1' }, () => 1)
      const { state } = await op.toolCall({ apiName: 'delete', args: {}, toolCallId: 't2' }, () => 2)
      return { state, approvals }
    }
    const died = await goOn({ decision: 'approve' })
    expect(died.state).toBe('waiting')
    const again = await goOn({ decision: 'approve', alwaysAllow: true }, await pending(died.approvals))
    expect(again.state).toBe('rejected')
  })

  it('lets an agent that is resumed under an aborted signal leave nothing open', async () => {
    const approvals = createApprovals({ mode: 'park' })
    const tool = {
      name: 'delete',
      parameters: { type: 'object' },
      needsApproval: true,
      execute: () => 'deleted',
    }
    const helper: Agent = { name: 'helper', model: 'm', tools: [tool] }
    const agent: Agent = { name: 'boss', model: 'm', tools: [tool], subAgents: [helper] } as Agent
    const client = statelessModel((messages, { tools = [] }) =>
      messages.some((message) => message.role === 'tool')
        ? { content: 'done' }
        : {
            calls: (tools as { function: { name: string } }[]).map((one, i) => ({
              id: `c${i}`,
              name: one.function.name,
              args: { instruction: 'i' },
            })),
          },
    )
    const dispatcher = new HookDispatcher()
    dispatcher.use(approvals)
    const options = { agent, client, dispatcher, priceOf: () => 0 }
    const run = await execAgent({ ...options, prompt: 'delete all' })
    expect([run.status, await statuses(approvals)]).toEqual(['waiting_for_human', ['pending', 'pending']])
    const state = JSON.parse(JSON.stringify(run.state)) as SavedRun
    const ended = await resumeAgent({ ...options, state, signal: AbortSignal.abort(new Error('enough')) })
    expect(ended.status).toBe('interrupted')
    await expect.poll(() => statuses(approvals)).toEqual(['cancelled', 'cancelled'])
  })

  it('leaves nothing open that a process asked just before it died, once the run has ended elsewhere', async () => {
    const approvals = createApprovals({ mode: 'park' })
    const dispatcher = new HookDispatcher()
    dispatcher.use(approvals)
    const client = statelessModel(() => ({ calls: [{ id: 'c', name: 'delete', args: {} }] }))
    const agent: Agent = {
      name: 'boss',
      model: 'm',
      tools: [{ name: 'delete', needsApproval: true, execute: () => 'deleted' }],
    }
    const options = { agent, client, dispatcher, priceOf: () => 0 }
    const checkpoint = new KeptRuns()
    const records: string[] = []
    checkpoint.onAppend = ({ record }) => void records.push(record)
    await execAgent({ ...options, prompt: 'delete', checkpoint, operationId: 'run-1' })
    expect(await statuses(approvals)).toEqual(['pending'])
    // The last record, which says what was asked, never came to be.
    const kept = KeptRuns.after(records.slice(0, 2), 'run-1')
    const signal = AbortSignal.abort(new Error('enough'))
    const rest = await resumeAgent({ ...options, checkpoint: kept, operationId: 'run-1', signal })
    expect([rest.reason, await statuses(approvals)]).toEqual(['interrupted', ['cancelled']])
  })

  it('ends also where its requests cannot be closed, and says so', async () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    const approver = {
      requestApproval: async () => ({ decision: 'park' as const }),
      withdrawRun: () => Promise.reject(new Error('the store is away')),
    }
    const agent: Agent = { name: 'boss', model: 'm' }
    const options = { agent, approver, client: statelessModel(() => ({ content: 'ok' })), priceOf: () => 0 }
    const checkpoint = new KeptRuns()
    const records: string[] = []
    checkpoint.onAppend = ({ record }) => void records.push(record)
    await execAgent({ ...options, prompt: 'go', checkpoint, operationId: 'run-2' })
    const kept = KeptRuns.after(records.slice(0, 1), 'run-2')
    const rest = await resumeAgent({ ...options, checkpoint: kept, operationId: 'run-2' })
    expect(rest.status).toBe('done')
    expect(warned.mock.calls.flat().join()).toMatch(/run-2.*the store is away/)
  })
})
