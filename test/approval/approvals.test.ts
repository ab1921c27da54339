import { readFileSync } from 'node:fs'
import type { HookDispatcher, HookEvent, ParkedOperation } from 'hookspan'
import {
  type AuditEntry,
  type AuditLog,
  auditLog,
  createApprovals,
  memoryStore,
  sqliteStore,
  verifyAudit,
} from 'hookspan/approval'
import { deny, type Gate, mutate, requireApproval } from 'hookspan/gates'
import { requireHuman } from 'hookspan/policies'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { answer, desk, folder, pending, request } from './support.ts'

describe('waiting for a human', () => {
  it('derives no signal at each look for an answer, of which Node 22 keeps something for as long as it waits', async () => {
    const any = vi.spyOn(AbortSignal, 'any')
    onTestFinished(() => any.mockRestore())
    const { approvals, call } = desk({ ask: { timeoutMs: 60_000 }, pollMs: 1 })
    const looks = vi.spyOn(approvals.store, 'closed')
    const outcome = call()
    const asked = await pending(approvals)
    await vi.waitFor(() => expect(looks.mock.calls.length).toBeGreaterThan(5))
    await approvals.respond(asked.id, { decision: 'approve', argsDigest: asked.argsDigest })
    expect(await outcome).toMatchObject({ state: 'completed' })
    expect(any).not.toHaveBeenCalled()
  })

  it('runs the tool once it is approved, and says who did', async () => {
    const { approvals, call, ran, events } = desk({ ask: { instructions: 'look twice', timeoutMs: 5_000 } })
    const outcome = call()
    const asked = await pending(approvals)
    expect(asked).toMatchObject({
      operationId: 'op',
      toolCallId: 't1',
      identifier: 'local',
      apiName: 'delete_order',
      args: { id: 1 },
      instructions: 'look twice',
      argsDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
      expiresAt: asked.requestedAt + 5_000,
    })
    await approvals.respond(asked.id, { decision: 'approve', approver: 'ann', argsDigest: asked.argsDigest })
    expect(await outcome).toMatchObject({ state: 'completed', result: 'deleted' })
    expect(ran).toEqual([{ id: 1 }])
    expect(events).toMatchObject([
      { hookType: 'beforeHumanIntervention', pendingTools: [{ apiName: 'delete_order' }] },
      { hookType: 'afterHumanIntervention', action: 'approve', approver: 'ann', toolCallIds: ['t1'] },
    ])
  })

  it('runs the edited arguments', async () => {
    const { approvals, call, ran, events } = desk()
    const outcome = call()
    await answer(approvals, { decision: 'edit', args: { id: 2 } })
    await outcome
    expect(ran).toEqual([{ id: 2 }])
    expect(events[1]).toMatchObject({ action: 'edit' })
  })

  it('runs the arguments as they were when they were answered with', async () => {
    const { approvals, call, ran } = desk()
    const outcome = call()
    const { id } = await pending(approvals)
    const edit = { decision: 'edit' as const, approver: 'ann', args: { id: 2 } }
    const answered = approvals.respond(id, edit)
    edit.args.id = 3
    edit.approver = 'eve'
    expect(await answered).toMatchObject({ answer: { approver: 'ann', args: { id: 2 } } })
    await outcome
    expect(ran).toEqual([{ id: 2 }])
  })

  it('does not let an edit past a gate that decided before', async () => {
    const { approvals, dispatcher, call, ran } = desk()
    dispatcher.use({
      name: 'early',
      gates: [
        {
          id: 'no-9',
          point: 'beforeToolCall',
          priority: 1,
          decide: ({ payload }) => ((payload as { id: number }).id === 9 ? deny('not 9') : undefined),
        },
      ],
    })
    const outcome = call()
    await answer(approvals, { decision: 'edit', args: { id: 9 } })
    expect(await outcome).toMatchObject({ state: 'denied', reason: 'not 9' })
    expect(ran).toEqual([])
  })

  it('asks a gate that decided before about an edit it wants a human for', async () => {
    const { approvals, dispatcher, call, ran } = desk({ ask: { instructions: 'anybody' } })
    const dear = requireHuman({
      id: 'dear',
      priority: 1,
      instructions: 'the boss',
      when: ({ payload }) => (payload as { id: number }).id > 1_000,
    })
    dispatcher.use({ name: 'early', gates: [dear] })
    const outcome = call({ id: 1 })
    await answer(approvals, { decision: 'edit', args: { id: 5_000 } })
    await expect.poll(async () => (await pending(approvals)).instructions).toBe('the boss')
    expect(await pending(approvals)).toMatchObject({ args: { id: 5_000 }, allow: ['approve', 'reject'] })
    expect(ran).toEqual([])
    await answer(approvals, { decision: 'approve' })
    await outcome
    expect(ran).toEqual([{ id: 5_000 }])
  })

  it('does not run an edit of what another human has approved as it was', async () => {
    const { approvals, dispatcher, call, ran } = desk({ ask: { instructions: 'anybody' } })
    dispatcher.use({
      name: 'early',
      gates: [requireHuman({ id: 'boss', priority: 1, instructions: 'the boss' })],
    })
    const outcome = call({ id: 1 })
    await answer(approvals, { decision: 'approve' })
    await expect.poll(async () => (await pending(approvals)).instructions).toBe('anybody')
    await answer(approvals, { decision: 'edit', args: { id: 5_000 } })
    expect(await outcome).toMatchObject({ state: 'denied', code: 'approval_mismatch' })
    expect(ran).toEqual([])
  })

  it('does not run what a gate made of the arguments after a human approved them', async () => {
    const { approvals, dispatcher, call, ran } = desk()
    const gates: Gate[] = [
      { id: 'same', point: 'beforeToolCall', decide: ({ payload }) => mutate({ ...(payload as object) }) },
      { id: 'late', point: 'beforeToolCall', decide: () => mutate({ id: 5_000 }) },
    ]
    dispatcher.use({ name: 'late', gates })
    const outcome = call({ id: 1 })
    await answer(approvals, { decision: 'approve', alwaysAllow: true })
    expect(await outcome).toMatchObject({
      state: 'denied',
      code: 'approval_mismatch',
      reason: expect.stringContaining('gate "late"'),
    })
    expect(ran).toEqual([])
    await call({ id: 1 }, 'delete_order', 't2')
    expect(ran).toEqual([{ id: 5_000 }])
  })

  it('tells the model that a human said no, and why', async () => {
    const { approvals, call, ran, events, op } = desk()
    const outcome = call()
    await answer(approvals, { decision: 'reject', reason: 'the customer changed her mind', approver: 'bob' })
    const settled = await outcome
    expect(settled).toMatchObject({
      state: 'rejected',
      code: 'rejected',
      reason: 'the customer changed her mind',
    })
    expect(JSON.parse(settled.toToolMessage().content)).toMatchObject({ rejected: true })
    expect(events[1]).toMatchObject({
      action: 'rejectAndContinue',
      rejectionReason: 'the customer changed her mind',
    })
    expect(op.stopRequested).toBeUndefined()
    expect(ran).toEqual([])
  })

  it('ends the run when the human says so', async () => {
    const { approvals, call, events, op } = desk()
    const outcome = call()
    await answer(approvals, { decision: 'reject', stop: true })
    expect(await outcome).toMatchObject({ state: 'rejected', stop: true })
    expect(events.map((event) => event.hookType)).toContain('onStopByHumanIntervention')
    expect(op.stopRequested).toMatchObject({ code: 'rejected' })
  })

  it('looks into the store once for all that wait, and hears of answers that nobody tells it of', async () => {
    const store = sqliteStore({ path: `${folder()}/approvals.db` })
    onTestFinished(() => store.dispose?.())
    const looks = { get: vi.spyOn(store, 'get'), closed: vi.spyOn(store, 'closed') }
    const { approvals, call } = desk({ store })
    const outcomes = Array.from({ length: 50 }, (_, id) => call({ id }, 'delete_order', `t${id}`))
    await vi.waitFor(async () => expect(await store.list({ status: 'pending' })).toHaveLength(50))
    await vi.waitFor(() => expect(looks.closed.mock.lastCall?.[0]).toHaveLength(50))
    const before = { get: looks.get.mock.calls.length, closed: looks.closed.mock.calls.length }
    await vi.waitFor(() => expect(looks.closed.mock.calls.length).toBeGreaterThan(before.closed + 10))
    expect(looks.get.mock.calls.length).toBe(before.get)
    // Past the desk, as another process does it.
    for (const { request } of await store.list({ status: 'pending' }))
      await store.answer(request.id, { decision: 'approve' }, Date.now())
    expect(new Set((await Promise.all(outcomes)).map(({ state }) => state))).toEqual(new Set(['completed']))
    await approvals.close()
  })

  it('hears of them where the store says it of one at a time, and where it fails to say it of all', async () => {
    const broken = async () => {
      throw new Error('no such command')
    }
    for (const closed of [undefined, broken]) {
      const { watch: _, closed: __, ...store } = memoryStore()
      const { approvals, call } = desk({ store: { ...store, ...(closed && { closed }) } })
      const outcome = call()
      await store.answer((await pending(approvals)).id, { decision: 'approve' }, Date.now())
      expect((await outcome).state).toBe('completed')
    }
  })

  it('ends the wait where the clock is set forward past its end', async () => {
    const { approvals, call, ran } = desk({ ask: { timeoutMs: 3_600_000 } })
    const outcome = call()
    await pending(approvals)
    const { now } = Date
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 86_400_000)
    onTestFinished(() => clock.mockRestore())
    expect(await outcome).toMatchObject({ state: 'denied', code: 'approval_timeout' })
    expect(ran).toEqual([])
  })

  it('denies when nobody answers in time, and takes no answer after that', async () => {
    const { approvals, call, events } = desk({ ask: { timeoutMs: 300 } })
    const outcome = call()
    const { id } = await pending(approvals)
    expect(await outcome).toMatchObject({ state: 'denied', code: 'approval_timeout' })
    expect(events[1]).toMatchObject({ action: 'timeout' })
    await expect(approvals.respond(id, { decision: 'approve' })).rejects.toMatchObject({
      code: 'APPROVAL_EXPIRED',
    })
    expect((await approvals.get(id))?.status).toBe('expired')
  })

  it('ends the wait in time where the clock is set back meanwhile', async () => {
    const { approvals, call, ran } = desk({ defaultTimeoutMs: 200 })
    const outcome = call()
    const { id } = await pending(approvals)
    const { now } = Date
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - 86_400_000)
    onTestFinished(() => clock.mockRestore())
    const reason = expect.stringContaining(`request "${id}" expired 0 ms ago`)
    expect(await outcome).toMatchObject({ state: 'denied', code: 'approval_timeout', reason })
    expect((await approvals.get(id))?.status).toBe('expired')
    expect(ran).toEqual([])
  })

  it('counts an answer that was given in time and read late', async () => {
    const { approvals, call } = desk({ ask: { timeoutMs: 400 }, pollMs: 10_000 })
    const outcome = call()
    const { id } = await pending(approvals)
    // Past the desk, as another process does it.
    await approvals.store.answer(id, { decision: 'approve' }, Date.now())
    expect((await outcome).state).toBe('completed')
  })

  it('waits as long as the approver does where the gate sets no limit', async () => {
    const store = sqliteStore({ path: `${folder()}/approvals.db` })
    const { approvals, call } = desk({ store, ask: { timeoutMs: Number.POSITIVE_INFINITY } })
    const outcome = call()
    await answer(approvals, { decision: 'approve' })
    expect((await outcome).state).toBe('completed')
    await approvals.close()
  })

  it('cancels the request when the run is aborted', async () => {
    const controller = new AbortController()
    const { approvals, dispatcher } = desk()
    const op = dispatcher.startOperation({ signal: controller.signal })
    const outcome = op.toolCall({ apiName: 't', args: {} }, () => 1)
    const { id } = await pending(approvals)
    controller.abort(new Error('stop'))
    expect((await outcome).state).toBe('denied')
    await expect.poll(async () => (await approvals.get(id))?.status).toBe('cancelled')
    await expect(approvals.respond(id, { decision: 'approve' })).rejects.toMatchObject({
      code: 'APPROVAL_ANSWERED',
    })
  })

  it('settles each call of a batch by itself', async () => {
    const { approvals, call } = desk()
    const outcomes = Promise.all([1, 2, 3].map((id) => call({ id }, 'delete_order', 'same-id')))
    await expect.poll(async () => (await approvals.list()).length).toBe(3)
    const asked = (await approvals.list()).map((record) => record.request)
    const by = (id: number) => asked.find((one) => (one.args as { id: number }).id === id)?.id as string
    await approvals.respond(by(3), { decision: 'approve' })
    await approvals.respond(by(1), { decision: 'reject' })
    await approvals.respond(by(2), { decision: 'edit', args: { id: 20 } })
    expect((await outcomes).map((outcome) => outcome.state)).toEqual(['rejected', 'completed', 'completed'])
  })

  it('asks for each of two gates of the same id, and takes no answer to one for the other', async () => {
    const { approvals, call, dispatcher, ran } = desk({ ask: { instructions: 'anybody' } })
    dispatcher.use({
      name: 'strict',
      gates: [requireHuman({ approvers: ['boss'], instructions: 'the boss' })],
    })
    const outcome = call()
    await answer(approvals, { decision: 'approve', approver: 'intern', alwaysAllow: true })
    await expect.poll(async () => (await pending(approvals)).instructions).toBe('the boss')
    expect(ran).toEqual([])
    await answer(approvals, { decision: 'approve', approver: 'boss' })
    expect((await outcome).state).toBe('completed')
    const again = call({ id: 2 }, 'delete_order', 't2')
    await expect.poll(async () => (await pending(approvals)).instructions).toBe('the boss')
    await answer(approvals, { decision: 'reject', approver: 'boss' })
    expect((await again).state).toBe('rejected')
  })

  it('asks no more about the tool for the rest of the run once it is always allowed', async () => {
    const { approvals, call, op, dispatcher } = desk()
    const first = call()
    await answer(approvals, { decision: 'approve', alwaysAllow: true })
    await first
    expect((await call({ id: 7 })).state).toBe('completed')
    const nested = await op.callAgent({ agentName: 'a', instruction: 'i' }, (parent) =>
      dispatcher.startOperation({ parent }).toolCall({ apiName: 'delete_order', args: {} }, () => 1),
    )
    expect(nested.state).toBe('completed')
    expect(await approvals.list()).toHaveLength(1)
    const other = call({}, 'send_mail')
    await answer(approvals, { decision: 'reject' })
    expect((await other).state).toBe('rejected')
  })

  it('asks whom else the same gate wants to ask, for what nobody may say yes to, and at its other point', async () => {
    const { approvals, dispatcher } = desk()
    const clerk = { approvers: ['clerk', 'boss'] }
    const gate: Gate = {
      id: 'sums',
      point: ['beforeToolCall', 'afterToolCall'],
      decide({ point, payload }) {
        if (point === 'afterToolCall') return requireApproval(clerk)
        const { sum } = payload as { sum: number }
        if (sum > 1_000) return requireApproval({ ...clerk, allow: ['edit', 'reject'] })
        return requireApproval(sum > 100 ? { approvers: ['boss'] } : clerk)
      },
    }
    dispatcher.use({ name: 'sums', gates: [gate] })
    const op = dispatcher.startOperation({ disable: ['require-human'] })
    const ran: unknown[] = []
    const refund = (sum: number) =>
      op.toolCall({ apiName: 'refund', args: { sum } }, (args) => void ran.push(args))
    const always = { decision: 'approve', approver: 'clerk', alwaysAllow: true } as const
    const first = refund(10)
    await answer(approvals, always)
    await expect.poll(async () => (await pending(approvals)).point).toBe('afterToolCall')
    await answer(approvals, always)
    expect((await first).state).toBe('completed')
    expect((await refund(20)).state).toBe('completed')
    for (const sum of [500, 5_000]) {
      const outcome = refund(sum)
      await answer(approvals, { decision: 'reject', approver: 'boss' })
      expect((await outcome).state).toBe('rejected')
    }
    expect(ran).toEqual([{ sum: 10 }, { sum: 20 }])
  })

  it('shows the requests of nested agents at the root', async () => {
    const { approvals, op, dispatcher } = desk()
    const done = op.callAgent({ agentName: 'helper', instruction: 'i' }, (parent) =>
      dispatcher
        .startOperation({ parent, agentName: 'helper' })
        .toolCall({ apiName: 'delete_order', args: {} }, () => 1),
    )
    const asked = await pending(approvals)
    expect(asked).toMatchObject({ agentName: 'helper', rootOperationId: 'op' })
    expect(await approvals.list({ rootOperationId: 'op' })).toHaveLength(1)
    await approvals.respond(asked.id, { decision: 'approve' })
    expect((await done).state).toBe('completed')
  })

  it('asks about whatever a gate decides on', async () => {
    const { approvals, dispatcher } = desk()
    dispatcher.use({
      name: 'llm',
      gates: [requireHuman({ id: 'llm', point: ['beforeLlmCall', 'afterStep'] })],
    })
    const op = dispatcher.startOperation()
    const run = op.step((step) => step.llmCall({ model: 'm', request: { messages: [] } }, () => ({ ok: 1 })))
    expect(await pending(approvals)).toMatchObject({
      point: 'beforeLlmCall',
      apiName: 'm',
      args: { messages: [] },
    })
    await answer(approvals, { decision: 'approve' })
    expect(await pending(approvals)).toMatchObject({ point: 'afterStep' })
    await answer(approvals, { decision: 'reject', reason: 'enough' })
    expect(await run).toEqual({ ok: 1 })
    expect(op.stopRequested).toMatchObject({ code: 'rejected', reason: 'enough' })
  })
})

describe('answers', () => {
  it('are refused for an unknown request, other arguments, a wrong approver or a decision that is not allowed', async () => {
    const { approvals, call } = desk({ ask: { approvers: ['ann'], allow: ['approve', 'reject'] } })
    const outcome = call()
    const { id } = await pending(approvals)
    const fails = async (target: string, given: object, code: string) =>
      expect(approvals.respond(target, given as never)).rejects.toMatchObject({ code })
    await fails('apr_none', { decision: 'approve' }, 'APPROVAL_NOT_FOUND')
    await fails(id, { decision: 'approve', approver: 'ann', argsDigest: 'f'.repeat(64) }, 'APPROVAL_MISMATCH')
    await fails(id, { decision: 'approve', approver: 'bob' }, 'APPROVAL_NOT_ALLOWED')
    await fails(id, { decision: 'approve' }, 'APPROVAL_NOT_ALLOWED')
    await fails(id, { decision: 'edit', approver: 'ann', args: {} }, 'APPROVAL_NOT_ALLOWED')
    await fails(id, { decision: 'yes', approver: 'ann' }, 'INVALID_ANSWER')
    await fails(id, { decision: 'approve', approver: 'ann', args: {} }, 'INVALID_ANSWER')
    await fails(id, { decision: 'approve', approver: 'ann', force: true }, 'INVALID_ANSWER')
    await approvals.respond(id, { decision: 'approve', approver: 'ann' })
    await fails(id, { decision: 'reject', approver: 'ann' }, 'APPROVAL_ANSWERED')
    expect((await outcome).state).toBe('completed')
  })

  it.each(['', ' \t'])('are refused where they are in the name of %j, which nobody has', async (approver) => {
    const { approvals, call } = desk()
    const outcome = call()
    const { id } = await pending(approvals)
    await expect(approvals.respond(id, { decision: 'approve', approver })).rejects.toMatchObject({
      code: 'INVALID_ANSWER',
      message: expect.stringContaining('expected `approver` to say who answers'),
    })
    await approvals.respond(id, { decision: 'approve' })
    expect((await outcome).state).toBe('completed')
  })

  it('are written to the audit log with whatever was refused', async () => {
    const path = `${folder()}/audit.jsonl`
    const { approvals, call } = desk({ audit: auditLog({ path }) })
    const outcome = call()
    const { id } = await pending(approvals)
    await expect(approvals.respond(id, { decision: 'approve', argsDigest: 'x' })).rejects.toThrow()
    await approvals.respond(id, { decision: 'approve', approver: 'ann' })
    await outcome
    await expect(approvals.respond(id, { decision: 'reject', approver: 'eve' })).rejects.toThrow()
    await expect(approvals.respond('apr_none', { decision: 'approve' })).rejects.toThrow()
    expect(verifyAudit({ path })).toMatchObject({ ok: true, entries: 7 })
    const refused = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditEntry)
    expect(refused.filter(({ event }) => event === 'refused')).toMatchObject(
      [
        {
          requestId: id,
          code: 'APPROVAL_MISMATCH',
          decision: 'approve',
          problem: /for other arguments: expected digest \w+$/,
        },
        {
          requestId: id,
          code: 'APPROVAL_ANSWERED',
          decision: 'reject',
          approver: 'eve',
          problem: /already by ann/,
        },
        { requestId: 'apr_none', code: 'APPROVAL_NOT_FOUND', problem: /There is no approval request/ },
      ].map((one) => ({ ...one, problem: expect.stringMatching(one.problem) })),
    )
  })
})

it('leaves no timer that holds up the process once it is closed', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  await createApprovals().close()
  expect(timers()).toBe(before)
})

it('takes an answer that has come in when it closes, and writes down how the tool ended', async () => {
  const path = `${folder()}/approvals.db`
  const written = Promise.withResolvers<void>()
  const audit: AuditLog = {
    append: ({ event }) => (event === 'requested' ? Promise.resolve() : written.promise),
  }
  const { approvals } = desk({ store: sqliteStore({ path }), audit })
  await approvals.store.add(request('r1'))
  await approvals.store.add(request('r2'))
  await approvals.store.answer('r2', { decision: 'approve' }, Date.now())
  const answered = approvals.respond('r1', { decision: 'approve' })
  const claimed = approvals.approver.ledger?.claim('r2')
  const closed = approvals.close()
  await new Promise((resolve) => setImmediate(resolve))
  written.resolve()
  expect(await answered).toMatchObject({ status: 'answered' })
  expect(await claimed).toEqual({ state: 'run' })
  await closed
  const store = sqliteStore({ path })
  onTestFinished(() => store.dispose?.())
  expect(await store.get('r1')).toMatchObject({ status: 'answered' })
})

it('never lets the same approval run a tool twice', async () => {
  const store = sqliteStore({ path: `${folder()}/a.db` })
  const { approvals, call, ran } = desk({ store })
  const outcome = call()
  const { id } = await pending(approvals)
  await approvals.respond(id, { decision: 'approve' })
  await outcome
  expect(await store.claim(id)).toMatchObject({ state: 'done', result: { ok: true, value: 'deleted' } })
  expect(ran).toHaveLength(1)
})

it('parks, and finds the answer when the operation is resumed elsewhere, with each hook fired once', async () => {
  const path = `${folder()}/a.db`
  const events: string[] = []
  const ran: unknown[] = []
  const processOf = () => {
    const parts = desk({ store: sqliteStore({ path }), mode: 'park' })
    return parts.dispatcher
  }
  const hooks = [
    'beforeStep',
    'afterStep',
    'beforeToolCall',
    'afterToolCall',
    'beforeHumanIntervention',
    'afterHumanIntervention',
    'onStart',
    'onComplete',
  ] as const
  const watch = hooks.map((type) => ({ id: `w-${type}`, type, handler: () => void events.push(type) }))
  const toolCall = { toolCallId: 't', apiName: 'delete_order', args: { id: 1 } }
  const tool = (args: unknown) => {
    ran.push(args)
    return 'deleted'
  }
  const first = processOf().startOperation({ operationId: 'run', hooks: watch })
  const other = first.step(async (step) => {
    await step.toolCall({ ...toolCall, toolCallId: 'x', apiName: 'other' }, tool)
    return step.toolCall(toolCall, tool)
  })
  expect((await other).state).toBe('waiting')
  const parked = JSON.parse(JSON.stringify(first.park({ waitingFor: 'human' })))
  expect(parked.waiting).toHaveLength(2)
  expect(ran).toEqual([])
  const store = sqliteStore({ path })
  // Both may have been asked within one millisecond.
  const asked = new Map((await store.list()).map(({ request }) => [request.toolCallId, request.id]))
  expect(asked.size).toBe(2)
  await store.answer(asked.get('x') as string, { decision: 'approve' }, Date.now())
  await store.answer(asked.get('t') as string, { decision: 'reject', reason: 'no' }, Date.now())
  const second = processOf().startOperation({ resume: parked, hooks: watch })
  const outcomes = await second.step(async (step) => [
    await step.toolCall({ ...toolCall, toolCallId: 'x', apiName: 'other' }, tool),
    await step.toolCall(toolCall, tool),
  ])
  await second.complete()
  expect(outcomes.map((outcome) => outcome.state)).toEqual(['completed', 'rejected'])
  expect(ran).toEqual([{ id: 1 }])
  const count = (type: string) => events.filter((event) => event === type).length
  expect(hooks.map((type) => [type, count(type)])).toEqual([
    ['beforeStep', 1],
    ['afterStep', 1],
    ['beforeToolCall', 2],
    ['afterToolCall', 2],
    ['beforeHumanIntervention', 2],
    ['afterHumanIntervention', 2],
    ['onStart', 1],
    ['onComplete', 1],
  ])
})

it('tells once of each of two humans whom one call waits for in turn', async () => {
  const path = `${folder()}/a.db`
  const events: string[] = []
  const ran: unknown[] = []
  const note = (type: 'beforeHumanIntervention' | 'afterHumanIntervention') => ({
    id: type,
    type,
    handler: (event: HookEvent) => void events.push(`${event.sequence} ${type}`),
  })
  const hooks = [note('beforeHumanIntervention'), note('afterHumanIntervention')]
  let parked: ParkedOperation | undefined
  let state = ''
  for (const given of [
    undefined,
    { decision: 'edit', args: { id: 2 }, alwaysAllow: true },
    { decision: 'approve' },
  ]) {
    const { approvals, dispatcher } = desk({ store: sqliteStore({ path }), mode: 'park', ask: {} })
    dispatcher.use({ name: 'second', gates: [requireHuman({ id: 'second' })] })
    if (given !== undefined) await answer(approvals, given as never)
    const op = dispatcher.startOperation({
      operationId: 'run',
      hooks,
      ...(parked && { resume: JSON.parse(JSON.stringify(parked)) }),
    })
    const outcome = await op.toolCall(
      { apiName: 'delete_order', args: { id: 1 }, toolCallId: 't1' },
      (args) => {
        ran.push(args)
      },
    )
    state = outcome.state
    if (state === 'waiting') parked = op.park({ waitingFor: 'human' })
    else await op.complete()
    await dispatcher.drain()
    await approvals.close()
  }
  expect(state).toBe('completed')
  expect(ran).toEqual([{ id: 2 }])
  expect(events.map((event) => event.split(' ')[1])).toEqual([
    'beforeHumanIntervention',
    'afterHumanIntervention',
    'beforeHumanIntervention',
    'afterHumanIntervention',
  ])
})

it('asks about a result apart from its arguments where one gate does both', async () => {
  const { approvals, dispatcher, op } = desk()
  dispatcher.use({
    name: 'both',
    gates: [requireHuman({ id: 'both', point: ['beforeToolCall', 'afterToolCall'], match: 'echo' })],
  })
  const outcome = op.toolCall({ apiName: 'echo', args: { id: 1 } }, (args) => args)
  for (const gateId of ['require-human', 'both', 'both']) {
    expect(await pending(approvals)).toMatchObject({ gateId })
    await answer(approvals, { decision: 'approve' })
  }
  expect((await outcome).state).toBe('completed')
})

it('refuses an answer for a call that changed while the run was parked', async () => {
  const path = `${folder()}/a.db`
  const dispatcherOf = () => desk({ store: sqliteStore({ path }), mode: 'park' }).dispatcher as HookDispatcher
  const call = { toolCallId: 't', apiName: 'pay', args: { amount: 1 } }
  const first = dispatcherOf().startOperation({ operationId: 'run' })
  await first.step((step) => step.toolCall(call, () => 1))
  const parked = first.park({ waitingFor: 'human' })
  const store = sqliteStore({ path })
  const [record] = await store.list()
  await store.answer(record?.request.id as string, { decision: 'approve' }, Date.now())
  const second = dispatcherOf().startOperation({ resume: parked })
  const outcome = await second.step((step) => step.toolCall({ ...call, args: { amount: 1_000 } }, () => 1))
  expect(outcome).toMatchObject({ state: 'denied', code: 'approval_mismatch' })
})

it('asks again once a store that could not be watched can be', async () => {
  let isMended = false
  const watch = async () => {
    if (!isMended) throw new Error('no permission for this channel')
    return () => {}
  }
  const { approvals, call } = desk({ store: { ...memoryStore(), watch } })
  expect(await call()).toMatchObject({ state: 'denied', code: 'approval_error' })
  isMended = true
  const outcome = call({ id: 2 }, 'delete_order', 't2')
  const { id } = await pending(approvals)
  await approvals.respond(id, { decision: 'approve' })
  expect((await outcome).state).toBe('completed')
  await approvals.close()
})
