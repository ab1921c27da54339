import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import {
  Annotation,
  Command,
  entrypoint,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { HookDispatcher } from 'hookspan'
import { hookspanCallbacks, hookspanMiddleware } from 'hookspan/langchain'
import { createAgent, humanInTheLoopMiddleware, tool } from 'langchain'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { dispatcherWith, find, findAll } from '../support/told-events.ts'

const search = tool(({ q }) => `found ${q}`, {
  name: 'search',
  description: 'Searches.',
  schema: z.object({ q: z.string() }),
})

/** Searches for what it is asked, then says that it is done. */
function replies(messages: BaseMessage[]): AIMessage {
  const q = messages.find(({ type }) => type === 'human')?.text ?? ''
  if (messages.at(-1)?.type === 'tool') return new AIMessage(`done with ${q}`)
  return new AIMessage({ content: '', tool_calls: [{ name: 'search', args: { q }, id: q }] })
}

function searching(times: number) {
  const model = fakeModel()
  for (let call = 0; call < times; call++) model.respond(replies)
  return model
}

const TURNS = [
  '  step 0',
  '    chat fake-model-builder',
  '    execute_tool search',
  '  step 1',
  '    chat fake-model-builder',
]

function observed() {
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  return { tree, dispatcher }
}

it.each([
  ['with its config', true],
  ['alone', false],
])(
  'runs of one agent at once, each in a node of a graph that calls it %s, are told apart',
  async (_, hands) => {
    const { tree, dispatcher } = observed()
    const agent = createAgent({
      model: searching(6),
      tools: [search],
      middleware: [hookspanMiddleware({ dispatcher, agentName: 'worker' })],
    })
    const state = Annotation.Root({
      told: Annotation<string[]>({ reducer: (before, more) => [...before, ...more], default: () => [] }),
    })
    const graph = new StateGraph(state)
      .addNode('worker', async ({ topic }: { topic: string }, config) => {
        const { messages } = await agent.invoke({ messages: [new HumanMessage(topic)] }, hands ? config : {})
        return { told: [messages.at(-1)?.text ?? ''] }
      })
      .addConditionalEdges(START, () => ['a', 'b', 'c'].map((topic) => new Send('worker', { topic })))
      .compile()
    expect(await graph.invoke({})).toEqual({ told: ['done with a', 'done with b', 'done with c'] })
    await dispatcher.drain()
    const run = ['invoke_agent worker', ...TURNS]
    expect(tree.lines()).toEqual([...run, ...run, ...run])
  },
)

it('two runs of one agent at once in one node are told apart', async () => {
  const { tree, dispatcher } = observed()
  const agent = createAgent({
    model: searching(4),
    tools: [search],
    middleware: [hookspanMiddleware({ dispatcher, agentName: 'worker' })],
  })
  const ask = async (topic: string) => (await agent.invoke({ messages: [new HumanMessage(topic)] })).messages
  const graph = new StateGraph(Annotation.Root({ told: Annotation<string[]> }))
    .addNode('both', async () => {
      const all = await Promise.all([ask('a'), ask('b')])
      return { told: all.map((messages) => messages.at(-1)?.text ?? '') }
    })
    .addEdge(START, 'both')
    .compile()
  expect(await graph.invoke({})).toEqual({ told: ['done with a', 'done with b'] })
  await dispatcher.drain()
  const run = ['invoke_agent worker', ...TURNS]
  expect(tree.lines()).toEqual([...run, ...run])
})

it('a sub-agent may have the very middleware of the agent that calls it', async () => {
  const { tree, dispatcher } = observed()
  const middleware = [hookspanMiddleware({ dispatcher, agentName: 'one' })]
  const expert = createAgent({ model: searching(2), tools: [search], middleware })
  const ask = tool(
    async ({ q }, config) => {
      const { messages } = await expert.invoke({ messages: [new HumanMessage(q)] }, config)
      return messages.at(-1)?.text ?? ''
    },
    { name: 'ask', description: 'Asks.', schema: z.object({ q: z.string() }) },
  )
  const model = fakeModel()
    .respondWithTools([{ name: 'ask', args: { q: 'a' }, id: '1' }])
    .respond(new AIMessage('done'))
  const agent = createAgent({ model, tools: [ask], middleware })
  expect((await agent.invoke({ messages: [new HumanMessage('go')] })).messages.at(-1)?.text).toBe('done')
  await dispatcher.drain()
  expect(tree.lines()).toEqual([
    'invoke_agent one',
    '  step 0',
    '    chat fake-model-builder',
    '    execute_tool ask',
    '      agent',
    '        invoke_agent one',
    ...TURNS.map((line) => `        ${line}`),
    '  step 1',
    '    chat fake-model-builder',
  ])
})

const approve = new Command({ resume: { decisions: [{ type: 'approve' }] } })

/** An agent whose tool is run once LangChain's own middleware has asked about it. */
function asking(dispatcher: HookDispatcher) {
  return createAgent({
    model: searching(2),
    tools: [search],
    middleware: [
      hookspanMiddleware({ dispatcher, agentName: 'worker' }),
      humanInTheLoopMiddleware({ interruptOn: { search: { allowedDecisions: ['approve'] } } }),
    ],
  })
}

it('an agent in a graph goes on as one run once a human has answered', async () => {
  const { tree, dispatcher } = observed()
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('worker', asking(dispatcher).graph)
    .addEdge(START, 'worker')
    .compile({ checkpointer: new MemorySaver() })
  const config = { configurable: { thread_id: 'one' } }
  await graph.invoke({ messages: [new HumanMessage('a')] }, config)
  expect(dispatcher.stats().operations).toBe(0)
  expect((await graph.invoke(approve as never, config)).messages.at(-1)?.text).toBe('done with a')
  await dispatcher.drain()
  const [asks, chat, ...goesOn] = TURNS
  const own = ['invoke_agent worker', asks]
  expect(tree.lines()).toEqual([...own, chat, '    human', ...own, '    human', ...goesOn])
  expect(
    new Set(tree.roots.map(({ activity }) => 'operationId' in activity && activity.operationId)).size,
  ).toBe(1)
})

const pay = tool(() => `paid: ${interrupt('Really?')}`, {
  name: 'search',
  description: 'Asks first.',
  schema: z.object({ q: z.string() }),
})

it.each(['middleware', 'tool'])('a sub-agent whose %s asks a human is interrupted, and ends', async (who) => {
  const { dispatcher, events } = dispatcherWith()
  const own = createAgent({
    model: searching(2),
    tools: [pay],
    middleware: [hookspanMiddleware({ dispatcher, agentName: 'worker' })],
  })
  const expert = who === 'tool' ? own : asking(dispatcher)
  const ask = tool(
    async ({ q }) => (await expert.invoke({ messages: [new HumanMessage(q)] })).messages.at(-1)?.text ?? '',
    { name: 'ask', description: 'Asks.', schema: z.object({ q: z.string() }) },
  )
  const model = fakeModel()
    .respondWithTools([{ name: 'ask', args: { q: 'a' }, id: '1' }])
    .respond(new AIMessage('done'))
  const middleware = [hookspanMiddleware({ dispatcher, agentName: 'main' })]
  const agent = createAgent({ model, tools: [ask], middleware, checkpointer: new MemorySaver() })
  const config = { configurable: { thread_id: 'one' } }
  await agent.invoke({ messages: [new HumanMessage('go')] }, config)
  await dispatcher.drain()
  expect(dispatcher.stats().operations).toBe(0)
  const ends = () => events.filter(({ hookType }) => hookType === 'onComplete')
  expect(ends()).toMatchObject([{ agentName: 'worker', reason: 'interrupted' }])
  expect((await agent.invoke(approve, config)).messages.at(-1)?.text).toBe('done')
  await dispatcher.drain()
  expect(ends().slice(1)).toMatchObject([
    { agentName: 'worker', reason: 'done' },
    { agentName: 'main', reason: 'done' },
  ])
})

it('a bare graph whose node asks a human waits, and goes on as itself', async () => {
  const { dispatcher, events } = dispatcherWith()
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('ask', () => ({ messages: [new HumanMessage(interrupt('Really?'))] }))
    .addEdge(START, 'ask')
    .compile({ checkpointer: new MemorySaver() })
  const config = {
    configurable: { thread_id: 'one' },
    callbacks: [hookspanCallbacks({ dispatcher })],
  }
  const ends = () => events.filter(({ hookType }) => /onComplete|onError/.test(hookType))
  await graph.invoke({ messages: [new HumanMessage('go')] }, config)
  await dispatcher.drain()
  expect(ends()).toEqual([])
  expect(dispatcher.stats().operations).toBe(0)
  await graph.invoke(new Command({ resume: 'Yes.' }), config)
  await dispatcher.drain()
  const { operationId } = find(events, 'onStart') ?? {}
  expect(ends()).toMatchObject([{ hookType: 'onComplete', reason: 'done', content: 'Yes.', operationId }])
  expect(findAll(events, 'onStart')).toHaveLength(1)
})

it('an answer goes on with the run of its own thread, and what begins anew is another run that interrupts it', async () => {
  const { dispatcher, events } = dispatcherWith()
  const asks = entrypoint({ name: 'asks', checkpointer: new MemorySaver() }, async (who: string) => {
    return `${who}: ${interrupt('Really?')}`
  })
  const on = (thread_id: string) => ({
    configurable: { thread_id },
    callbacks: [hookspanCallbacks({ dispatcher }) as never],
  })
  await asks.invoke('ann', on('ann'))
  await asks.invoke('bob', on('bob'))
  await asks.invoke('cem', on('cem'))
  expect(await asks.invoke(new Command({ resume: 'yes' }) as never, on('ann'))).toBe('ann: yes')
  expect(await asks.invoke(new Command({ resume: 'no' }) as never, on('bob'))).toBe('bob: no')
  await asks.invoke('dan', on('cem'))
  await asks.invoke(new Command({ resume: 'yes' }) as never, on('cem'))
  await dispatcher.drain()
  const ids = findAll(events, 'onStart').map(({ operationId }) => operationId)
  expect(ids).toHaveLength(4)
  const ended = findAll(events, 'onComplete').map(({ operationId, reason }) => [operationId, reason])
  const reasons = ['done', 'done', 'interrupted', 'done']
  expect(ended).toEqual(ids.map((id, index) => [id, reasons[index]]))
})

it('a bare graph without a last message is over', async () => {
  const { dispatcher, events } = dispatcherWith()
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('nothing', () => ({}))
    .addEdge(START, 'nothing')
    .compile()
  await graph.invoke({ messages: [] }, { callbacks: [hookspanCallbacks({ dispatcher }) as never] })
  await dispatcher.drain()
  expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done' }])
})
