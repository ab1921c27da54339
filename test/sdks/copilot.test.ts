import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HookDispatcher, ToolResult } from 'hookspan'
import { adapterContract } from 'hookspan/adapter/contract'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { observeCopilot, parkedRun, runWith, unobserveCopilot } from 'hookspan/copilot'
import { deny, type Gate, mutate, skip } from 'hookspan/gates'
import { mock, mockTools, startScriptedServer } from 'hookspan/mock'
import { requireHuman } from 'hookspan/policies'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { dispatcherWith, findAll } from '../support/told-events.ts'
import { configOf, copilotSubject, scriptedCopilot, startClient } from './subjects/copilot.ts'
import { elsewhere } from './support/elsewhere.ts'
import type { Untyped } from './support/sdks.ts'

describe('the contract holds for copilot', () => {
  for (const { name, run } of adapterContract({ ...copilotSubject, elsewhere: elsewhere('copilot') })) {
    it(name, run)
  }
})

let copilot: Awaited<ReturnType<typeof startClient>>
beforeAll(async () => {
  copilot = await startClient()
})
afterAll(() => copilot.stop())
afterEach(() => void unobserveCopilot(copilot.client))

const ask = (name: string, args: object) => ({ toolCalls: [{ id: `call-${name}`, name, args }] })
const done = { content: 'done' }

function guarded(...gates: Gate[]) {
  const dispatcher = new HookDispatcher()
  const told: string[] = []
  const hooks = (['beforeToolCall', 'afterToolCall', 'onToolCallError', 'onComplete'] as const).map(
    (type) => ({
      id: type,
      type,
      handler: (event: Untyped) => void told.push(`${type} ${event.apiName ?? event.reason}`),
    }),
  )
  dispatcher.use({ name: 'guard', gates, hooks: hooks as never })
  return { dispatcher, told }
}

/** One prompt, to a session with these tools of ours and these of Copilot's. */
async function prompt(
  dispatcher: HookDispatcher,
  replies: Untyped[],
  { tools = [], builtIn = [], others = {}, ...more }: Untyped = {},
): Promise<{ said: Untyped; requests: Untyped[] }> {
  const server = await scriptedCopilot({ contract: replies, ...others })
  observeCopilot(copilot.client, { dispatcher })
  const config = configOf(server.baseURL, 'contract', tools)
  const availableTools = [...config.availableTools, ...builtIn]
  const session = await copilot.client.createSession({
    ...config,
    availableTools,
    workingDirectory: copilot.home,
    ...more,
  })
  try {
    const said = await session.sendAndWait('go on')
    return { said: said?.data.content, requests: server.requests.map(({ body }) => body) }
  } finally {
    await session.disconnect()
    await server.close()
  }
}

const toolMessages = (requests: Untyped[]) =>
  requests
    .at(-1)
    .messages.filter(({ role }: Untyped) => role === 'tool')
    .map(({ content }: Untyped) => content)

describe("Copilot's own tools", () => {
  const file = () => join(copilot.home, 'made.txt')
  const make = (command = `echo made > made.txt`) =>
    ask('bash', { command, description: 'makes a file', mode: 'sync' })

  it('are told, and do what they do', async () => {
    const { dispatcher, told } = guarded()
    const { said } = await prompt(dispatcher, [make(), done], { builtIn: ['bash'] })

    expect(said).toBe('done')
    expect(readFileSync(file(), 'utf8')).toBe('made\n')
    expect(told).toEqual(['beforeToolCall bash', 'afterToolCall bash', 'onComplete done'])
  })

  it('do not run where a gate denies, and the model hears why', async () => {
    writeFileSync(file(), 'before')
    const { dispatcher } = guarded({
      id: 'no',
      point: 'beforeToolCall',
      match: 'bash',
      decide: () => deny('no shell here'),
    } as Gate)
    const { requests } = await prompt(dispatcher, [make(), done], { builtIn: ['bash'] })

    expect(readFileSync(file(), 'utf8')).toBe('before')
    expect(toolMessages(requests).join()).toContain('no shell here')
  })

  it('run with the arguments, and tell the model the result, that gates made', async () => {
    const { dispatcher } = guarded(
      {
        id: 'args',
        point: 'beforeToolCall',
        decide: ({ payload }: Untyped) => mutate({ ...payload, command: 'echo mine > other.txt' }),
      } as Gate,
      { id: 'result', point: 'afterToolCall', decide: () => mutate('rewritten') } as Gate,
    )
    const { requests } = await prompt(dispatcher, [make('echo theirs > theirs.txt'), done], {
      builtIn: ['bash'],
    })

    expect(existsSync(join(copilot.home, 'theirs.txt'))).toBe(false)
    expect(readFileSync(join(copilot.home, 'other.txt'), 'utf8')).toBe('mine\n')
    expect(toolMessages(requests)).toEqual(['rewritten'])
  })

  it('tell the model the words of a result that a gate made, and not the data beside them', async () => {
    const result = new ToolResult({ content: 'a summary', data: 'all of it' })
    const { dispatcher } = guarded({ id: 'r', point: 'afterToolCall', decide: () => mutate(result) } as Gate)
    const { requests } = await prompt(dispatcher, [make(), done], { builtIn: ['bash'] })

    expect(toolMessages(requests)).toEqual(['a summary'])
  })

  it('are refused where a gate answers for one, in the trace as for the model', async () => {
    const { dispatcher } = guarded({ id: 's', point: 'beforeToolCall', decide: () => skip('canned') } as Gate)
    const seen: unknown[] = []
    const handler = ({ outcome, code }: Untyped) => void seen.push([outcome, code])
    dispatcher.use({ name: 'seen', hooks: [{ id: 'seen', type: 'afterToolCall', handler }] })
    const { requests } = await prompt(dispatcher, [make(), done], { builtIn: ['bash'] })

    expect(seen).toEqual([['denied', 'not_capable']])
    expect(toolMessages(requests).join()).toContain('not_capable')
    expect(toolMessages(requests).join()).not.toContain('canned')
  })

  it('are no tools that can be mocked: where mocks are there, the run is refused', async () => {
    const { dispatcher } = guarded()
    using _mocks = mockTools(dispatcher, [mock('bash').returns('mocked').optional()])

    await expect(prompt(dispatcher, [make(), done], { builtIn: ['bash'] })).rejects.toThrow(
      /bash, which is not run here/,
    )
  })

  it('that the user does not permit end with their turn, and the run with what comes after', async () => {
    const { dispatcher, told } = guarded()
    const { said } = await prompt(dispatcher, [make(), ask('look', {}), done], {
      builtIn: ['bash'],
      onPermissionRequest: ({ kind }: Untyped) =>
        kind === 'shell' ? { kind: 'reject', feedback: 'not today' } : { kind: 'approve-once' },
      tools: [
        { name: 'look', description: 'Looks.', parameters: { type: 'object' }, handler: () => 'found' },
      ],
    })

    expect(said).toBe('done')
    expect(told).toEqual([
      'beforeToolCall bash',
      'afterToolCall bash',
      'beforeToolCall look',
      'afterToolCall look',
      'onComplete done',
    ])
  })

  it('and yours that the user does not permit are denied calls, with what he said', async () => {
    const { dispatcher, events } = dispatcherWith()
    const tools = [
      { name: 'look', description: 'Looks.', parameters: { type: 'object' }, handler: () => 'found' },
    ]
    const onPermissionRequest = () => ({ kind: 'reject', feedback: 'not today' })
    await prompt(dispatcher, [make(), ask('look', {}), done], {
      builtIn: ['bash'],
      onPermissionRequest,
      tools,
    })
    await dispatcher.drain()
    const denied = { outcome: 'denied', code: 'tool_approval', reason: expect.stringContaining('not today') }
    expect(findAll(events, 'afterToolCall')).toMatchObject([
      { apiName: 'bash', toolCallId: 'call-bash', stepIndex: 0, ...denied },
      { apiName: 'look', toolCallId: 'call-look', stepIndex: 1, ...denied },
    ])
    expect(findAll(events, 'onToolCallError')).toEqual([])
  })

  it.each([
    ['bash', 'reject'],
    ['look', 'reject'],
    ['bash', 'user-not-available'],
    ['look', 'user-not-available'],
  ])('is a denied call, too, where %s is not permitted without a word (%s)', async (name, kind) => {
    const { dispatcher, events } = dispatcherWith()
    const tools = [{ name: 'look', description: 'x', parameters: { type: 'object' }, handler: () => 'found' }]
    const call = name === 'bash' ? make() : ask('look', {})
    await prompt(dispatcher, [call, done], {
      builtIn: ['bash'],
      onPermissionRequest: () => ({ kind }),
      tools,
    })
    await dispatcher.drain()
    expect(findAll(events, 'afterToolCall')).toMatchObject([
      { apiName: name, outcome: 'denied', code: 'tool_approval' },
    ])
    expect(findAll(events, 'onToolCallError')).toEqual([])
  })

  it("keep to the user's own hooks, which come first", async () => {
    const { dispatcher, told } = guarded()
    const hooks = {
      onPreToolUse: () => ({ permissionDecision: 'deny', permissionDecisionReason: 'says the user' }),
    }
    const { requests } = await prompt(dispatcher, [make(), done], { builtIn: ['bash'], hooks })

    expect(toolMessages(requests).join()).toContain('says the user')
    expect(told).toEqual(['beforeToolCall bash', 'afterToolCall bash', 'onComplete done'])
  })

  it("run past no gate where the user's own hooks throw", async () => {
    const fail = () => Promise.reject(new Error('unwell'))
    const hooks = { onPreToolUse: fail, onPostToolUse: fail }
    const no = (point: 'beforeToolCall' | 'afterToolCall') =>
      ({ id: point, point, match: 'bash', decide: () => deny('not here') }) as Gate
    writeFileSync(file(), 'before')
    const before = guarded(no('beforeToolCall'))
    await prompt(before.dispatcher, [make(), done], { builtIn: ['bash'], hooks })
    expect(readFileSync(file(), 'utf8')).toBe('before')
    expect(before.told).toEqual(['beforeToolCall bash', 'afterToolCall bash', 'onComplete done'])
    unobserveCopilot(copilot.client)

    const after = guarded(no('afterToolCall'))
    const { requests } = await prompt(after.dispatcher, [make('echo SECRET'), done], {
      builtIn: ['bash'],
      hooks,
    })
    expect(toolMessages(requests).join()).toContain('not here')
    expect(toolMessages(requests).join()).not.toContain('SECRET')
    expect(after.told).toEqual(['beforeToolCall bash', 'afterToolCall bash', 'onComplete done'])
  })
})

describe('an agent that Copilot calls', () => {
  const task = { description: 'Helps', prompt: 'help', agent_type: 'expert', name: 'one', mode: 'sync' }
  const shell = { command: 'echo original', description: 'x', mode: 'sync' }
  const looks = { toolCalls: [...ask('look', { q: 'a' }).toolCalls, ...ask('bash', shell).toolCalls] }
  const delegates = (dispatcher: HookDispatcher, handler = vi.fn(() => 'found')) =>
    prompt(dispatcher, [ask('task', task), done], {
      tools: [{ name: 'look', description: 'Looks.', parameters: { type: 'object' }, handler }],
      builtIn: ['bash', 'task'],
      customAgents: [{ name: 'expert', prompt: 'Help.', tools: ['look', 'bash'], model: 'expert' }],
      others: { expert: [looks, { content: 'it is 42' }] },
    })
  const heard = (requests: Untyped[]) => toolMessages(requests.filter(({ model }) => model === 'expert'))

  it('has its tools refused, and their results replaced, by gates', async () => {
    const denied = vi.fn(() => 'found')
    const no = guarded({ id: 'no', point: 'beforeToolCall', match: 'look', decide: () => deny('no') } as Gate)
    expect(heard((await delegates(no.dispatcher, denied)).requests)[0]).toContain('"reason":"no"')
    expect(denied).not.toHaveBeenCalled()
    unobserveCopilot(copilot.client)
    const decide = ({ apiName }: Untyped) => (apiName === 'task' ? undefined : mutate('rewritten'))
    const other = guarded({ id: 'other', point: 'afterToolCall', decide } as Gate)
    expect(heard((await delegates(other.dispatcher)).requests)).toEqual(['rewritten', 'rewritten'])
  })

  it('has your tools run twice, as Copilot asks for each twice', async () => {
    const { dispatcher, told } = guarded()
    const handler = vi.fn(() => 'found')
    await delegates(dispatcher, handler)
    expect(handler).toHaveBeenCalledTimes(2)
    expect(told.filter((line) => line === 'beforeToolCall look')).toHaveLength(2)
  })
})

describe('a tool of yours without a handler, which is answered from outside', () => {
  const ext = { name: 'ext', description: 'Asks elsewhere.', parameters: { type: 'object', properties: {} } }
  const answered = async (dispatcher: HookDispatcher) => {
    const outside: unknown[] = []
    const onEvent = vi.fn()
    const server = await scriptedCopilot({ contract: [ask('ext', { q: 'a' }), done] })
    observeCopilot(copilot.client, { dispatcher })
    const session = await copilot.client.createSession({
      ...configOf(server.baseURL, 'contract', [ext]),
      onEvent,
    })
    session.on('external_tool.requested', ({ data }: Untyped) => {
      outside.push(data.arguments)
      void session.rpc.tools.handlePendingToolCall({ requestId: data.requestId, result: 'from outside' })
    })
    await session.sendAndWait('go on')
    await session.disconnect()
    await server.close()
    return { outside, heard: toolMessages(server.requests.map(({ body }) => body)) }
  }

  it('is told, and gates decide on it', async () => {
    const { dispatcher, told } = guarded()
    expect(await answered(dispatcher)).toEqual({ outside: [{ q: 'a' }], heard: ['from outside'] })
    expect(told).toEqual(['beforeToolCall ext', 'afterToolCall ext', 'onComplete done'])
    unobserveCopilot(copilot.client)

    const no = guarded({ id: 'no', point: 'beforeToolCall', match: 'ext', decide: () => deny('no') } as Gate)
    const denied = await answered(no.dispatcher)
    expect(denied.outside).toEqual([])
    expect(denied.heard[0]).toContain('"reason":"no"')
    unobserveCopilot(copilot.client)

    const changed = guarded(
      { id: 'args', point: 'beforeToolCall', decide: () => mutate({ q: 'b' }) } as Gate,
      { id: 'result', point: 'afterToolCall', decide: () => mutate('rewritten') } as Gate,
    )
    expect(await answered(changed.dispatcher)).toEqual({ outside: [{ q: 'b' }], heard: ['rewritten'] })
  })

  it('cannot be mocked: where mocks are there, the run is refused', async () => {
    const { dispatcher } = guarded()
    using _mocks = mockTools(dispatcher, [mock('ext').returns('mocked').optional()])
    const asked = (availableTools: string[]) => prompt(dispatcher, [done], { tools: [ext], availableTools })
    await expect(asked(['ext'])).rejects.toThrow(/ext, which is not run here/)
    await expect(asked(['custom:*'])).rejects.toThrow(/ext, which is not run here/)
  })
})

it("a gate that ends the run ends the session's work", async () => {
  const { dispatcher, told } = guarded({
    id: 'stop',
    point: 'beforeToolCall',
    decide: () => deny('enough', { stop: true }),
  } as Gate)
  const ran: string[] = []
  const tools = [
    { name: 'look', description: 'Looks.', parameters: { type: 'object' }, handler: () => ran.push('look') },
  ]
  await prompt(dispatcher, [ask('look', {}), done], { tools }).catch(() => {})

  expect(ran).toEqual([])
  expect(told.at(-1)).toBe('onComplete denied')
})

it.each(['stop', 'forceStop'])('a run ends with the client, by %s()', async (how) => {
  const { dispatcher, told } = guarded()
  const asked = Promise.withResolvers<void>()
  const server = await startScriptedServer({
    respond: async (_request, { signal }) => {
      asked.resolve()
      await once(signal, 'abort')
      return done
    },
  })
  const { client, home } = await startClient()
  const config = configOf(server.baseURL, 'contract', [])
  const session = await observeCopilot(client, { dispatcher }).createSession(config)
  await session.send('go on')
  await asked.promise
  await client[how]()
  await expect.poll(() => told).toEqual(['onComplete interrupted'])
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  await server.close()
})

it('a run that is denied at its start asks no model, and rejects for whoever waits', async () => {
  const { dispatcher } = guarded({ id: 'no', point: 'onStart', decide: () => deny('not now') } as Gate)
  const server = await scriptedCopilot({ contract: [done] })
  observeCopilot(copilot.client, { dispatcher })
  const session = await copilot.client.createSession(configOf(server.baseURL, 'contract', []))

  await expect(session.sendAndWait('go on')).rejects.toThrow(/not now/)
  expect(server.requests).toEqual([])
  await session.disconnect()
  await server.close()
})

describe('a call that waits for a human elsewhere', () => {
  const asking = (match: string) => {
    const given = guarded(requireHuman({ match }))
    const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
    given.dispatcher.use(approvals)
    const approve = async () => {
      const [{ request }] = (await approvals.list({ status: 'pending' })) as Untyped
      const { id, argsDigest } = request
      await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })
    }
    return { ...given, approvals, approve }
  }
  const tool = (name: string, ran: string[]) => ({
    name,
    description: `${name}.`,
    parameters: { type: 'object', properties: { q: { type: 'string' } } },
    handler: ({ q }: { q: string }) => {
      ran.push(`${name} ${q}`)
      return `${name} did ${q}`
    },
  })
  const call = (id: string, name: string, q: string) => ({ id, name, args: { q } })

  it('waits until the calls beside it have ended; asked again too early, it goes on waiting', async () => {
    const { dispatcher, told, approve } = asking('refund')
    const ran: string[] = []
    const both = { toolCalls: [call('1', 'refund', 'a'), call('2', 'look', 'b'), call('3', 'refund', 'c')] }
    const server = await scriptedCopilot({ contract: [both, done] })
    const config = configOf(server.baseURL, 'contract', [tool('refund', ran), tool('look', ran)])
    const first = await startClient()
    const session = await observeCopilot(first.client, { dispatcher }).createSession(config)
    await session.sendAndWait('go on')
    expect(ran).toEqual(['look b'])
    const resume = await parkedRun(session)
    await first.stop(true)
    /** Each with a Copilot of its own. */
    const goOn = async (parked: Untyped) => {
      const { client, stop } = await startClient(first.home)
      observeCopilot(client, { dispatcher })
      const next = await client.resumeSession(session.sessionId, { ...config, continuePendingWork: true })
      const said = await runWith({ resume: parked }, () => next.sendAndWait(''))
      await stop(true)
      return { said, parked: await parkedRun(next) }
    }

    const early = await goOn(resume)
    expect(early.said).toBeUndefined()
    expect(early.parked).toBeDefined()
    await approve()
    await approve()
    const { said, parked } = await goOn(early.parked)

    expect(said.data.content).toBe('done')
    expect(parked).toBeUndefined()
    expect(ran.toSorted()).toEqual(['look b', 'refund a', 'refund c'])
    expect(toolMessages(server.requests.map(({ body }) => body)).toSorted()).toEqual([
      'look did b',
      'refund did a',
      'refund did c',
    ])
    expect(told.filter((one) => one.startsWith('onComplete'))).toEqual(['onComplete done'])
    rmSync(first.home, { recursive: true, force: true, maxRetries: 5 })
    await server.close()
  })

  it('is refused where Copilot itself runs the tool', async () => {
    const { dispatcher, approvals } = asking('bash')
    const make = ask('bash', { command: 'echo made > parked.txt', description: 'makes a file', mode: 'sync' })
    const { said, requests } = await prompt(dispatcher, [make, done], { builtIn: ['bash'] })

    expect(said).toBe('done')
    expect(existsSync(join(copilot.home, 'parked.txt'))).toBe(false)
    expect(toolMessages(requests).join()).toContain('approval_error')
    expect(await approvals.list({ status: 'pending' })).toEqual([])
  })

  it('is not gone on with in a session that does not have it pending', async () => {
    const { dispatcher } = asking('refund')
    const ran: string[] = []
    const first = { toolCalls: [call('1', 'refund', 'a')] }
    const server = await scriptedCopilot({ contract: [first, done] })
    observeCopilot(copilot.client, { dispatcher })
    const config = configOf(server.baseURL, 'contract', [tool('refund', ran)])
    const session = await copilot.client.createSession(config)
    await session.sendAndWait('go on')
    const resume = (await parkedRun(session)) as Untyped
    const other = await copilot.client.createSession(config)

    await expect(runWith({ resume }, () => other.sendAndWait(''))).rejects.toThrow(/continuePendingWork/)
    expect(ran).toEqual([])
    await other.disconnect()
    await server.close()
  })
})

it("tools have the caller's AsyncLocalStorage, and attached twice is attached once", async () => {
  const storage = new AsyncLocalStorage<string>()
  const { dispatcher, told } = guarded()
  observeCopilot(copilot.client, { dispatcher })
  const seen: unknown[] = []
  const handler = () => void seen.push(storage.getStore())
  const tools = [{ name: 'look', description: 'Looks.', parameters: { type: 'object' }, handler }]

  await storage.run('mine', () => prompt(dispatcher, [ask('look', {}), done], { tools }))

  expect(seen).toEqual(['mine'])
  expect(told).toEqual(['beforeToolCall look', 'afterToolCall look', 'onComplete done'])
})

it('is undone: nothing is told any more, and another dispatcher may observe', async () => {
  const { dispatcher, told } = guarded()
  const { createSession } = copilot.client
  observeCopilot(copilot.client, { dispatcher })
  expect(() => observeCopilot(copilot.client, { dispatcher: new HookDispatcher() })).toThrow(
    /another dispatcher/,
  )
  unobserveCopilot(copilot.client)

  expect(copilot.client.createSession).toBe(createSession)
  expect(() => observeCopilot({}, { dispatcher })).toThrow(/CopilotClient/)
  expect(told).toEqual([])
})
