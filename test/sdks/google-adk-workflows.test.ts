import { HookDispatcher } from 'hookspan'
import { wrapTools } from 'hookspan/adapter'
import { mutate } from 'hookspan/gates'
import { hookspanPlugin } from 'hookspan/google-adk'
import { mock, mockTools } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { settled } from '../support/seen-by-caller.ts'
import { eventsOf, findAll } from '../support/told-events.ts'
import { ScriptedLlm } from './subjects/google-adk.ts'
import type { Untyped } from './support/sdks.ts'

const sdk = '@google/adk'
const {
  AgentTool,
  FunctionTool,
  BasePlugin,
  BaseToolset,
  FunctionNode,
  InMemoryRunner,
  InMemorySessionService,
  LiveRequestQueue,
  LlmAgent,
  NodeTool,
  ParallelAgent,
  Runner,
  SequentialAgent,
  START,
  ToolNode,
  Workflow,
}: Untyped = await import(sdk)

const parameters = z.object({ what: z.string() })
const CALL = (name: string, id = 'c1', args: object = { what: 'all', request: 'go' }) => ({
  toolCalls: [{ id, name, args }],
})

/** The tool, which notes what it did, and a workflow that runs it without asking a model. */
function wiping() {
  const ran: string[] = []
  const execute = async ({ what }: { what: string }) => {
    ran.push(what)
    return 'wiped'
  }
  const made = () => new FunctionTool({ name: 'wipe', description: 'Wipes.', parameters, execute })
  const tool = made()
  class Wiping extends BaseToolset {
    async getTools() {
      return [made()]
    }
    async close() {}
  }
  const toolset: Untyped = new Wiping()
  const workflow = (more = {}) =>
    new Workflow({ name: 'cleaning', edges: [[START, new ToolNode(tool)]], ...more })
  return { ran, tool, toolset, workflow }
}

const WAYS: Record<string, (of: ReturnType<typeof wiping>) => Untyped> = {
  'a node of a workflow': ({ workflow }) => workflow(),
  'a node that a workflow begins by itself': ({ tool }) =>
    new Workflow({
      name: 'dynamic',
      dynamicEntry: async (context: Untyped, input: Untyped) => {
        await context.runNode(new ToolNode(tool), input)
      },
    }),
  'a node of a workflow that is a tool': ({ workflow }) =>
    new LlmAgent({
      name: 'asking',
      model: new ScriptedLlm([CALL('cleaning'), { content: 'done' }]),
      tools: [new NodeTool(workflow({ inputSchema: parameters }))],
    }),
  'of an agent that is a node': ({ tool }) =>
    new Workflow({
      name: 'asked',
      edges: [[START, new ToolNode(new AgentTool({ agent: agentWith(tool, { inputSchema: parameters }) }))]],
    }),
  'of an agent that one was handed over to which is a tool, the second time': ({ tool }) =>
    new LlmAgent({
      name: 'asking',
      model: new ScriptedLlm([CALL('first', 'c1'), CALL('first', 'c2'), { content: 'done' }]),
      tools: [new AgentTool({ agent: handingOver(tool) })],
    }),
  'one that the code of another calls': ({ tool }) =>
    new LlmAgent({
      name: 'asking',
      model: new ScriptedLlm([CALL('run_code'), CALL('run_code', 'c2'), { content: 'done' }]),
      tools: [tool, calling(tool)],
    }),
  'one that a callback of another calls': ({ tool }) =>
    new LlmAgent({
      name: 'asking',
      model: new ScriptedLlm([CALL('look'), { content: 'done' }]),
      tools: [
        tool,
        new FunctionTool({ name: 'look', description: 'Looks.', parameters, execute: () => 'seen' }),
      ],
      afterToolCallback: async ({ context: toolContext }: Untyped) => {
        await tool.runAsync({ args: { what: 'all' }, toolContext })
      },
    }),
  'one that a callback runs before any model is asked': ({ tool }) => early(tool),
  'one of a toolset that makes it anew, which a callback runs before any model is asked': ({ toolset }) =>
    early(toolset, async () => (await toolset.getTools())[0]),
  'one that a callback of the agent below runs': ({ tool }) =>
    new SequentialAgent({ name: 'first', subAgents: [early(tool)] }),
  'one that a callback of the agent runs which is a tool': ({ tool }) =>
    new LlmAgent({
      name: 'asking',
      model: new ScriptedLlm([CALL('second'), { content: 'done' }]),
      tools: [new AgentTool({ agent: early(tool) })],
    }),
  'one that a callback of the agent runs which is a node': ({ tool }) =>
    new Workflow({ name: 'asked', edges: [[START, early(tool)]] }),
  'a node, and a tool of an agent': ({ tool }) =>
    new Workflow({
      name: 'both',
      edges: [[START, new ToolNode(tool, { name: 'first' }), agentWith(tool)]],
    }),
}
/** A tool that runs a program of the model's, which calls another one. */
const calling = (tool: Untyped) =>
  new FunctionTool({
    name: 'run_code',
    description: 'Runs code.',
    parameters,
    execute: (args: object, toolContext: Untyped) => tool.runAsync({ args, toolContext }),
  })
const agentWith = (tool: Untyped, more: object = {}) =>
  new LlmAgent({
    name: 'second',
    model: new ScriptedLlm([CALL('wipe'), { content: 'done' }, CALL('wipe', 'c2'), { content: 'done' }]),
    tools: [tool],
    ...more,
  })
/** A callback of the agent runs the tool by itself, before the model is asked. */
const early = (tool: Untyped, toolOf = async () => tool) =>
  agentWith(tool, {
    beforeAgentCallback: async (toolContext: Untyped) => {
      const its = await toolOf()
      await its.runAsync({ args: { what: 'early' }, toolContext }).catch(() => {})
    },
  })
/** Its runner goes on with the agent that spoke last. */
const handingOver = (tool: Untyped) =>
  new LlmAgent({
    name: 'first',
    model: new ScriptedLlm([CALL('transfer_to_agent', 't', { agentName: 'second' })]),
    subAgents: [agentWith(tool)],
  })

it('a function that is put into a tool of ADK between two of its calls is the one that runs, once', async () => {
  const { ran, tool } = wiping()
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  const agent = agentWith(tool)
  await run(agent, dispatcher)
  const { runAsync } = tool
  const spied: unknown[] = []
  tool.runAsync = (asked: Untyped) => {
    spied.push(asked.args.what)
    return runAsync.call(tool, asked)
  }
  await run(agent, dispatcher)
  expect({ ran, spied }).toEqual({ ran: ['all', 'all'], spied: ['all'] })
  expect(tree.lines().filter((line) => line.trim() === 'execute_tool wipe')).toHaveLength(2)
})

async function run(agent: Untyped, dispatcher?: HookDispatcher, others: object[] = []) {
  const plugins = dispatcher ? [...others, hookspanPlugin({ dispatcher, agentName: 'cleaner' })] : []
  const runner = new InMemoryRunner({ agent, appName: 'test', plugins })
  const session = await runner.sessionService.createSession({ appName: 'test', userId: 'u' })
  const newMessage = { role: 'user', parts: [{ text: '{"what":"all"}' }] }
  const parts: unknown[] = []
  for await (const event of runner.runAsync({ userId: 'u', sessionId: session.id, newMessage }))
    parts.push(
      ...(event.content?.parts ?? []).map(
        ({ text, functionResponse }: Untyped) => text ?? functionResponse?.response,
      ),
    )
  if (dispatcher) await settled(dispatcher)
  return parts
}

describe.each(Object.entries(WAYS))('a tool of ADK that is %s', (_name, of) => {
  it('gives what it gives without hookspan, and is told', async () => {
    const bare = wiping()
    const was = await run(of(bare))
    const ours = wiping()
    const tree = activityTree()
    const dispatcher = new HookDispatcher()
    dispatcher.use(tree.plugin)

    expect(await run(of(ours), dispatcher)).toEqual(was)
    expect(ours.ran).toEqual(bare.ran)
    expect(ours.ran.length).toBeGreaterThan(0)
    const told = tree.lines().filter((line) => line.trim() === 'execute_tool wipe')
    expect(told).toHaveLength(ours.ran.length)
  })

  it('does not run where it is denied, or mocked', async () => {
    const denied = wiping()
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
    const events = eventsOf(dispatcher)
    await run(of(denied), dispatcher)
    expect(denied.ran).toEqual([])
    expect(findAll(events, 'afterToolCall').map(({ outcome }) => outcome)).toContain('denied')

    const mocked = wiping()
    const other = new HookDispatcher()
    using _mocks = mockTools(other, [mock('wipe').returns({ mocked: true })], { onUnmocked: 'passthrough' })
    const told = eventsOf(other)
    await run(of(mocked), other)
    expect(mocked.ran).toEqual([])
    expect(JSON.stringify(findAll(told, 'afterToolCall'))).toContain('"mocked":true')
  })
})

it('lies below the tool that is its workflow', async () => {
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  await run(WAYS['a node of a workflow that is a tool']?.(wiping()), dispatcher)

  expect(tree.lines().slice(0, 5)).toEqual([
    'invoke_agent cleaner',
    '  step 0',
    '    chat contract',
    '    execute_tool cleaning',
    '      execute_tool wipe',
  ])
})

it('is left as it was once the plugin is, and is refused where it is frozen', async () => {
  const { tool, workflow, ran } = wiping()
  const dispatcher = new HookDispatcher()
  const plugin = hookspanPlugin({ dispatcher })
  const runner = new InMemoryRunner({ agent: workflow(), appName: 'test', plugins: [plugin] })
  const session = await runner.sessionService.createSession({ appName: 'test', userId: 'u' })
  const newMessage = { role: 'user', parts: [{ text: '{"what":"all"}' }] }
  for await (const _event of runner.runAsync({ userId: 'u', sessionId: session.id, newMessage })) {
  }
  expect(Object.hasOwn(tool, 'runAsync')).toBe(true)
  plugin[Symbol.dispose]()
  expect(Object.hasOwn(tool, 'runAsync')).toBe(false)
  expect(ran).toEqual(['all'])

  Object.freeze(tool)
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
  await expect(run(workflow(), dispatcher)).rejects.toThrow(/nobody would be asked/)
  expect(ran).toEqual(['all'])
})

describe('a plugin before ours', () => {
  const theirs = (callbacks: object) => Object.assign(new BasePlugin('theirs'), callbacks)
  const words = (text: string) => async () => ({ role: 'user', parts: [{ text }] })
  const asked = async (dispatcher: HookDispatcher, callbacks: object) => {
    const { ran, tool } = wiping()
    const said = await run(agentWith(tool), dispatcher, [theirs(callbacks)]).catch(String)
    await settled(dispatcher)
    return { ran, said }
  }

  it('that gives the message keeps no gate and no mock from the tools', async () => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
    const { ran } = await asked(dispatcher, { onUserMessageCallback: words('changed') })
    expect(ran).toEqual([])
    expect(findAll(events, 'onStart').map(({ input }) => input)).toEqual(['changed'])
  })

  it('that gives the message is told where a gate would change it', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({
      name: 'words',
      gates: [{ id: 'g', point: 'onStart', decide: () => mutate({ input: 'other' }) }],
    })
    const { ran, said } = await asked(dispatcher, { onUserMessageCallback: words('changed') })
    expect(ran).toEqual([])
    expect(said).toMatch(/Put hookspanPlugin first/)
  })

  it.each([
    ['answers', words('early'), 'done'],
    ['fails', () => Promise.reject(new Error('down')), 'error'],
  ])('that %s the run ends it', async (_how, beforeRunCallback, reason) => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    await asked(dispatcher, { beforeRunCallback })
    expect(findAll(events, 'onComplete').map((event) => event.reason)).toEqual([reason])
  })
})

describe('a workflow that is the whole run', () => {
  const failing = (error: Error) =>
    new Workflow({
      name: 'failing',
      dynamicEntry: async () => {
        throw error
      },
    })
  const ask = async (agent: Untyped, others: object[] = [], leavesAt = Number.POSITIVE_INFINITY) => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const plugins = [...others, hookspanPlugin({ dispatcher, agentName: 'cleaner' })]
    const runner = new InMemoryRunner({ agent, appName: 'test', plugins })
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'test', userId: 'u' })
    const newMessage = { role: 'user', parts: [{ text: '{"what":"all"}' }] }
    let seen = 0
    const reading = (async () => {
      for await (const _event of runner.runAsync({ userId: 'u', sessionId, newMessage }))
        if (++seen === leavesAt) break
    })()
    const thrown = await reading.then(
      () => undefined,
      (error: Error) => error.message,
    )
    await dispatcher.drain()
    return { thrown, ends: findAll(events, 'onComplete').map(({ reason }) => reason), events }
  }

  it('fails with its node', async () => {
    const { thrown, ends, events } = await ask(failing(new Error('no brush')))
    expect(thrown).toContain('no brush')
    expect(ends).toEqual(['error'])
    expect(findAll(events, 'onError')[0]?.error).toMatchObject({ message: 'no brush' })
  })

  it('fails with the plugin that refuses it before ours', async () => {
    const refusing = Object.assign(new BasePlugin('refusing'), {
      beforeNodeCallback: () => Promise.reject(new Error('not today')),
    })
    expect((await ask(wiping().workflow(), [refusing])).ends).toEqual(['error'])
  })

  it.each([1, 2])('ends where its reader leaves at event %i', async (leavesAt) => {
    const { thrown, ends } = await ask(WAYS['a node, and a tool of an agent']?.(wiping()), [], leavesAt)
    expect(thrown).toBeUndefined()
    expect(ends).toEqual(['done'])
  })
})

it('agents that ask side by side begin one step', async () => {
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  const subAgents = ['a', 'b'].map(
    (name) => new LlmAgent({ name, model: new ScriptedLlm([{ content: name }]) }),
  )
  await run(new ParallelAgent({ name: 'both', subAgents }), dispatcher)
  expect(tree.lines()).toEqual(['invoke_agent cleaner', '  step 0', '    chat contract', '    chat contract'])
})

describe('a live run', () => {
  const model = () => {
    const live = new ScriptedLlm([])
    const reply = {
      content: {
        role: 'model',
        parts: [{ functionCall: { id: 'c1', name: 'wipe', args: { what: 'all' } } }],
      },
    }
    const none = async () => {}
    const connection = {
      sendHistory: none,
      sendContent: none,
      sendRealtime: none,
      close: none,
      async *receive() {
        yield reply
        yield { turnComplete: true }
      },
    }
    return Object.assign(live, { connect: async () => connection })
  }
  const runLive = async (dispatcher: HookDispatcher, tool: Untyped) => {
    const agent = new LlmAgent({ name: 'live', model: model(), tools: [tool] })
    const runner = new InMemoryRunner({ agent, appName: 'test', plugins: [hookspanPlugin({ dispatcher })] })
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'test', userId: 'u' })
    const liveRequestQueue = new LiveRequestQueue()
    liveRequestQueue.sendContent({ role: 'user', parts: [{ text: 'go' }] })
    const events = runner.runLive({ userId: 'u', sessionId, liveRequestQueue })
    for await (const { turnComplete } of events) if (turnComplete) break
    liveRequestQueue.close()
  }

  it('is told as one run without insides', async () => {
    const { ran, tool } = wiping()
    const tree = activityTree()
    const dispatcher = new HookDispatcher()
    dispatcher.use(tree.plugin)
    await runLive(dispatcher, tool)
    await settled(dispatcher)
    expect({ ran, told: tree.lines() }).toEqual({ ran: ['all'], told: ['invoke_agent live'] })
  })

  it.each(['a gate', 'a mock', 'a gate of the run around it'])(
    'is refused where there is %s',
    async (what) => {
      const { ran, tool } = wiping()
      const dispatcher = new HookDispatcher()
      if (what === 'a mock') mockTools(dispatcher, [mock('wipe').returns('mocked').optional()])
      else dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
      const go = () => runLive(dispatcher, tool)
      const outer = () => dispatcher.startOperation({ agentName: 'outer' }).run(go)
      await expect(what.endsWith('it') ? outer() : go()).rejects.toMatchObject({ code: 'NOT_CAPABLE' })
      expect(ran).toEqual([])
    },
  )
})

describe('a session that cannot be written', () => {
  it.each([1, 2, 3])('fails the run, at event %d', async (failing) => {
    const { tool } = wiping()
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    let written = 0
    class Full extends InMemorySessionService {
      async appendEvent(asked: Untyped) {
        if (++written === failing) throw new Error('the disk is full')
        return super.appendEvent(asked)
      }
    }
    const sessionService = new Full() as Untyped
    const plugins = [hookspanPlugin({ dispatcher })]
    const runner = new Runner({ agent: agentWith(tool), appName: 'test', sessionService, plugins })
    const { id: sessionId } = await sessionService.createSession({ appName: 'test', userId: 'u' })
    const newMessage = { role: 'user', parts: [{ text: 'go' }] }
    const read = async () => {
      for await (const _event of runner.runAsync({ userId: 'u', sessionId, newMessage }));
    }
    await expect(read()).rejects.toThrow('the disk is full')
    await settled(dispatcher)
    expect(findAll(events, 'onComplete').map(({ reason }) => reason)).toEqual(['error'])
    expect(Object.hasOwn(sessionService, 'appendEvent')).toBe(false)
  })

  it('is no run where there is no message', async () => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const plugins = [hookspanPlugin({ dispatcher })]
    const runner = new InMemoryRunner({ agent: agentWith(wiping().tool), appName: 'test', plugins })
    const read = async (newMessage: unknown) => {
      for await (const _event of runner.runEphemeral({ userId: 'u', newMessage }));
    }
    await read(undefined)
    await expect(read({ role: 'user', parts: [] })).rejects.toThrow('No parts')
    await settled(dispatcher)
    expect(findAll(events, 'onStart')).toEqual([])
  })
})

it('what the function of a node asks lies in the run of its workflow', async () => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const look = wrapTools({ look: async () => 'seen' }, { dispatcher })
  const handler = async function* () {
    yield await look.look()
    yield await look.look()
  }
  const workflow = () => new Workflow({ name: 'own', edges: [[START, new FunctionNode('looks', handler)]] })
  const run = async (more: object) => {
    const runner = new InMemoryRunner({ agent: workflow(), appName: 'shop', ...more })
    const given: unknown[] = []
    const newMessage = { role: 'user', parts: [{ text: 'go' }] }
    for await (const { output } of runner.runEphemeral({ userId: 'u', newMessage })) given.push(output)
    return given
  }
  const bare = await run({})
  events.length = 0

  expect(await run({ plugins: [hookspanPlugin({ dispatcher })] })).toEqual(bare)

  expect(findAll(events, 'onStart')).toHaveLength(1)
  expect(findAll(events, 'afterToolCall')).toHaveLength(2)
})
