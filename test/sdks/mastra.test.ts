import { AsyncLocalStorage } from 'node:async_hooks'
import { jsonSchema, tool } from 'ai'
import { HookDispatcher } from 'hookspan'
import { adapterContract, type ContractReply } from 'hookspan/adapter/contract'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { deny, mutate } from 'hookspan/gates'
import { observeMastra, parkedRun, unobserveMastra } from 'hookspan/mastra'
import { mock, mockTools } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { traced } from '../support/span-tree.ts'
import { dispatcherWith, eventsOf, findAll, gate, toldLines } from '../support/told-events.ts'
import { mastraSubject } from './subjects/mastra.ts'
import { elsewhere } from './support/elsewhere.ts'
import type { Untyped } from './support/sdks.ts'

describe('the contract holds for mastra', () => {
  for (const { name, run } of adapterContract({ ...mastraSubject, elsewhere: elsewhere('mastra') }))
    it(name, run)
})

let sdk: Untyped
beforeAll(async () => {
  const names = ['', '/agent', '/tools', '/workflows', '/storage'].map((path) => `@mastra/core${path}`)
  sdk = Object.assign({}, ...(await Promise.all(names.map((name) => import(name)))))
})

const call = (name: string, args: object, id = 'call_1'): ContractReply => ({
  toolCalls: [{ id, name, args }],
})

const agentOf = (replies: readonly ContractReply[], more: object = {}, name = 'support') =>
  new sdk.Agent({ id: name, name, instructions: 'Help.', model: scripted(replies), ...more })

/** A tool that notes what it was run with. */
function looking(bodies: unknown[], more: object = {}) {
  return sdk.createTool({
    id: 'look',
    description: 'Looks something up.',
    inputSchema: z.object({ q: z.string() }),
    execute: async ({ q }: { q: string }) => {
      bodies.push(q)
      return `found ${q}`
    },
    ...more,
  })
}

const only = (told: readonly string[], words: RegExp) => told.filter((line) => words.test(line))

describe('a mock is held to what the tool takes', () => {
  const inputSchema = z.object({ q: z.string(), note: z.string().optional(), most: z.number().default(3) })
  const asked = async (args: object) => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [mock('look').returns('mocked')])
    const tools = { look: looking([], { inputSchema }) }
    const agent = observeMastra(agentOf([call('look', args), { content: 'done' }], { tools }), { dispatcher })
    await agent.generate('hi')
    return () => mocks.assertUsed()
  }

  it.each([{ q: 'a' }, { q: 'a', note: null }, { q: 'a', more: 1 }])(
    'as Mastra takes it: %j',
    async (args) => {
      expect(await asked(args)).not.toThrow()
    },
  )

  it('a tool that is asked for otherwise has failed, and the model is told as without hookspan', async () => {
    const run = async (dispatcher?: HookDispatcher) => {
      const model = scripted([call('look', { q: 7 }), { content: 'done' }])
      const agent = agentOf([], { model, tools: { look: looking([]) } })
      await (dispatcher ? observeMastra(agent, { dispatcher }) : agent).generate('hi')
      return model.doGenerateCalls[1]?.prompt.at(-1)?.content
    }
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    expect(await run(dispatcher)).toEqual(await run())
    await dispatcher.drain()
    expect(findAll(events, 'afterToolCall')).toMatchObject([
      { success: false, content: expect.stringContaining('expected string, received number') },
    ])
  })

  it('and nothing else', async () => {
    expect(await asked({ q: 7 })).toThrow(/args\.q: expected string/)
    expect(await asked({ note: 'a' })).toThrow(/expected string, received undefined/)
  })
})

it('changed arguments are held to the schema of a tool of the AI SDK, of which Mastra checks nothing', async () => {
  const made = [{ q: 7 }, { q: 'b' }]
  const { dispatcher, events } = dispatcherWith(gate('beforeToolCall', () => mutate(made.shift())))
  const bodies: unknown[] = []
  const look = tool({
    description: 'Looks something up.',
    inputSchema: jsonSchema({ type: 'object', properties: { q: { type: 'string' } }, required: ['q'] }),
    execute: async (input) => {
      bodies.push(input)
      return 'found'
    },
  })
  const replies = [call('look', { q: 'a' }, '1'), call('look', { q: 'a' }, '2'), { content: 'done' }]
  await observeMastra(agentOf(replies, { tools: { look } }), { dispatcher }).generate('hi')
  await dispatcher.drain()
  expect(bodies).toEqual([{ q: 'b' }])
  expect(findAll(events, 'onToolCallError')).toMatchObject([
    { errorMessage: expect.stringContaining('do not fit the schema of the tool') },
  ])
})

describe('the tools of MCP servers', () => {
  // As `MCPClient` of @mastra/mcp makes them.
  const toolOf = (serverName: string, bodies: unknown[]) =>
    looking(bodies, { id: `${serverName}_look`, mcpMetadata: { serverName, serverVersion: '1.0.0' } })

  it.each([
    ['tools', 'stock/*'],
    ['toolsets', 'stock/*'],
    ['tools', 'stock/look'],
    ['toolsets', 'mcp__stock__look'],
  ])('are at home in their server, by which a gate knows them: %s, %s', async (how, name) => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: [name] })] })
    const events = eventsOf(dispatcher)
    const bodies: unknown[] = []
    const given = {
      look: looking(bodies),
      orders_look: toolOf('orders', bodies),
      stock_look: toolOf('stock', bodies),
    }
    const names = Object.keys(given)
    const replies = [...names.map((name) => call(name, { q: name }, name)), { content: 'done' }]
    const agent = observeMastra(agentOf(replies, how === 'tools' ? { tools: given } : {}), { dispatcher })

    await agent.generate('hi', how === 'tools' ? {} : { toolsets: { all: given } })

    expect(bodies).toEqual(['look', 'orders_look'])
    expect(findAll(events, 'afterToolCall')).toMatchObject([
      { source: 'local', identifier: 'local', apiName: 'look' },
      { source: 'mcp', identifier: 'orders', apiName: 'orders_look' },
      { source: 'mcp', identifier: 'stock', apiName: 'stock_look', success: false },
    ])
  })
})

it('a call of a tool of an MCP server that a human has approved is made when the run goes on', async () => {
  const dispatcher = new HookDispatcher()
  const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
  dispatcher.use(approvals)
  dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'orders/*' })] })
  const bodies: unknown[] = []
  const tools = { look: looking(bodies, { mcpMetadata: { serverName: 'orders' } }) }
  const storage = new sdk.InMemoryStore()
  const agent = agentOf([call('look', { q: 'a' }), { content: 'done' }], { tools })
  new sdk.Mastra({ agents: { agent }, storage, logger: false })
  observeMastra(agent, { dispatcher })

  const { runId, suspendPayload } = await agent.generate('hi')
  const [asked] = await approvals.list({ status: 'pending' })
  const { id = '', argsDigest } = asked?.request ?? {}
  await approvals.respond(id, { decision: 'approve', approver: 'ann', ...(argsDigest && { argsDigest }) })
  const { text } = await agent.resumeGenerate(suspendPayload, { runId })

  expect([text, bodies, asked?.request.identifier]).toEqual(['done', ['a'], 'orders'])
})

describe('an agent that delegates', () => {
  it('tells the call and the agent that it calls, which is asked by the same gates', async () => {
    const { dispatcher, told } = toldLines()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['look'] })] })
    const bodies: unknown[] = []
    const expert = agentOf(
      [call('look', { q: 'a' }), { content: 'nothing' }],
      { tools: { look: looking(bodies) } },
      'expert',
    )
    const agent = agentOf([call('agent-expert', { prompt: 'help' }), { content: 'done' }], {
      agents: { expert },
    })
    observeMastra(agent, { dispatcher })

    expect((await agent.generate('Ask.')).text).toBe('done')
    await dispatcher.drain()
    expect(only(told, /ToolCall|CallAgent|onComplete/)).toEqual([
      'beforeToolCall agent-expert',
      'beforeCallAgent expert',
      'beforeToolCall look',
      'afterToolCall look',
      'onComplete expert',
      'afterCallAgent expert',
      'afterToolCall agent-expert',
      'onComplete support',
    ])
    expect(bodies).toEqual([])
  })

  it('leaves an agent alone that is called by nobody who is observed', async () => {
    const { dispatcher, told } = toldLines()
    const expert = agentOf([{ content: 'alone' }], {}, 'expert')
    observeMastra(agentOf([], { agents: { expert } }), { dispatcher })
    expect((await expert.generate('help')).text).toBe('alone')
    expect(told).toEqual([])
  })
})

describe('a workflow that an agent has as a tool', () => {
  it('tells its steps that are tools, below the call, and gates decide on them', async () => {
    const { dispatcher, told } = toldLines()
    const bodies: unknown[] = []
    const look = looking(bodies, { outputSchema: z.string() })
    const flow = sdk
      .createWorkflow({
        id: 'flow',
        description: 'Looks.',
        inputSchema: z.object({ q: z.string() }),
        outputSchema: z.string(),
      })
      .then(sdk.createStep(look))
      .commit()
    const workflows = { flow }
    const ask = async () => {
      const replies = [call('workflow-flow', { inputData: { q: 'a' } }), { content: 'done' }]
      const agent = observeMastra(agentOf(replies, { workflows }), { dispatcher })
      return agent.generate('Look.')
    }

    expect((await ask()).text).toBe('done')
    await dispatcher.drain()
    const names = [
      'beforeToolCall workflow-flow',
      'beforeToolCall look',
      'afterToolCall look',
      'afterToolCall workflow-flow',
    ]
    expect(only(told, /ToolCall/)).toEqual(names)
    expect(bodies).toEqual(['a'])

    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['look'] })] })
    await ask()
    expect(bodies).toEqual(['a'])
  })
})

describe('an approval of Mastra itself', () => {
  const asking = async (
    bodies: unknown[],
    replies: readonly ContractReply[],
    prepare: (dispatcher: HookDispatcher) => unknown = () => {},
  ) => {
    const { dispatcher, told } = toldLines()
    prepare(dispatcher)
    const agent = agentOf(replies, { tools: { look: looking(bodies, { requireApproval: true }) } })
    observeMastra(agent, { dispatcher })
    new sdk.Mastra({ agents: { support: agent }, storage: new sdk.InMemoryStore(), logger: false })
    const asked = await agent.generate('Look up a.')
    return { agent, dispatcher, told, asked }
  }
  const HUMAN = /Human|ToolCall|onStart|Complete/

  it('parks the run, which goes on by its approval as one', async () => {
    const bodies: unknown[] = []
    const { agent, dispatcher, told, asked } = await asking(bodies, [
      call('look', { q: 'a' }),
      { content: 'done' },
    ])
    expect(asked.finishReason).toBe('suspended')
    expect((await parkedRun(asked))?.waitingFor).toBe('human')
    expect(bodies).toEqual([])
    const { runId } = asked
    expect((await agent.approveToolCallGenerate({ runId, toolCallId: 'call_1' })).text).toBe('done')
    await dispatcher.drain()
    expect(bodies).toEqual(['a'])
    expect(only(told, HUMAN)).toEqual([
      'onStart support',
      'beforeHumanIntervention support',
      'afterHumanIntervention approve',
      'beforeToolCall look',
      'afterToolCall look',
      'onComplete support',
    ])
  })

  it('comes before a mock, which is asked once', async () => {
    const bodies: unknown[] = []
    const { agent, dispatcher, told, asked } = await asking(
      bodies,
      [call('look', { q: 'a' }), { content: 'done' }],
      (on) => mockTools(on, [mock('look').once().returns('mocked')]),
    )
    const { runId } = asked
    expect((await agent.approveToolCallGenerate({ runId, toolCallId: 'call_1' })).text).toBe('done')
    await dispatcher.drain()
    expect(bodies).toEqual([])
    expect(only(told, HUMAN)).toEqual([
      'onStart support',
      'beforeHumanIntervention support',
      'afterHumanIntervention approve',
      'beforeToolCall look',
      'afterToolCall look',
      'onComplete support',
    ])
  })

  it('of a call that a gate has denied does not tell it again', async () => {
    const bodies: unknown[] = []
    const { agent, dispatcher, told, asked } = await asking(
      bodies,
      [call('look', { q: 'a' }), call('look', { q: 'b' }, 'call_2'), { content: 'done' }],
      (on) => on.use({ name: 'careful', gates: [toolPolicy({ deny: ['look'] })] }),
    )
    const { runId } = asked
    const again = await agent.approveToolCallGenerate({ runId, toolCallId: 'call_1' })
    expect(again.finishReason).toBe('suspended')
    const { text, steps } = await agent.approveToolCallGenerate({ runId, toolCallId: 'call_2' })
    await dispatcher.drain()
    expect(text).toBe('done')
    expect(bodies).toEqual([])
    const results = steps.flatMap(({ toolResults }: Untyped) => toolResults)
    expect(results.map(({ payload }: Untyped) => payload.result.code)).toContain('tool_not_allowed')
    const denied = ['beforeToolCall look', 'afterToolCall look']
    expect(only(told, HUMAN)).toEqual(['onStart support', ...denied, ...denied, 'onComplete support'])
  })

  it('tells a call that a human declined, which no mock answers', async () => {
    const bodies: unknown[] = []
    const seen: unknown[] = []
    const handler = ({ outcome, code }: Untyped) => void seen.push([outcome, code])
    const { agent, dispatcher, told, asked } = await asking(
      bodies,
      [call('look', { q: 'a' }), { content: 'done' }],
      (on) => {
        on.use({ name: 'seen', hooks: [{ id: 'seen', type: 'afterToolCall', handler }] })
        mockTools(on, [mock('look').returns('mocked').optional()])
      },
    )
    const { runId } = asked
    expect((await agent.declineToolCallGenerate({ runId, toolCallId: 'call_1' })).text).toBe('done')
    await dispatcher.drain()
    expect(bodies).toEqual([])
    expect(only(told, HUMAN)).toContain('afterHumanIntervention rejectAndContinue')
    expect(seen).toEqual([['rejected', 'rejected']])
  })
})

describe('what nobody could be asked about', () => {
  const guarded = () => {
    const { dispatcher } = toldLines()
    dispatcher.use({
      name: 'careful',
      gates: [{ id: 'no', point: 'beforeToolCall', decide: () => deny('no') }],
    })
    return dispatcher
  }

  it('is refused when a gate is meant for a tool of the client', async () => {
    const { execute: _none, ...client } = looking([])
    const agent = observeMastra(agentOf([{ content: 'done' }]), { dispatcher: guarded() })
    await expect(agent.generate('Look.', { clientTools: { look: client } })).rejects.toMatchObject({
      code: 'NOT_CAPABLE',
    })
  })

  it('is refused for network(), and let through where there is no gate', async () => {
    const agent = observeMastra(agentOf([]), { dispatcher: guarded() })
    await expect(agent.network('Look.')).rejects.toMatchObject({ code: 'NOT_CAPABLE' })
  })

  it('is refused for network() where a hook says that it mocks', async () => {
    const dispatcher = new HookDispatcher()
    const hook = { id: 'dry run', type: 'beforeToolCall', mocks: true, handler: () => {} } as const
    dispatcher.use({ name: 'dry run', hooks: [hook] })
    await expect(observeMastra(agentOf([]), { dispatcher }).network('Look.')).rejects.toThrow(
      'Tools are mocked',
    )
  })
})

describe('spans', () => {
  it('are ours, one for each call, where the process has a provider', async () => {
    using tracing = traced()
    expect(tracing.makeGlobal()).toBe(true)
    const tenant = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const execute = async () => {
      await Promise.resolve()
      seen.push(tenant.getStore())
      tracing.tracer.startSpan('database').end()
      return 'found'
    }
    const agent = observeMastra(
      agentOf([call('look', { q: 'a' }), { content: 'done' }], { tools: { look: looking([], { execute }) } }),
      { dispatcher: tracing.dispatcher },
    )
    await tenant.run('acme', () => agent.generate('Look.'))
    expect(seen).toEqual(['acme'])
    expect(tracing.tree().split('\n')).toEqual([
      'invoke_agent support',
      '  step 0',
      '    chat contract',
      '    execute_tool look',
      '      database',
      '  step 1',
      '    chat contract',
    ])
  })
})

describe('observeMastra', () => {
  it('is attached once however often, and undone by unobserveMastra', async () => {
    const { dispatcher, told } = toldLines()
    const agent = agentOf([{ content: 'one' }, { content: 'two' }])
    const { generate } = agent
    expect(observeMastra(observeMastra(agent, { dispatcher }), { dispatcher })).toBe(agent)
    await agent.generate('Hi.')
    expect(only(told, /onStart/)).toHaveLength(1)
    unobserveMastra(agent)
    await agent.generate('Hi.')
    expect(only(told, /onStart/)).toHaveLength(1)
    expect(generate).toBeTypeOf('function')
  })

  it('refuses what is no agent, wrong options, and a second dispatcher', () => {
    const dispatcher = new HookDispatcher()
    const agent = observeMastra(agentOf([]), { dispatcher })
    const wrong: (() => unknown)[] = [
      () => observeMastra({}, { dispatcher }),
      () => observeMastra(agentOf([]), {} as never),
      () => observeMastra(agentOf([]), { dispatcher, agent: 'x' } as never),
      () => observeMastra(agent, { dispatcher: new HookDispatcher() }),
    ]
    for (const attach of wrong) expect(attach).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
    expect(() => observeMastra({ generate: () => 1 }, { dispatcher })).toThrow(/convertTools|stream/)
  })

  it('keeps the AsyncLocalStorage of the caller in models, tools and callbacks', async () => {
    const mine = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const look = looking([], { execute: async () => void seen.push(mine.getStore()) })
    const agent = observeMastra(
      agentOf([call('look', { q: 'a' }), { content: 'done' }], { tools: { look } }),
      {
        dispatcher: new HookDispatcher(),
      },
    )
    await mine.run('mine', () =>
      agent.generate('Look.', { onStepFinish: () => void seen.push(mine.getStore()) }),
    )
    expect(seen.length).toBeGreaterThan(1)
    expect([...new Set(seen)]).toEqual(['mine'])
  })

  it('gives what Mastra gives without it, of tools that throw, too', async () => {
    const failing = { execute: () => Promise.reject(new Error('the shelf fell down')) }
    const replies = [call('look', { q: 'a' }), { content: 'done' }]
    const ask = async (attach: boolean) => {
      const agent = agentOf(replies, { tools: { look: looking([], failing) } })
      if (attach) observeMastra(agent, { dispatcher: new HookDispatcher() })
      const { text, finishReason, toolCalls, toolResults, usage, steps } = await agent.generate('Look.')
      return {
        text,
        finishReason,
        toolCalls: toolCalls.length,
        toolResults: toolResults.length,
        usage,
        steps: steps.length,
      }
    }
    expect(await ask(true)).toEqual(await ask(false))
  })
})

describe('a tool in the background', () => {
  const searching = async (gates: object[] = []) => {
    using tracing = traced()
    const { dispatcher } = tracing
    const park = async () => ({ decision: 'park' as const })
    dispatcher.use({ name: 'careful', gates: gates as never, approver: { requestApproval: park } })
    const seen: unknown[] = []
    const handler = (event: Untyped) => void seen.push(event.outcome ?? event.errorMessage, event.code)
    const hooks = (['afterToolCall', 'onToolCallError'] as const).map((type) => ({ id: type, type, handler }))
    dispatcher.use({ name: 'seen', hooks: hooks as never })
    const left = Promise.withResolvers<void>()
    const bodies: unknown[] = []
    const execute = async ({ q }: { q: string }) => {
      await left.promise
      bodies.push(q)
      return `found ${q}`
    }
    const look = looking([], { execute, background: { enabled: true } })
    const agent = agentOf([call('look', { q: 'a' }), { content: 'it runs' }], { tools: { look } })
    observeMastra(agent, { dispatcher })
    const mastra = new sdk.Mastra({
      agents: { support: agent },
      storage: new sdk.InMemoryStore(),
      logger: false,
      backgroundTasks: { enabled: true },
    })
    const { text } = await agent.generate('Look up a.')
    left.resolve()
    const tasks = async () => (await mastra.backgroundTaskManager.listTasks({})).tasks
    await expect.poll(async () => (await tasks())[0]?.status, { timeout: 10_000 }).toBe('completed')
    await expect.poll(() => dispatcher.stats().operations).toBe(0)
    await dispatcher.drain()
    return { text, seen, bodies, result: (await tasks())[0].result, tree: tracing.tree() }
  }

  it('is a run of its own below the run, which it may outlive', async () => {
    const { text, seen, bodies, result, tree } = await searching()
    expect({ text, seen, bodies, result }).toEqual({
      text: 'it runs',
      seen: ['completed', undefined],
      bodies: ['a'],
      result: 'found a',
    })
    expect(tree).toContain('  invoke_agent support\n    execute_tool look')
  })

  it('is refused where a human is to answer in another process', async () => {
    const { seen, bodies, result } = await searching([requireHuman({ match: 'look' })])
    expect(bodies).toEqual([])
    expect(seen).toEqual(['denied', expect.any(String)])
    expect(result).toMatchObject({ denied: true })
  })
})

it.each([
  ['maxSteps', { maxSteps: 2 }, undefined, 'max_steps'],
  ['maxSteps of the agent', undefined, { defaultOptions: { maxSteps: 2 } }, 'max_steps'],
  ['what Mastra takes by itself', undefined, undefined, 'max_steps'],
  [
    'a condition of the user',
    { stopWhen: ({ steps }: Untyped) => steps[0].toolCalls.length > 0 },
    undefined,
    'done',
  ],
])('a run that ends by %s says so', async (_, options, more, reason) => {
  const { dispatcher, events } = dispatcherWith()
  const replies = Array.from({ length: 9 }, (_, i) => call('look', { q: 'a' }, `call_${i}`))
  const agent = () =>
    observeMastra(agentOf(replies, { tools: { look: looking([]) }, ...more }), { dispatcher })
  await agent().generate('hi', options)
  await (await agent().stream('hi', options)).consumeStream()
  await dispatcher.drain()
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason }, { reason }])
})
