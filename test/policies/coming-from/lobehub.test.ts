/** LobeHub's agent-runtime hooks, in our form. `docs/coming-from.md` names each test. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HOOK_TYPES, HookDispatcher, type HookEvent, type ToolMock } from 'hookspan'
import { createApprovals } from 'hookspan/approval'
import { httpGate, requireHuman, toolPolicy, webhookHook } from 'hookspan/policies'
import { expect, it, onTestFinished } from 'vitest'
import { pending } from '../../approval/support.ts'

it('knows the sixteen hook types by their names', () => {
  expect([...HOOK_TYPES].sort()).toEqual(
    [
      'afterCallAgent',
      'afterCompact',
      'afterHumanIntervention',
      'afterStep',
      'afterToolCall',
      'beforeCallAgent',
      'beforeCompact',
      'beforeHumanIntervention',
      'beforeStep',
      'beforeToolCall',
      'onCallAgentError',
      'onCompactError',
      'onComplete',
      'onError',
      'onStopByHumanIntervention',
      'onToolCallError',
    ].sort(),
  )
})

it('mocks a tool from beforeToolCall: the first mock wins, and the others still observe', async () => {
  const seen: string[] = []
  const mock = (id: string) => ({
    id,
    type: 'beforeToolCall' as const,
    handler: (event: HookEvent<'beforeToolCall'>) => {
      seen.push(id)
      event.mock({ content: id })
    },
  })
  const op = new HookDispatcher().startOperation({ hooks: [mock('a'), mock('b')] })
  expect(await op.toolCall({ apiName: 't', args: {} }, () => 'real')).toMatchObject({
    state: 'mocked',
    result: 'a',
  })
  expect(seen).toEqual(['a', 'b'])
})

it('fires onComplete once, and not while the run waits for a human', async () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use(createApprovals({ mode: 'park' }))
  dispatcher.use({ name: 'g', gates: [requireHuman()] })
  const seen: string[] = []
  const types = ['onComplete', 'beforeHumanIntervention'] as const
  const hooks = types.map((type) => ({ id: type, type, handler: () => void seen.push(type) }))
  const op = dispatcher.startOperation({ hooks })
  await op.step((step) => step.toolCall({ apiName: 't', args: {} }, () => 1))
  op.park({ waitingFor: 'human' })
  expect(seen).toEqual(['beforeHumanIntervention'])
})

it('rejects and halts, with onStopByHumanIntervention', async () => {
  const approvals = createApprovals({ pollMs: 5 })
  const dispatcher = new HookDispatcher()
  dispatcher.use(approvals)
  dispatcher.use({ name: 'g', gates: [requireHuman()] })
  const seen: HookEvent<'onStopByHumanIntervention'>[] = []
  const handler = (event: HookEvent<'onStopByHumanIntervention'>) => void seen.push(event)
  const op = dispatcher.startOperation({ hooks: [{ id: 's', type: 'onStopByHumanIntervention', handler }] })
  const outcome = op.toolCall({ apiName: 't', args: {} }, () => 1)
  await approvals.respond((await pending(approvals)).id, {
    decision: 'reject',
    reason: 'stop it',
    stop: true,
  })
  expect((await outcome).state).toBe('rejected')
  expect(seen).toMatchObject([{ reason: 'rejected', rejectionReason: 'stop it' }])
})

it('delivers a webhook, and lets an endpoint decide: failing closed', async () => {
  const got: string[] = []
  const server = createServer((request, response) => {
    got.push(request.url ?? '')
    response.writeHead(request.url === '/decide' ? 204 : 200).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const dispatcher = new HookDispatcher()
  dispatcher.use({
    name: 'g',
    gates: [
      httpGate({ id: 'g', point: 'beforeToolCall', url: `${base}/decide`, allowPrivateAddresses: true }),
    ],
  })
  const hook = webhookHook({ id: 'w', type: 'onComplete', url: `${base}/done`, allowPrivateAddresses: true })
  const op = dispatcher.startOperation({ hooks: [hook] })
  expect(await op.toolCall({ apiName: 't', args: {} }, () => 1)).toMatchObject({
    state: 'denied',
    code: 'gate_error',
  })
  await op.complete()
  await hook.flush()
  expect(got).toEqual(['/decide', '/done'])
})

it('tells a step and an error by our names', async () => {
  const seen: HookEvent[] = []
  const types = ['afterStep', 'onError', 'onComplete'] as const
  const hooks = types.map((type) => ({
    id: type,
    type,
    handler: (event: HookEvent) => void seen.push(event),
  }))
  const op = new HookDispatcher().startOperation({ hooks })
  await op.step(async (step) => {
    const tool_calls = [{ id: 'c', type: 'function', function: { name: 't', arguments: '{}' } }]
    await step.llmCall({ model: 'm', request: {} }, () => ({
      choices: [{ message: { role: 'assistant', content: null, tool_calls }, finish_reason: 'tool_calls' }],
    }))
  })
  await op.fail(new Error('boom'))
  const [step, failed, end] = seen
  expect(step).toMatchObject({ toolCalls: [{ apiName: 't', toolCallId: 'c' }] })
  expect(failed).toMatchObject({ errorMessage: 'boom', error: { message: 'boom' } })
  expect(end).toMatchObject({ totals: { llmCalls: 1 } })
  for (const name of ['toolsCalling', 'errorDetail', 'totalCost', 'lastLLMContent']) {
    for (const event of seen) expect(event).not.toHaveProperty(name)
  }
})

it('ends each call in afterToolCall or onToolCallError, never in both', async () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'g', gates: [toolPolicy({ deny: ['refused'] })] })
  const seen: string[] = []
  const types = ['afterToolCall', 'onToolCallError'] as const
  const handler = (event: HookEvent) =>
    void seen.push(`${event.hookType} ${(event as { apiName: string }).apiName}`)
  const op = dispatcher.startOperation({ hooks: types.map((type) => ({ id: type, type, handler })) })
  await op.toolCall({ apiName: 'works', args: {} }, () => 1)
  await op.toolCall({ apiName: 'throws', args: {} }, () => Promise.reject(new Error('no')))
  await op.toolCall({ apiName: 'refused', args: {} }, () => 1)
  expect(seen).toEqual(['afterToolCall works', 'onToolCallError throws', 'afterToolCall refused'])
})

it('takes its failing mock', async () => {
  const handler = (event: HookEvent<'beforeToolCall'>) =>
    event.mock({ content: 'sold out', error: { type: 'SoldOut' }, success: false })
  const seen: unknown[] = []
  const outcome = await new HookDispatcher()
    .startOperation({
      hooks: [
        { id: 'm', type: 'beforeToolCall', handler },
        {
          id: 'a',
          type: 'afterToolCall',
          handler: ({ content, success, mocked }) => void seen.push(content, success, mocked),
        },
      ],
    })
    .toolCall({ apiName: 't', args: {} }, () => 'real')
  expect(outcome.toToolMessage().content).toBe('sold out')
  expect(outcome).toMatchObject({ state: 'mocked', result: { success: false, error: { type: 'SoldOut' } } })
  expect(seen).toEqual(['sold out', false, true])
})

it('mocks a failure', async () => {
  const hook = (mock: ToolMock) => ({
    id: 'm',
    type: 'beforeToolCall' as const,
    handler: (event: HookEvent<'beforeToolCall'>) => event.mock(mock),
  })
  const call = (mock: ToolMock) =>
    new HookDispatcher().startOperation({ hooks: [hook(mock)] }).toolCall({ apiName: 't', args: {} }, () => 1)
  expect(await call({ error: 'sold out' })).toMatchObject({
    state: 'errored',
    error: { message: 'sold out' },
  })
  expect((await call({ content: 'sold out', success: false })).toToolMessage().content).toBe('sold out')
})

it('waits for a slow mock as long as its hook says, and refuses the call when it is late', async () => {
  const hooks = [
    {
      id: 'm',
      type: 'beforeToolCall' as const,
      mocks: true,
      timeoutMs: 20,
      handler: () => new Promise<void>(() => {}),
    },
  ]
  const outcome = await new HookDispatcher({ onHookError: () => {} })
    .startOperation({ hooks })
    .toolCall({ apiName: 't', args: {} }, () => 'real')
  expect(outcome).toMatchObject({ state: 'denied', code: 'mock_timeout' })
})

it('waits for a hook that does not say that it mocks, then runs the tool', async () => {
  const late = Promise.withResolvers<unknown>()
  const answer = Promise.withResolvers<void>()
  const handler = async (event: HookEvent<'beforeToolCall'>) => {
    await answer.promise
    try {
      event.mock({ content: 'late' })
      late.resolve('taken')
    } catch (error) {
      late.resolve((error as { code?: string }).code)
    }
  }
  const hooks = [{ id: 'm', type: 'beforeToolCall' as const, timeoutMs: 20, handler }]
  const onHookError = () => {}
  const outcome = await new HookDispatcher({ onHookError })
    .startOperation({ hooks })
    .toolCall({ apiName: 't', args: {} }, () => 'real')
  expect(outcome).toMatchObject({ state: 'completed', result: 'real' })
  answer.resolve()
  expect(await late.promise).toBe('MOCK_TOO_LATE')
})

it('tells of a sub-agent in afterCallAgent when it has finished', async () => {
  const seen: string[] = []
  const handler = (event: HookEvent<'afterCallAgent'>) =>
    void seen.push(`${event.agentName} ${event.content}`)
  const op = new HookDispatcher().startOperation({ hooks: [{ id: 'a', type: 'afterCallAgent', handler }] })
  const child = Promise.withResolvers<{ content: string }>()
  const called = op.callAgent({ agentName: 'researcher', instruction: 'look' }, () => child.promise)
  await new Promise(setImmediate)
  expect(seen).toEqual([])
  child.resolve({ content: 'found' })
  await called
  expect(seen).toEqual(['researcher found'])
})

it('dispatches without a throw for a handler, and takes a catch', async () => {
  const dispatcher = new HookDispatcher({ onHookError: () => {} })
  const handler = () => {
    throw new Error('of the handler')
  }
  dispatcher.register('op', [{ id: 'h', type: 'beforeStep', handler }])
  const dispatched = dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })
  await dispatched.catch(() => expect.unreachable())
})

it('matches by globs, and by regular expressions that are written as such', async () => {
  const asked: string[] = []
  const hook = (id: string, match: string | RegExp) => ({
    id,
    type: 'afterToolCall' as const,
    match,
    handler: (event: HookEvent<'afterToolCall'>) => void asked.push(`${id} ${event.apiName}`),
  })
  const op = new HookDispatcher().startOperation({
    hooks: [hook('glob', 'mail/send_*'), hook('regex', /^send_(all|one)$/)],
  })
  await op.toolCall({ apiName: 'send_all', identifier: 'mail', args: {} }, () => 1)
  expect(asked).toEqual(['glob send_all', 'regex send_all'])
  // As a text it would match nothing, and whoever wrote it would not hear of it.
  expect(() => new HookDispatcher().register('op', [hook('text', '^send_.*$')])).toThrow(
    /`match` of hook "text".*RegExp, got `"\^send_/,
  )
})

it('posts the event in an envelope, or what is selected of it', async () => {
  const bodies: Record<string, unknown>[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    bodies.push(JSON.parse(Buffer.concat(chunks).toString()))
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const shared = { type: 'onComplete', url, allowPrivateAddresses: true } as const
  const whole = webhookHook({ ...shared, id: 'whole' })
  const part = webhookHook({ ...shared, id: 'part', select: ({ reason }) => ({ reason }) })
  const op = new HookDispatcher().startOperation({ hooks: [whole, part] })
  await op.complete({ content: 'a secret' })
  await Promise.all([whole.flush(), part.flush()])
  const of = (id: string) => bodies.find((body) => String(body.id).endsWith(`.${id}`))
  expect(of('whole')).toMatchObject({ type: 'onComplete', event: { reason: 'done', content: 'a secret' } })
  expect(of('part')).toEqual({ id: expect.any(String), type: 'onComplete', event: { reason: 'done' } })
})

it('tells the sums of the run after each step, and the thread of a sub-agent', async () => {
  const sums: number[] = []
  const told: unknown[] = []
  const threads: unknown[] = []
  const dispatcher = new HookDispatcher({ priceOf: () => 0.25 })
  dispatcher.use({
    name: 'watch',
    gates: [{ id: 'sums', point: 'afterStep', decide: ({ totals }) => void sums.push(totals.costUsd) }],
    hooks: [
      {
        id: 'cost',
        type: 'afterStep',
        handler: ({ totals }) => void told.push(totals?.costUsd, totals?.steps),
      },
      { id: 'thread', type: 'afterCallAgent', handler: ({ threadId }) => void threads.push(threadId) },
    ],
  })
  const op = dispatcher.startOperation()
  const reply = {
    choices: [{ message: { content: 'hi' } }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  }
  for (let turn = 0; turn < 2; turn++) {
    await op.step((step) => step.llmCall({ model: 'm', request: {} }, () => Promise.resolve(reply)))
  }
  expect(op.totals.costUsd).toBe(0.5)
  await op.callAgent({ agentName: 'researcher', instruction: 'look' }, () => ({
    content: 'x',
    threadId: 't1',
  }))
  await op.complete()
  await dispatcher.drain()
  expect(sums).toEqual([0.25, 0.5])
  expect(told).toEqual([0.25, 1, 0.5, 2])
  expect(threads).toEqual(['t1'])
})
