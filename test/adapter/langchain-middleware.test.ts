import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Command } from '@langchain/langgraph'
import { HookDispatcher } from 'hookspan'
import { mutate } from 'hookspan/gates'
import { hookspanMiddleware } from 'hookspan/langchain'
import { toolPolicy } from 'hookspan/policies'
import {
  type AgentMiddleware,
  createAgent,
  createMiddleware,
  modelRetryMiddleware,
  tool,
  toolStrategy,
} from 'langchain'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { dispatcherWith, find, gate } from '../support/told-events.ts'

/** A tool that a middleware brings along for a model call, and runs: by LangChain, or by itself. */
function bringing(byItself: boolean) {
  const ran: string[] = []
  const wipe = tool(
    async ({ what }) => {
      ran.push(what)
      return 'wiped'
    },
    { name: 'wipe', description: 'Wipes.', schema: z.object({ what: z.string() }) },
  )
  const middleware = createMiddleware({
    name: 'bringing',
    wrapModelCall: (request, handler) => handler({ ...request, tools: [...request.tools, wipe] }),
    wrapToolCall: async (request, handler) => {
      const { id = '', name, args } = request.toolCall
      if (name !== 'wipe') return handler(request)
      if (!byItself) return handler({ ...request, tool: wipe })
      return new ToolMessage({ content: String(await wipe.invoke(args as never)), tool_call_id: id, name })
    },
  })
  return { middleware, ran }
}

async function run(deny: readonly string[], order: (ours: AgentMiddleware) => AgentMiddleware[]) {
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny })] })
  const model = fakeModel()
    .respondWithTools([{ name: 'wipe', args: { what: 'all' }, id: '1' }])
    .respond(new AIMessage('done'))
  const ours = hookspanMiddleware({ dispatcher }) as AgentMiddleware
  const agent = createAgent({ model, tools: [], middleware: order(ours) })
  const { messages } = await agent.invoke({ messages: [new HumanMessage('Clean up.')] })
  expect(messages.at(-1)?.text).toBe('done')
  return tree.lines().filter((line) => line.includes('execute_tool'))
}

it.each([
  ['LangChain', false],
  ['the middleware', true],
])(
  'a tool that a middleware brings along, and that %s runs, is seen and decided on where ours comes first',
  async (_who, byItself) => {
    for (const [deny, expected] of [
      [['other'], ['all']],
      [['wipe'], []],
    ] as const) {
      const { middleware, ran } = bringing(byItself)
      expect(await run(deny, (ours) => [ours, middleware])).toEqual(['    execute_tool wipe'])
      expect(ran).toEqual(expected)
    }
  },
)

it('of those that a middleware before ours runs by itself nothing is seen, as the page says', async () => {
  const { middleware, ran } = bringing(true)
  expect(await run(['wipe'], (ours) => [middleware, ours])).toEqual([])
  expect(ran).toEqual(['all'])
})

/** As tools of `deepagents` and `todoListMiddleware` answer: with a message, and with what changes the state. */
const noting = tool(
  (_, { toolCall }) => {
    const said = new ToolMessage({ content: 'noted 42', tool_call_id: toolCall?.id ?? '', name: 'note' })
    return new Command({ update: { messages: [said], notes: ['one'] } })
  },
  { name: 'note', description: 'Notes.', schema: z.object({}) },
)

it.each([
  ['let through', undefined, 'noted 42'],
  ['changed', () => mutate('noted'), 'noted'],
])(
  'the message of a command is what a tool is told to have given, and its state is kept: %s',
  async (_, decide, says) => {
    const { dispatcher, events } = dispatcherWith(gate('afterToolCall', decide ?? (() => undefined)))
    const model = fakeModel()
      .respondWithTools([{ name: 'note', args: {}, id: '1' }])
      .respond(new AIMessage('done'))
    const stateSchema = z.object({ notes: z.array(z.string()).default([]) })
    const middleware = [
      hookspanMiddleware({ dispatcher }),
      createMiddleware({ name: 'notes', stateSchema }),
    ] as const
    const agent = createAgent({ model, tools: [noting], middleware })
    const { messages, notes } = await agent.invoke({ messages: [new HumanMessage('Note it.')] })
    await dispatcher.drain()
    expect(messages[2]?.text).toBe(says)
    expect(notes).toEqual(['one'])
    expect(find(events, 'afterToolCall')).toMatchObject({ content: says })
  },
)

it('what another middleware asks a model by itself is not told, and the tries of a retry are one call, as the page says', async () => {
  const { dispatcher, events } = dispatcherWith()
  const other = fakeModel().respond(new AIMessage('in short'))
  const asking = createMiddleware({
    name: 'asking',
    beforeModel: async () => {
      await other.invoke('Say it in short.')
    },
  })
  const model = fakeModel().respond(new Error('overloaded')).respond(new AIMessage('done'))
  const middleware = [hookspanMiddleware({ dispatcher }), asking, modelRetryMiddleware({ initialDelayMs: 1 })]
  await createAgent({ model, tools: [], middleware }).invoke({ messages: [new HumanMessage('go')] })
  await dispatcher.drain()
  expect([other.callCount, model.callCount]).toEqual([1, 2])
  expect(events.filter(({ hookType }) => hookType === 'beforeLlmCall')).toHaveLength(1)
})

/** An agent whose model gives answers until one fits. */
function answering(middleware: readonly unknown[]) {
  const schema = {
    ...{ title: 'extract-1', type: 'object' as const, required: ['x'] },
    properties: { x: { type: 'number' as const } },
  }
  const answer = (x: unknown, id: string) => [{ name: 'extract-1', args: { x }, id }]
  const model = fakeModel()
    .respondWithTools(answer('one', '1'))
    .respondWithTools(answer('two', '2'))
    .respondWithTools(answer(3, '3'))
  const responseFormat = toolStrategy(schema)
  return createAgent({ model, tools: [], responseFormat, middleware: middleware as AgentMiddleware[] })
}

it('a structured answer that does not fit is asked for once more in the same run', async () => {
  const { dispatcher, events } = dispatcherWith()
  const agent = answering([hookspanMiddleware({ dispatcher })])
  const result = await agent.invoke({ messages: [new HumanMessage('go')] })
  await dispatcher.drain()
  expect(result).toMatchObject({ structuredResponse: { x: 3 } })
  const types = events.map(({ hookType }) => hookType)
  expect(types.filter((type) => /^(onStart|beforeStep|onComplete)$/.test(type))).toEqual([
    'onStart',
    ...['beforeStep', 'beforeStep', 'beforeStep'],
    'onComplete',
  ])
  expect(find(events, 'onComplete')).toMatchObject({ reason: 'done' })
})

it('one beside a middleware with afterModel is asked for no more, as the page says: LangChain throws where any has afterAgent', async () => {
  const after = createMiddleware({ name: 'after', afterModel: () => undefined })
  const atTheEnd = createMiddleware({ name: 'atTheEnd', afterAgent: () => undefined })
  for (const one of [hookspanMiddleware({ dispatcher: new HookDispatcher() }), atTheEnd]) {
    const run = answering([one, after]).invoke({ messages: [new HumanMessage('go')] })
    await expect(run).rejects.toThrow('Invalid update for channel "jumpTo"')
  }
})
