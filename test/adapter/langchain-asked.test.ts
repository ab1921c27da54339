import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Command, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { hookspanCallbacks, hookspanMiddleware } from 'hookspan/langchain'
import { toolPolicy } from 'hookspan/policies'
import { createAgent, createMiddleware, humanInTheLoopMiddleware, tool } from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { traced } from '../support/span-tree.ts'
import { dispatcherWith, eventsOf, findAll, typesOf } from '../support/told-events.ts'

const search = tool(({ q }) => `found ${q}`, {
  name: 'search',
  description: 'Searches.',
  schema: z.object({ q: z.string() }),
})

const searching = () =>
  fakeModel()
    .respondWithTools(['a', 'b'].map((q) => ({ name: 'search', args: { q }, id: q })))
    .respond(new AIMessage('done'))

const hi = { messages: [new HumanMessage('hi')] }

type Middleware = Parameters<typeof humanInTheLoopMiddleware>[0]

function askingAgent(
  dispatcher: Parameters<typeof hookspanMiddleware>[0]['dispatcher'],
  interruptOn: Middleware['interruptOn'] = { search: true },
) {
  return createAgent({
    model: searching(),
    tools: [search],
    middleware: [
      hookspanMiddleware({ dispatcher, agentName: 'worker' }),
      humanInTheLoopMiddleware({ interruptOn }),
    ],
    checkpointer: new MemorySaver(),
  })
}

const on = (thread_id: string) => ({ configurable: { thread_id } })

const answer = (...decisions: object[]) => new Command({ resume: { decisions } })

const approve = { type: 'approve' }
const reject = { type: 'reject', message: 'Not now.' }
const edit = { type: 'edit', editedAction: { name: 'search', args: { q: 'z' } } }

describe("what LangChain's own middleware asks a human", () => {
  it('parks the run, whose spans are told, and its answer goes on in the same step and trace', async () => {
    using trace = traced()
    const { dispatcher } = trace
    const agent = askingAgent(dispatcher)
    await agent.invoke(hi, on('one'))
    await dispatcher.drain()
    expect(dispatcher.stats().operations).toBe(0)
    expect(trace.tree()).toBe(['step 0', '  chat fake-model-builder', '  human_intervention'].join('\n'))
    await agent.invoke(answer(approve, approve), on('one'))
    await dispatcher.drain()
    expect(new Set(trace.spans().map((span) => span.spanContext().traceId)).size).toBe(1)
    expect(trace.tree()).toContain(
      ['  step 0', '    human_intervention', '    human_intervention', '    execute_tool search'].join('\n'),
    )
  })

  it.each([
    [
      [approve, approve],
      ['approve', 'approve'],
      ['completed', 'completed'],
    ],
    [
      [edit, approve],
      ['edit', 'approve'],
      ['completed', 'completed'],
    ],
    [
      [reject, reject],
      ['rejectAndContinue', 'rejectAndContinue'],
      ['rejected', 'rejected'],
    ],
    // LangChain takes away what was approved beside it.
    [
      [reject, approve],
      ['rejectAndContinue', 'rejectAndContinue'],
      ['rejected', 'rejected'],
    ],
  ])('is told, and what it answers: %j', async (decisions, actions, outcomes) => {
    const { dispatcher, events } = dispatcherWith()
    const agent = askingAgent(dispatcher)
    await agent.invoke(hi, on('one'))
    await dispatcher.drain()
    const [asked] = findAll(events, 'beforeHumanIntervention')
    expect(asked?.pendingTools).toMatchObject([
      { apiName: 'search', args: { q: 'a' }, toolCallId: 'a' },
      { apiName: 'search', args: { q: 'b' }, toolCallId: 'b' },
    ])
    await agent.invoke(answer(...decisions), on('one'))
    await dispatcher.drain()
    expect(findAll(events, 'afterHumanIntervention').map(({ action }) => action)).toEqual(actions)
    expect(findAll(events, 'afterToolCall').map(({ outcome }) => outcome)).toEqual(outcomes)
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'afterStep')).toHaveLength(2)
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done', content: 'done' }])
  })

  it('does not pass a gate: what a human approves or edits is decided on', async () => {
    const { dispatcher, events } = dispatcherWith(toolPolicy({ deny: ['search'] }))
    const agent = askingAgent(dispatcher)
    await agent.invoke(hi, on('one'))
    await agent.invoke(answer(edit, approve), on('one'))
    await dispatcher.drain()
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ outcome: 'denied' }, { outcome: 'denied' }])
  })

  it('is about the calls that it names alone', async () => {
    const { dispatcher, events } = dispatcherWith()
    const agent = askingAgent(dispatcher, {
      search: { allowedDecisions: ['approve'], when: ({ toolCall }) => toolCall.args.q === 'b' },
    })
    await agent.invoke(hi, on('one'))
    await agent.invoke(answer(approve), on('one'))
    await dispatcher.drain()
    expect(findAll(events, 'beforeHumanIntervention')[0]?.pendingTools).toMatchObject([{ toolCallId: 'b' }])
    expect(findAll(events, 'afterHumanIntervention')).toMatchObject([{ action: 'approve' }])
    expect(findAll(events, 'afterToolCall')).toHaveLength(2)
  })

  it('is left by what begins anew on the thread, which is another run', async () => {
    const { dispatcher, events } = dispatcherWith()
    const agent = askingAgent(dispatcher)
    await agent.invoke(hi, on('one'))
    await agent.invoke({ messages: [new HumanMessage('Never mind.')] }, on('one'))
    await dispatcher.drain()
    const [first, second] = findAll(events, 'onStart')
    expect(findAll(events, 'onComplete').map(({ operationId, reason }) => [operationId, reason])).toEqual([
      [first?.operationId, 'interrupted'],
      [second?.operationId, 'done'],
    ])
  })

  it('is answered by no fork of the thread that begins before it: that is another run', async () => {
    const { dispatcher, events } = dispatcherWith()
    const agent = askingAgent(dispatcher)
    await agent.invoke(hi, on('one'))
    const history = []
    for await (const state of agent.graph.getStateHistory(on('one'))) history.push(state)
    const before = history.find(({ next }) => next.includes('model_request'))
    await agent.invoke(null as never, before?.config as never)
    await dispatcher.drain()
    expect(findAll(events, 'onStart')).toHaveLength(2)
    expect(findAll(events, 'afterHumanIntervention')).toEqual([])
    expect(findAll(events, 'afterToolCall')).toEqual([])
    expect(findAll(events, 'onComplete')[0]).toMatchObject({ reason: 'interrupted' })
  })

  it('is told, too, where the checkpoints are kept at the end alone', async () => {
    const { dispatcher } = dispatcherWith()
    await askingAgent(dispatcher).invoke(hi, { ...on('one'), durability: 'exit' })
    await dispatcher.drain()
    expect(dispatcher.stats().operations).toBe(0)
  })
})

it.each([
  ['approved', approve],
  ['edited', edit],
])(
  "a tool's own question goes on in the run where a call beside it was %s before",
  async (_how, decision) => {
    const { dispatcher, events } = dispatcherWith()
    const ask = tool(() => `told ${interrupt('which one?')}`, {
      name: 'ask',
      description: 'Asks.',
      schema: z.object({}),
    })
    const agent = createAgent({
      model: fakeModel()
        .respondWithTools([
          { name: 'search', args: { q: 'a' }, id: 'a' },
          { name: 'ask', args: {}, id: 'b' },
        ])
        .respond(new AIMessage('done')),
      tools: [search, ask],
      middleware: [
        hookspanMiddleware({ dispatcher, agentName: 'worker' }),
        humanInTheLoopMiddleware({ interruptOn: { search: true } }),
      ],
      checkpointer: new MemorySaver(),
    })
    await agent.invoke(hi, on('one'))
    await agent.invoke(answer(decision), on('one'))
    const { messages } = await agent.invoke(new Command({ resume: 'red' }), on('one'))
    expect(messages.map(({ text }) => text)).toContain('told red')
    await dispatcher.drain()
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'afterToolCall').map(({ toolCallId }) => toolCallId)).toEqual(['a', 'b'])
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done', content: 'done' }])
  },
)

it('a question of a middleware about no call parks the run, too, which goes on with its answer', async () => {
  const { dispatcher, events } = dispatcherWith()
  const asks = createMiddleware({
    name: 'asks',
    beforeModel: ({ messages }) => {
      if (messages.length === 1) interrupt('Go on?')
    },
  })
  const agent = createAgent({
    model: searching(),
    tools: [search],
    middleware: [hookspanMiddleware({ dispatcher }), asks],
    checkpointer: new MemorySaver(),
  })
  await agent.invoke(hi, on('one'))
  await dispatcher.drain()
  expect(typesOf(events)).toEqual(['onStart'])
  expect(dispatcher.stats().operations).toBe(0)
  await agent.invoke(new Command({ resume: 'Yes.' }), on('one'))
  await dispatcher.drain()
  expect(findAll(events, 'onStart')).toHaveLength(1)
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done', content: 'done' }])
})

describe('a breakpoint, which no node asks for', () => {
  const breakpoints = [{ interruptBefore: ['tools'] }, { interruptAfter: ['model'] }] as const

  it.each(breakpoints)('parks the run of a bare graph, which goes on as itself: %j', async (breakpoint) => {
    const { dispatcher } = dispatcherWith()
    const events = eventsOf(dispatcher)
    const node = (text: string) => () => ({ messages: [new AIMessage(text)] })
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('model', node('asked'))
      .addNode('tools', node('done'))
      .addEdge(START, 'model')
      .addEdge('model', 'tools')
      .compile({ checkpointer: new MemorySaver() })
    const config = { ...on('one'), callbacks: [hookspanCallbacks({ dispatcher })], ...breakpoint }
    await graph.invoke(hi, config as never)
    await dispatcher.drain()
    expect(findAll(events, 'onComplete')).toEqual([])
    expect(dispatcher.stats().operations).toBe(0)
    await graph.invoke(null, { ...on('one'), callbacks: config.callbacks })
    await dispatcher.drain()
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done', content: 'done' }])
  })

  it('parks the run of an agent that has the callbacks beside the middleware', async () => {
    const { dispatcher, events } = dispatcherWith()
    const agent = createAgent({
      model: searching(),
      tools: [search],
      middleware: [hookspanMiddleware({ dispatcher })],
      checkpointer: new MemorySaver(),
    })
    const config = { ...on('one'), callbacks: [hookspanCallbacks({ dispatcher })] }
    await agent.invoke(hi, { ...config, interruptBefore: ['tools'] } as never)
    await dispatcher.drain()
    expect(findAll(events, 'onComplete')).toEqual([])
    expect(dispatcher.stats().operations).toBe(0)
    await agent.invoke(null as never, config)
    await dispatcher.drain()
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'afterToolCall')).toHaveLength(2)
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done', content: 'done' }])
  })
})
