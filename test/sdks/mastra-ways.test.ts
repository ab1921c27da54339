import { HookDispatcher } from 'hookspan'
import { wrapTools } from 'hookspan/adapter'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { deny } from 'hookspan/gates'
import { observeMastra, parkedRun } from 'hookspan/mastra'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { activityTree } from '../support/activity-tree.ts'
import { settled } from '../support/seen-by-caller.ts'
import { eventsOf, findAll } from '../support/told-events.ts'
import type { Untyped } from './support/sdks.ts'

const NAMES = {
  core: '@mastra/core',
  agent: '@mastra/core/agent',
  memory: '@mastra/core/memory',
  storage: '@mastra/core/storage',
  tools: '@mastra/core/tools',
  workflows: '@mastra/core/workflows',
}
const EVENTED = '@mastra/core/workflows/evented'
const sdk: Untyped = Object.assign(
  {},
  ...(await Promise.all(Object.values(NAMES).map((name) => import(name)))),
)

const memory = { thread: 't', resource: 'r' }
const textOf = async ({ textStream }: Untyped) => {
  let text = ''
  for await (const piece of textStream) text += piece
  return text
}

/** The ways to ask an agent, beside `generate()` and `stream()`. */
const WAYS: Record<string, (agent: Untyped) => Promise<unknown>> = {
  'streamUntilIdle()': async (agent) => textOf(await agent.streamUntilIdle('hi', { memory })),
  'stream() until it is idle': async (agent) => textOf(await agent.stream('hi', { memory, untilIdle: true })),
  'stream() until it is idle, with a limit': async (agent) =>
    textOf(await agent.stream('hi', { memory, untilIdle: { maxIdleMs: 100 } })),
  'sendMessage()': async (agent) => {
    agent.sendMessage('hi', { threadId: 't', resourceId: 'r' })
    return 'done'
  },
}

it.each(Object.entries(WAYS))('%s is one run, and a tool that is denied does not run', async (_name, use) => {
  for (const denied of [false, true]) {
    const ran: unknown[] = []
    const tree = activityTree()
    const dispatcher = new HookDispatcher()
    dispatcher.use(tree.plugin)
    if (denied) dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
    const wipe = sdk.createTool({
      id: 'wipe',
      description: 'Wipes.',
      inputSchema: { type: 'object', properties: { what: { type: 'string' } } },
      execute: async ({ what }: Untyped) => {
        ran.push(what)
        return 'wiped'
      },
    })
    const replies = [{ toolCalls: [{ id: 'c', name: 'wipe', args: { what: 'all' } }] }, { content: 'done' }]
    const agent = observeMastra<Untyped>(
      new sdk.Agent({
        id: 's',
        name: 's',
        instructions: '',
        model: scripted(replies),
        tools: { wipe },
        memory: new sdk.MockMemory(),
      }),
      { dispatcher },
    )
    new sdk.Mastra({ agents: { s: agent }, storage: new sdk.InMemoryStore(), logger: false })

    expect(await use(agent)).toBe('done')
    await expect.poll(() => tree.lines().length).toBe(6)
    await settled(dispatcher)
    expect(ran).toEqual(denied ? [] : ['all'])
    expect(tree.lines()).toEqual([
      'invoke_agent s',
      '  step 0',
      '    chat contract',
      '    execute_tool wipe',
      '  step 1',
      '    chat contract',
    ])
  }
})

const { createStep, createWorkflow, cloneStep } = sdk
const evented: Untyped = await import(EVENTED)
const flowOf = (create: Untyped) =>
  create({
    id: 'flow',
    description: 'Wipes.',
    inputSchema: z.object({ what: z.string() }),
    outputSchema: z.any(),
  })

/** What the steps of a workflow are: whether its tool is decided on, or refused where a gate is meant for it. */
const STEPS: [
  name: string,
  flow: (wipe: Untyped, expert: Untyped) => Untyped,
  held: 'decided' | 'refused',
][] = [
  ['a tool by its id', () => flowOf(createWorkflow).tool('wipe'), 'decided'],
  [
    'a tool for each of a list',
    (wipe) =>
      flowOf(createWorkflow)
        .map(async ({ inputData }: Untyped) => [inputData])
        .foreach(createStep(wipe)),
    'decided',
  ],
  [
    'a copy of a step that is a tool',
    (wipe) => flowOf(createWorkflow).then(cloneStep(createStep(wipe), { id: 'copy' })),
    'refused',
  ],
  ['a tool, on events', (wipe) => flowOf(evented.createWorkflow).then(evented.createStep(wipe)), 'refused'],
  ['a tool by its id, on events', () => flowOf(evented.createWorkflow).tool('wipe'), 'refused'],
  [
    'an agent, on events',
    (_wipe, expert) => flowOf(evented.createWorkflow).then(evented.createStep(expert)),
    'refused',
  ],
]

it.each(STEPS)('a workflow whose step is %s', async (_name, flowWith, held) => {
  const ran: unknown[] = []
  const wipe = sdk.createTool({
    id: 'wipe',
    description: 'Wipes.',
    inputSchema: z.object({ what: z.string() }),
    outputSchema: z.string(),
    execute: async ({ what }: Untyped) => {
      ran.push(what)
      return 'wiped'
    },
  })
  const expert = new sdk.Agent({
    id: 'expert',
    name: 'expert',
    instructions: '',
    model: scripted([]),
    tools: { wipe },
  })
  const flow = flowWith(wipe, expert).commit()
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  // By its name alone.
  const gates = [{ id: 'careful', point: 'beforeToolCall' as const, match: 'wipe', decide: () => deny('no') }]
  dispatcher.use({ name: 'careful', gates })
  const args = { inputData: { what: 'all' } }
  const replies = [{ toolCalls: [{ id: 'c', name: 'workflow-flow', args }] }, { content: 'done' }]
  const agent = observeMastra<Untyped>(
    new sdk.Agent({ id: 's', name: 's', instructions: '', model: scripted(replies), workflows: { flow } }),
    { dispatcher },
  )
  new sdk.Mastra({ agents: { s: agent }, tools: { wipe }, workflows: { flow }, logger: false })

  const said = await agent.generate('go').then(
    ({ text }: Untyped) => text,
    ({ code }: Untyped) => code,
  )
  await settled(dispatcher)
  expect(ran).toEqual([])
  expect(said).toBe(held === 'decided' ? 'done' : 'NOT_CAPABLE')
  const denied = findAll(events, 'afterToolCall').filter(({ outcome }) => outcome === 'denied')
  expect(denied.map(({ apiName }) => apiName)).toEqual(held === 'decided' ? ['wipe'] : [])
})

it('a workflow that no agent calls is held in tools that are wrapped', async () => {
  const ran: unknown[] = []
  const wipe = sdk.createTool({
    id: 'wipe',
    description: 'Wipes.',
    inputSchema: z.object({ what: z.string() }),
    outputSchema: z.string(),
    execute: async ({ what }: Untyped) => ran.push(what),
  })
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
  const tools = wrapTools({ wipe }, { dispatcher })
  const run = await flowOf(createWorkflow).then(createStep(tools.wipe)).commit().createRun()

  const { status, error } = await run.start({ inputData: { what: 'all' } })
  expect({ status, said: error.message, ran }).toEqual({
    status: 'failed',
    said: expect.stringContaining('tool_not_allowed'),
    ran: [],
  })
})

it('what code mode calls is held in tools that are wrapped', async () => {
  const ran: unknown[] = []
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
  const { wipe } = wrapTools({ wipe: wiping(ran) }, { dispatcher })
  // In the place of a sandbox that runs the model's program.
  const transport = {
    requiresSandbox: false,
    run: ({ dispatch }: Untyped) => dispatch('wipe', { what: 'all' }),
  }
  const { tool } = sdk.createCodeMode({ tools: { wipe } }, transport)
  const agent = observeMastra(agentWith(tool, { code: 'return await external_wipe({ what: "all" })' }), {
    dispatcher,
  })

  expect((await agent.generate('go')).text).toBe('done')
  expect(ran).toEqual([])
})

/** A human answers as soon as the stream says that one is asked. */
describe('a run that goes on from within the loop that reads its stream', () => {
  const asked = async (
    wipe: Untyped,
    dispatcher: HookDispatcher,
    answer: (agent: Untyped, runId: string) => Untyped,
  ) => {
    const agent = observeMastra(agentWith(wipe, { what: 'all' }), { dispatcher })
    new sdk.Mastra({ agents: { s: agent }, storage: new sdk.InMemoryStore(), logger: false })
    const stream = await agent.stream('go')
    for await (const { type } of stream.fullStream) {
      if (type !== 'tool-call-approval' && type !== 'tool-call-suspended') continue
      return textOf(await answer(agent, stream.runId))
    }
  }

  it('is that run, where our gate asks: what was approved runs, and nobody is asked again', async () => {
    const ran: unknown[] = []
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
    dispatcher.use(approvals)
    dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'wipe' })] })
    const said = await asked(wiping(ran), dispatcher, async (agent, runId) => {
      for (const { request } of await approvals.list({ status: 'pending' })) {
        const { id, argsDigest } = request
        await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })
      }
      return agent.resumeStream({}, { runId })
    })
    await settled(dispatcher)
    expect({ said, ran }).toEqual({ said: 'done', ran: ['all'] })
    expect(await approvals.list({ status: 'pending' })).toEqual([])
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'onComplete')).toHaveLength(1)
  })

  it('is that run, where Mastra asks', async () => {
    const ran: unknown[] = []
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const wipe = wiping(ran, { requireApproval: true })
    const said = await asked(wipe, dispatcher, (agent, runId) => agent.approveToolCall({ runId }))
    await settled(dispatcher)
    expect({ said, ran }).toEqual({ said: 'done', ran: ['all'] })
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'onComplete')).toHaveLength(1)
  })
})

it.each([true, false])(
  'what a tool asked by its own suspend() is answered with `approved: %s`',
  async (approved) => {
    const answers: unknown[] = []
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const wipe = wiping([], {
      execute: async (_: unknown, { agent: { resumeData, suspend } }: Untyped) => {
        if (resumeData === undefined) return suspend({ sure: false })
        answers.push(resumeData)
        return 'wiped'
      },
      suspendSchema: z.object({ sure: z.boolean() }),
      resumeSchema: z.object({ approved: z.boolean() }),
    })
    const agent = observeMastra(agentWith(wipe, { what: 'all' }), { dispatcher })
    new sdk.Mastra({ agents: { s: agent }, storage: new sdk.InMemoryStore(), logger: false })

    const { runId, finishReason } = await agent.generate('go')
    expect(finishReason).toBe('suspended')
    expect((await agent.resumeGenerate({ approved }, { runId })).text).toBe('done')
    await settled(dispatcher)
    expect(answers).toEqual([{ approved }])
    expect(findAll(events, 'afterToolCall').map(({ outcome }) => outcome)).toEqual(['completed'])
  },
)

it('what Mastra asks about in a sub-agent is told there, and not once more above', async () => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const asked: unknown[] = []
  const approver = {
    requestApproval: async ({ operationId, apiName }: Untyped) => {
      asked.push([operationId, apiName])
      return { decision: 'approve' as const }
    },
  }
  dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'wipe' })], approver })
  const expert = agentWith(wiping([], { requireApproval: true }), { what: 'all' }, 'expert')
  const replies = [{ toolCalls: [{ id: 'a', name: 'agent-expert', args: { prompt: 'go' } }] }]
  const agent = observeMastra<Untyped>(
    new sdk.Agent({
      id: 's',
      name: 's',
      instructions: '',
      model: scripted(replies),
      agents: { expert },
      memory: new sdk.MockMemory(),
    }),
    { dispatcher },
  )
  new sdk.Mastra({ agents: { s: agent }, storage: new sdk.InMemoryStore(), logger: false })

  const stream = await agent.stream('go', { memory })
  expect(await textOf(stream)).toBe('')
  expect((await parkedRun(stream))?.waitingFor).toBe('human')
  await settled(dispatcher)
  const [, below] = findAll(events, 'onStart')
  expect(asked).toEqual([[below?.operationId, 'wipe']])
})

it('a step of a workflow that would wait for a human in another process is refused', async () => {
  const ran: unknown[] = []
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  dispatcher.use(createApprovals({ store: memoryStore(), mode: 'park' }))
  dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'wipe' })] })
  const flow = flowOf(createWorkflow)
    .then(createStep(wiping(ran, { outputSchema: z.any() })))
    .commit()
  const args = { inputData: { what: 'all' } }
  const replies = [{ toolCalls: [{ id: 'c', name: 'workflow-flow', args }] }, { content: 'done' }]
  const agent = observeMastra<Untyped>(
    new sdk.Agent({ id: 's', name: 's', instructions: '', model: scripted(replies), workflows: { flow } }),
    { dispatcher },
  )

  expect((await agent.generate('go')).text).toBe('done')
  await settled(dispatcher)
  expect(ran).toEqual([])
  const told = findAll(events, 'afterToolCall').filter(({ apiName }) => apiName === 'wipe')
  expect(told.map(({ outcome, code }) => [outcome, code])).toEqual([['denied', 'approval_error']])
})

function wiping(ran: unknown[], more: object = {}): Untyped {
  return sdk.createTool({
    id: 'wipe',
    description: 'Wipes.',
    inputSchema: z.object({ what: z.string() }),
    execute: async ({ what }: Untyped) => {
      ran.push(what)
      return 'wiped'
    },
    ...more,
  })
}

/** An agent that calls its tool once. */
function agentWith(tool: Untyped, args: object, id = 's'): Untyped {
  const replies = [{ toolCalls: [{ id: 'c', name: tool.id, args }] }, { content: 'done' }]
  return new sdk.Agent({
    id,
    name: id,
    description: id,
    instructions: '',
    model: scripted(replies as never),
    tools: { [tool.id]: tool },
  })
}

/** Who may choose another model for a step than the agent's. */
const CHOICES: Record<string, (choose: (step: Untyped) => Untyped) => { agent?: object; asked?: object }> = {
  'prepareStep of the call': (choose) => ({ asked: { prepareStep: choose } }),
  'prepareStep of the agent': (choose) => ({ agent: { defaultOptions: { prepareStep: choose } } }),
  'an input processor': (choose) => ({
    agent: { inputProcessors: [{ id: 'p', name: 'p', processInputStep: choose }] },
  }),
  'an input processor, before a prepareStep that gives messages': (choose) => ({
    agent: { inputProcessors: [{ id: 'p', name: 'p', processInputStep: choose }] },
    asked: { prepareStep: ({ messages }: Untyped) => messages },
  }),
  'an input processor, before a prepareStep that gives their list': (choose) => ({
    agent: { inputProcessors: () => [{ id: 'p', name: 'p', processInputStep: choose }] },
    asked: { prepareStep: ({ messageList }: Untyped) => messageList },
  }),
}

describe.each(Object.entries(CHOICES))('the model of a step that %s chooses', (_name, chosenBy) => {
  const run = async (dispatcher: HookDispatcher | undefined, method: string) => {
    const look = sdk.createTool({
      id: 'look',
      description: '',
      inputSchema: z.object({}),
      execute: async () => 'ok',
    })
    const other = scripted([{ content: 'said by the other' }])
    const { agent: more, asked } = chosenBy(({ stepNumber }) => (stepNumber === 1 ? { model: other } : {}))
    const model = scripted([{ toolCalls: [{ id: 'c', name: 'look', args: {} }] }])
    const agent = new sdk.Agent({ id: 's', name: 's', instructions: '', model, tools: { look }, ...more })
    if (dispatcher) observeMastra(agent, { dispatcher })
    const result = await agent[method]('hi', asked)
    const said = { text: await result.text, usage: await result.totalUsage }
    return { said, asked: other.doGenerateCalls.length + other.doStreamCalls.length }
  }

  it.each(['generate', 'stream'])('is a model call, with its tokens: %s()', async (method) => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    expect(await run(dispatcher, method)).toEqual(await run(undefined, method))
    await dispatcher.drain()
    expect(findAll(events, 'afterLlmCall').map(({ stepIndex }) => stepIndex)).toEqual([0, 1])
    const { inputTokens } = findAll(events, 'afterLlmCall')[0]?.usage ?? {}
    expect(findAll(events, 'onComplete')).toMatchObject([
      { totals: { usage: { inputTokens: 2 * (inputTokens ?? 0) } } },
    ])
  })

  it.each(['generate', 'stream'])('is asked nothing that a gate refuses: %s()', async (method) => {
    const dispatcher = new HookDispatcher()
    const decide = ({ stepIndex }: { stepIndex?: number }) => (stepIndex === 1 ? deny('no') : undefined)
    dispatcher.use({ name: 'careful', gates: [{ id: 'no', point: 'beforeLlmCall', decide }] })
    expect(await run(dispatcher, method)).toMatchObject({ asked: 0, said: { text: 'no' } })
  })
})
