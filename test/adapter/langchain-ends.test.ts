import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Command, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { deny } from 'hookspan/gates'
import { hookspanCallbacks, hookspanMiddleware } from 'hookspan/langchain'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import {
  createAgent,
  createMiddleware,
  humanInTheLoopMiddleware,
  modelCallLimitMiddleware,
  tool,
  toolCallLimitMiddleware,
} from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { dispatcherWith, findAll, typesOf } from '../support/told-events.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const search = tool(({ q }) => `found ${q}`, {
  name: 'search',
  description: 'Searches.',
  schema: z.object({ q: z.string() }),
})

/** Searches on and on. */
function searchesOn(times = 9) {
  const model = fakeModel()
  const asks = (messages: BaseMessage[]) =>
    new AIMessage({
      content: '',
      tool_calls: [{ name: 'search', args: { q: 'a' }, id: String(messages.length) }],
    })
  for (let call = 0; call < times; call++) model.respond(asks)
  return model
}

/** It keeps whatever it was called with. */
function forgetCalls(model: object): void {
  const { calls } = (model as { _state: { calls: unknown[] } })._state
  calls.length = 0
}

const hi = { messages: [new HumanMessage('hi')] }

const throwing = createMiddleware({
  name: 'throwing',
  beforeModel: ({ messages }) => {
    if (messages.length > 1) throw new Error('no more')
  },
})

const jumping = createMiddleware({
  name: 'jumping',
  beforeModel: {
    canJumpTo: ['end'],
    hook: ({ messages }) =>
      messages.length > 1
        ? { jumpTo: 'end', messages: [new AIMessage('No more: a limit of ours.')] }
        : undefined,
  },
})

const toolLimit = toolCallLimitMiddleware({ runLimit: 1, exitBehavior: 'error' })

const callLimit = (exitBehavior: 'end' | 'error') => modelCallLimitMiddleware({ runLimit: 2, exitBehavior })

/** How a run may end without a middleware being told, and what is told of it where callbacks are. */
const ENDS = [
  ['its recursionLimit', [], 6, /Recursion limit/, 'max_steps'],
  ['a limit of model calls that throws', [callLimit('error')], 25, /limits exceeded/, 'max_steps'],
  ["another middleware's throw", [throwing], 25, /no more/, 'error'],
  ['a limit of tool calls that throws', [toolLimit], 25, /limit reached/, 'max_steps'],
  ['a jump to the end', [jumping], 25, undefined, 'done'],
] as const

describe.each(ENDS)('a run that ends by %s', (_, others, recursionLimit, why, reason) => {
  const observed = () => {
    const { dispatcher, events } = dispatcherWith()
    const model = searchesOn()
    const agent = createAgent({
      model,
      tools: [search],
      middleware: [hookspanMiddleware({ dispatcher, agentName: 'worker' }), ...others],
    })
    return { dispatcher, events, agent, model }
  }
  // Nothing of it is kept, neither the promise nor the error.
  const ended = async (run: Promise<unknown>) => {
    const said = await run.then(
      () => undefined,
      ({ message }: Error) => message,
    )
    if (why === undefined) expect(said).toBeUndefined()
    else expect(said).toMatch(why)
  }

  it('is told so, and all of it once, with callbacks beside the middleware', async () => {
    const { dispatcher, events, agent, model } = observed()
    const callbacks = [hookspanCallbacks({ dispatcher }), hookspanCallbacks({ dispatcher })]
    await ended(agent.withConfig({ callbacks }).invoke(hi, { recursionLimit, callbacks }))
    await dispatcher.drain()
    const told = { reason, ...(reason === 'done' && { content: expect.stringContaining('limit') }) }
    expect(findAll(events, 'onComplete')).toMatchObject([{ agentName: 'worker', ...told }])
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'afterLlmCall')).toHaveLength(model.calls.length)
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('is over without callbacks once nothing is left of it', async () => {
    const { dispatcher, events, agent, model } = observed()
    await ended(agent.invoke(hi, { recursionLimit }))
    expect(dispatcher.stats().operations).toBe(1)
    forgetCalls(model)
    await untilNone(dispatcher)
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted', abandoned: true }])
  })

  it('is over with the tool that called it', async () => {
    const { dispatcher, events, agent } = observed()
    const ask = tool(
      async () => {
        const { messages } = await agent.invoke(hi, { recursionLimit })
        return messages.at(-1)?.text ?? ''
      },
      { name: 'ask', description: 'Asks.', schema: z.object({}) },
    )
    const main = createAgent({
      model: fakeModel()
        .respondWithTools([{ name: 'ask', args: {}, id: '1' }])
        .respond(new AIMessage('done')),
      tools: [ask],
      middleware: [hookspanMiddleware({ dispatcher, agentName: 'main' })],
    })
    await main.invoke(hi)
    await dispatcher.drain()
    expect(findAll(events, 'onComplete')).toMatchObject([
      { agentName: 'worker', reason },
      { agentName: 'main', reason: 'done' },
    ])
    expect(dispatcher.stats().operations).toBe(0)
  })
})

describe("a run that LangChain's own limits end with a word of theirs", () => {
  const limits = [
    ['model calls', callLimit('end'), /^Model call limits exceeded: /],
    [
      'tool calls',
      toolCallLimitMiddleware({ runLimit: 1, exitBehavior: 'end' }),
      /^Tool call limit reached: /,
    ],
    [
      'calls of one tool',
      toolCallLimitMiddleware({ toolName: 'search', runLimit: 1, exitBehavior: 'end' }),
      /^'search' tool call limit reached: /,
    ],
  ] as const
  it.each(limits)('has the reason max_steps: %s', async (_, limit, content) => {
    const { dispatcher, events } = dispatcherWith()
    const middleware = [hookspanMiddleware({ dispatcher }), limit]
    const agent = createAgent({ model: searchesOn(), tools: [search], middleware })
    const { messages } = await agent.invoke(hi, { callbacks: [hookspanCallbacks({ dispatcher })] })
    expect(messages.at(-1)?.text).toMatch(content)
    await dispatcher.drain()
    expect(findAll(events, 'onComplete')).toMatchObject([
      { reason: 'max_steps', content: expect.stringMatching(content) },
    ])
  })

  it('is done where the model itself says so', async () => {
    const { dispatcher, events } = dispatcherWith()
    const model = fakeModel().respond(
      new AIMessage('Tool call limit reached: run limit exceeded (2/1 calls).'),
    )
    await createAgent({ model, middleware: [hookspanMiddleware({ dispatcher })] }).invoke(hi)
    await dispatcher.drain()
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done' }])
  })
})

it('a gate that refuses the result of an agent that jumps to its end refuses it to the tool that called it', async () => {
  const { dispatcher, events } = dispatcherWith({
    id: 'no',
    point: 'beforeComplete',
    decide: ({ agentName }) => (agentName === 'worker' ? deny('Nobody has read it.') : undefined),
  })
  const worker = createAgent({
    model: searchesOn(),
    tools: [search],
    middleware: [
      hookspanMiddleware({ dispatcher, agentName: 'worker' }),
      modelCallLimitMiddleware({ runLimit: 2 }),
    ],
  })
  const ask = tool(async () => (await worker.invoke(hi)).messages.at(-1)?.text ?? '', {
    name: 'ask',
    description: 'Asks.',
    schema: z.object({}),
  })
  await createAgent({
    model: fakeModel()
      .respondWithTools([{ name: 'ask', args: {}, id: '1' }])
      .respond(new AIMessage('done')),
    tools: [ask],
    middleware: [hookspanMiddleware({ dispatcher, agentName: 'main' })],
  }).invoke(hi)
  await dispatcher.drain()
  const failed = findAll(events, 'onToolCallError').filter(({ apiName }) => apiName === 'ask')
  expect(failed).toMatchObject([{ errorMessage: expect.stringContaining('Nobody has read it.') }])
})

async function untilNone(dispatcher: ReturnType<typeof dispatcherWith>['dispatcher'], left = 0) {
  await expect
    .poll(
      () => {
        gc()
        return dispatcher.stats().operations
      },
      { timeout: 20_000, interval: 50 },
    )
    .toBe(left)
  await dispatcher.drain()
}

it('of a thread a run is over without callbacks once another has begun there and nothing is left of it', async () => {
  const { dispatcher, events } = dispatcherWith()
  const model = searchesOn()
  const agent = createAgent({
    model,
    tools: [search],
    middleware: [hookspanMiddleware({ dispatcher })],
    checkpointer: new MemorySaver(),
  })
  const config = { configurable: { thread_id: 'one' }, recursionLimit: 5 }
  for (let run = 0; run < 2; run++) await agent.invoke(hi, config).catch(() => {})
  forgetCalls(model)
  await untilNone(dispatcher, 1)
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted' }])
})

describe('with callbacks beside the middleware', () => {
  it('a run that somebody else asks a human in waits, and goes on as itself', async () => {
    const { dispatcher, events } = dispatcherWith()
    const agent = createAgent({
      model: searchesOn(1).respond(new AIMessage('done')),
      tools: [search],
      middleware: [
        hookspanMiddleware({ dispatcher }),
        humanInTheLoopMiddleware({ interruptOn: { search: true } }),
      ],
      checkpointer: new MemorySaver(),
    })
    const callbacks = [hookspanCallbacks({ dispatcher })]
    const config = { configurable: { thread_id: 'one' }, callbacks }
    await agent.invoke(hi, config)
    await dispatcher.drain()
    expect(typesOf(events)).toEqual([
      'onStart',
      'beforeStep',
      'beforeLlmCall',
      'afterLlmCall',
      'beforeHumanIntervention',
    ])
    expect(dispatcher.stats().operations).toBe(0)
    const resumed = await agent.invoke(new Command({ resume: { decisions: [{ type: 'approve' }] } }), config)
    expect(resumed.messages.at(-1)?.text).toBe('done')
    await dispatcher.drain()
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'afterLlmCall')).toHaveLength(2)
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done', content: 'done' }])
  })

  it('gates hold, and a call that a human approves is made once', async () => {
    const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
    const { dispatcher, events } = dispatcherWith(
      toolPolicy({ deny: ['other'] }),
      requireHuman({ match: 'search' }),
    )
    dispatcher.use(approvals)
    const agent = createAgent({
      model: searchesOn(1).respond(new AIMessage('done')),
      tools: [search],
      middleware: [hookspanMiddleware({ dispatcher })],
      checkpointer: new MemorySaver(),
    })
    const callbacks = [hookspanCallbacks({ dispatcher })]
    const config = { configurable: { thread_id: 'one' }, callbacks }
    const first = (await agent.invoke(hi, config)) as { __interrupt__?: { value: object }[] }
    for (const { request } of await approvals.list({ status: 'pending' })) {
      await approvals.respond(request.id, {
        decision: 'approve',
        approver: 'ann',
        argsDigest: request.argsDigest,
      })
    }
    const resume = first.__interrupt__?.[0]?.value
    const { messages } = await agent.invoke(new Command({ resume }), config)
    expect(messages.at(-1)?.text).toBe('done')
    await dispatcher.drain()
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ apiName: 'search', content: 'found a' }])
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done' }])
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('an agent in a node of a graph is a sub-agent of it, and all of it is told once', async () => {
    const tree = activityTree()
    const { dispatcher } = dispatcherWith()
    dispatcher.use(tree.plugin)
    const agent = createAgent({
      model: searchesOn(1).respond(new AIMessage('done')),
      tools: [search],
      middleware: [hookspanMiddleware({ dispatcher, agentName: 'worker' })],
    })
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('worker', agent.graph as never)
      .addNode('says', async (_state, config) => ({
        messages: [await fakeModel().respond(new AIMessage('bye')).invoke('Say it.', config)],
      }))
      .addEdge(START, 'worker')
      .addEdge('worker' as never, 'says' as never)
      .compile({ name: 'whole' })
    await graph.invoke(hi, { callbacks: [hookspanCallbacks({ dispatcher })] })
    await dispatcher.drain()
    expect(tree.lines()).toEqual([
      'invoke_agent whole',
      '  agent',
      '    invoke_agent worker',
      '      step 0',
      '        chat fake-model-builder',
      '        execute_tool search',
      '      step 1',
      '        chat fake-model-builder',
      '  chat FakeBuiltModel',
    ])
    expect(dispatcher.stats().operations).toBe(0)
  })

  it.each([
    ['its graph', false],
    ['the agent', true],
  ])('an agent that a graph without has as a node, as %s, is a run of its own', async (_, isCalled) => {
    const tree = activityTree()
    const { dispatcher } = dispatcherWith()
    dispatcher.use(tree.plugin)
    const model = searchesOn()
    const agent = createAgent({
      model,
      tools: [search],
      middleware: [hookspanMiddleware({ dispatcher, agentName: 'worker' })],
    }).withConfig({ callbacks: [hookspanCallbacks({ dispatcher })] })
    const call = (state: typeof hi, config: object) => agent.invoke(state, config)
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('worker', (isCalled ? call : agent.graph) as never)
      .addEdge(START, 'worker' as never)
      .compile()
    // Of somebody else, so that the agent's runs have one above them.
    const callbacks = [{ name: 'other', handleChainStart() {} }]
    await graph.invoke(hi, { callbacks, recursionLimit: 6 }).catch(() => {})
    await dispatcher.drain()
    expect(tree.lines().filter((line) => line.includes('invoke'))).toEqual(['invoke_agent worker'])
    expect(tree.lines().filter((line) => line.includes('chat'))).toHaveLength(model.calls.length)
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('an agent without the middleware is told as a bare graph is', async () => {
    const { dispatcher, events } = dispatcherWith()
    const agent = createAgent({ model: searchesOn(1).respond(new AIMessage('done')), tools: [search] })
    await agent.invoke(hi, { callbacks: [hookspanCallbacks({ dispatcher })] })
    await dispatcher.drain()
    expect(typesOf(events)).toEqual([
      'onStart',
      'beforeLlmCall',
      'afterLlmCall',
      'beforeToolCall',
      'afterToolCall',
      'beforeLlmCall',
      'afterLlmCall',
      'onComplete',
    ])
  })
})

describe('an agent whose tool hands over to another of its graph', () => {
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  const asks = (...names: string[]) =>
    new AIMessage({
      id: 'asks',
      content: '',
      tool_calls: names.map((name, at) => ({ name, args: {}, id: `${name}_${at}` })),
    })
  const handOver = tool(
    (_, { toolCall }: { toolCall?: { id?: string } }) =>
      new Command({
        graph: Command.PARENT,
        goto: 'bob',
        update: {
          messages: [
            new AIMessage({ id: 'asks', content: '', tool_calls: [toolCall as never] }),
            new ToolMessage({ id: 'over', content: 'over to bob', tool_call_id: toolCall?.id ?? '' }),
          ],
        },
      }),
    { name: 'hand_over', description: 'Hands over.', schema: z.object({}) },
  )
  const slow = tool(() => wait(50).then(() => 'slow'), {
    name: 'slow',
    description: 'Is slow.',
    schema: z.object({}),
  })
  const own = tool(() => wait(10).then(() => `own: ${interrupt('which one?')}`), {
    name: 'own',
    description: 'Asks somebody itself.',
    schema: z.object({}),
  })
  const swarm = (names: string[], ...gates: Parameters<typeof dispatcherWith>) => {
    const { dispatcher, events } = dispatcherWith(...gates)
    const agent = (name: string, reply: AIMessage) =>
      createAgent({
        name,
        model: fakeModel().respond(reply),
        tools: [handOver, slow, own],
        middleware: [hookspanMiddleware({ dispatcher, agentName: name })],
      })
    const alice = agent('alice', asks(...names))
    const bob = agent('bob', new AIMessage({ id: 'bob', content: 'bob here' }))
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('alice', alice.graph as never, { ends: ['bob'] })
      .addNode('bob', bob.graph as never)
      .addEdge(START, 'alice' as never)
    return { dispatcher, events, alice, graph }
  }

  it.each([
    ['alone', ['hand_over'], {}, 1],
    ['with a call beside it', ['hand_over', 'slow'], {}, 2],
    ['behind another', ['slow', 'hand_over'], {}, 2],
    [
      'with a call that begins once another has ended',
      ['hand_over', 'slow', 'slow'],
      { maxConcurrency: 2 },
      3,
    ],
    // LangGraph leaves before the other begins.
    ['with a call that never begins', ['hand_over', 'slow'], { maxConcurrency: 1 }, 1],
    ['twice', ['hand_over', 'hand_over'], {}, 2],
    ['on a thread', ['hand_over', 'slow'], { configurable: { thread_id: 't' } }, 2],
  ])('is done, %s', async (_, names, config, calls) => {
    for (const isTold of [false, true]) {
      const { dispatcher, events, graph } = swarm(names)
      const compiled = graph.compile({ checkpointer: 'configurable' in config ? new MemorySaver() : false })
      const callbacks = isTold ? [hookspanCallbacks({ dispatcher })] : []
      const { messages } = await compiled.invoke(hi, { ...config, callbacks })
      expect(messages.at(-1)?.text).toBe('bob here')
      await dispatcher.drain()
      const agents = findAll(events, 'onComplete').filter(({ agentName }) => agentName !== 'LangGraph')
      expect(agents).toMatchObject([
        { agentName: 'alice', reason: 'done' },
        { agentName: 'bob', reason: 'done' },
      ])
      expect(findAll(events, 'onError')).toEqual([])
      expect(findAll(events, 'afterToolCall')).toHaveLength(calls)
      expect(dispatcher.stats().operations).toBe(0)
    }
  })

  it.each([1, 2])(
    'is not left for the other where a gate refuses its result, %i at once',
    async (maxConcurrency) => {
      const { dispatcher, events, graph } = swarm(['hand_over', 'slow'], {
        id: 'no',
        point: 'beforeComplete',
        decide: () => deny('Nobody has read it.'),
      })
      await expect(graph.compile().invoke(hi, { maxConcurrency })).rejects.toThrow('Nobody has read it.')
      await dispatcher.drain()
      expect(findAll(events, 'onStart')).toMatchObject([{ agentName: 'alice' }])
      expect(dispatcher.stats().operations).toBe(0)
    },
  )

  it.each([[['hand_over', 'slow']], [['slow', 'hand_over']], [['slow', 'slow', 'hand_over']]])(
    'is done, and what a human was asked beside it is withdrawn: %s',
    async (names) => {
      const { dispatcher, events, graph } = swarm(names, requireHuman({ match: 'slow' }))
      const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
      dispatcher.use(approvals)
      const compiled = graph.compile({ checkpointer: new MemorySaver() })
      const result = await compiled.invoke(hi, { configurable: { thread_id: 't' } })
      expect(result.messages.at(-1)?.text).toBe('bob here')
      expect(result).not.toHaveProperty('__interrupt__')
      await dispatcher.drain()
      const records = await approvals.list({})
      expect(records.map(({ status }) => status)).toEqual(names.slice(1).map(() => 'cancelled'))
      expect(findAll(events, 'onComplete')).toMatchObject([
        { agentName: 'alice', reason: 'done' },
        { agentName: 'bob', reason: 'done' },
      ])
      expect(findAll(events, 'afterToolCall')).toMatchObject([{ apiName: 'hand_over' }])
      expect(dispatcher.stats().operations).toBe(0)
    },
  )

  it("waits for the answer to a tool's own question that is asked after it, as LangGraph alone does", async () => {
    const { dispatcher, events, graph } = swarm(['own', 'hand_over'])
    const compiled = graph.compile({ checkpointer: new MemorySaver() })
    const config = { configurable: { thread_id: 't' } }
    expect(await compiled.invoke(hi, config)).toMatchObject({ __interrupt__: [{ value: 'which one?' }] })
    await dispatcher.drain()
    expect(findAll(events, 'onComplete')).toEqual([])
    const { messages } = await compiled.invoke(new Command({ resume: 'the red one' }), config)
    expect(messages.at(-1)?.text).toBe('bob here')
  })

  it('is done, too, where it is in no graph: LangGraph ends it without a word', async () => {
    const { dispatcher, events, alice } = swarm(['hand_over'])
    await alice.invoke(hi)
    await dispatcher.drain()
    expect(findAll(events, 'onComplete')).toMatchObject([{ agentName: 'alice', reason: 'done' }])
    expect(dispatcher.stats().operations).toBe(0)
  })
})
