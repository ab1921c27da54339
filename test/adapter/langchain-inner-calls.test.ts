import { AIMessage, HumanMessage, isToolMessage, ToolMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Command, interrupt, MemorySaver } from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { HookDispatcher } from 'hookspan'
import { mutate } from 'hookspan/gates'
import { hookspanMiddleware } from 'hookspan/langchain'
import { human, mock, mockTools, scriptedApprovals } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { type AgentMiddleware, createAgent, createMiddleware, tool } from 'langchain'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { gate } from '../support/told-events.ts'

interface Callable {
  readonly name?: unknown
  invoke(input: unknown): Promise<unknown>
  call(input: unknown): Promise<unknown>
}

type Way = (tool: Callable | undefined) => Promise<unknown> | undefined

const invoked: Way = (tool) => tool?.invoke({ what: 'all' })
const toolCall = { type: 'tool_call', name: 'wipe', args: { what: 'all' }, id: '7' }
const contentOf = (made: unknown) => (isToolMessage(made) ? made.content : made)

/** How the code of a tool comes to run another one. */
const WAYS: Readonly<Record<string, Way>> = {
  'with a call of a model': async (tool) => contentOf(await tool?.invoke(toolCall)),
  'by call()': (tool) => tool?.call({ what: 'all' }),
  'in a graph of its own': async (tool) => {
    const asks = new AIMessage({ content: '', tool_calls: [toolCall as never] })
    const { messages } = await new ToolNode([tool as never]).invoke({ messages: [asks] })
    return contentOf(messages[0])
  },
  'in an agent that has no middleware': async (tool) => {
    const model = fakeModel()
      .respondWithTools([{ name: 'wipe', args: { what: 'all' }, id: '7' }])
      .respond(new AIMessage('done'))
    const { messages } = await createAgent({ model, tools: [tool as never] }).invoke({ messages: ['go'] })
    return messages.find((one) => one.type === 'tool')?.content
  },
}

/** A middleware whose tool runs a program of the model's, which calls the tools of the agent. */
function interpreter(way: Way): AgentMiddleware {
  let known: readonly Callable[] = []
  const run = tool(
    async ({ call }) => {
      try {
        const gave = await way(known.find(({ name }) => name === call))
        return typeof gave === 'string' ? gave : JSON.stringify(gave)
      } catch (error) {
        if ((error as Error).name === 'GraphInterrupt') throw error
        return `failed: ${(error as Error).message}`
      }
    },
    { name: 'run_code', description: 'Runs code.', schema: z.object({ call: z.string() }) },
  )
  return createMiddleware({
    name: 'interpreter',
    tools: [run],
    wrapModelCall: (request, handler) => {
      known = request.tools as unknown as Callable[]
      return handler(request)
    },
  }) as AgentMiddleware
}

const schema = z.object({ what: z.string() })

function started(
  dispatcher?: HookDispatcher,
  body: (what: string) => unknown = (what) => `wiped ${what}`,
  way = invoked,
) {
  const ran: string[] = []
  const wipe = tool(
    async ({ what }) => {
      const gave = await body(what)
      ran.push(what)
      return gave as string
    },
    { name: 'wipe', description: 'Wipes.', schema },
  )
  const model = fakeModel()
    .respondWithTools([{ name: 'run_code', args: { call: 'wipe' }, id: '1' }])
    .respond(new AIMessage('done'))
  const ours = dispatcher === undefined ? [] : [hookspanMiddleware({ dispatcher }) as AgentMiddleware]
  const middleware = [...ours, interpreter(way)]
  return { agent: createAgent({ model, tools: [wipe], middleware, checkpointer: new MemorySaver() }), ran }
}

const config = { configurable: { thread_id: 't' } }

async function asked(dispatcher?: HookDispatcher, body?: (what: string) => unknown, way?: Way) {
  const { agent, ran } = started(dispatcher, body, way)
  const { messages } = await agent.invoke({ messages: [new HumanMessage('Clean up.')] }, config)
  return { ran, told: messages.find((one) => one.type === 'tool')?.text }
}

const with_ = (plug: (dispatcher: HookDispatcher) => void) => {
  const dispatcher = new HookDispatcher()
  plug(dispatcher)
  return dispatcher
}

it('what a tool calls by itself is a call below it, and gives what it gives without us', async () => {
  const tree = activityTree()
  const seen = await asked(with_((dispatcher) => dispatcher.use(tree.plugin)))
  expect(seen).toEqual(await asked())
  expect(tree.lines().filter((line) => line.includes('execute_tool'))).toEqual([
    '    execute_tool run_code',
    '      execute_tool wipe',
  ])
})

it.each<[string, (dispatcher: HookDispatcher) => void, string]>([
  [
    'denies',
    (dispatcher) => dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] }),
    'tool_not_allowed',
  ],
  [
    'is mocked',
    (dispatcher) =>
      void mockTools(dispatcher, [mock('wipe').returns('mocked')], { onUnmocked: 'passthrough' }),
    'mocked',
  ],
  [
    'asks a human who says no',
    (dispatcher) => {
      scriptedApprovals(dispatcher, [human('wipe').rejects('not today')])
      dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'wipe' })] })
    },
    'not today',
  ],
])('a tool that another one calls does not run where somebody %s', async (_how, plug, told) => {
  const seen = await asked(with_(plug))
  expect(seen.ran).toEqual([])
  expect(seen.told).toContain(told)
})

it.each(Object.entries(WAYS))('it is the same call %s', async (_how, way) => {
  const tree = activityTree()
  const seen = await asked(
    with_((dispatcher) => dispatcher.use(tree.plugin)),
    undefined,
    way,
  )
  expect(seen).toEqual(await asked(undefined, undefined, way))
  expect(tree.lines().filter((line) => line.includes('execute_tool'))).toEqual([
    '    execute_tool run_code',
    '      execute_tool wipe',
  ])

  const denying = with_((one) => one.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] }))
  const denied = await asked(denying, undefined, way)
  expect(denied).toEqual({ ran: [], told: expect.stringContaining('tool_not_allowed') })

  const clean = { ...gate('afterToolCall', () => mutate('cleaned')), match: 'wipe' }
  const cleaning = with_((one) => one.use({ name: 'careful', gates: [clean] }))
  expect(await asked(cleaning, undefined, way)).toEqual({ ran: ['all'], told: 'cleaned' })
})

it('gates change what a tool that another one calls is given, and what it gives', async () => {
  const dispatcher = with_((one) =>
    one.use({
      name: 'careful',
      gates: [
        { ...gate('beforeToolCall', () => mutate({ what: 'a bit' })), match: 'wipe' },
        { ...gate('afterToolCall', () => mutate('cleaned')), match: 'wipe' },
      ],
    }),
  )
  expect(await asked(dispatcher)).toEqual({ ran: ['a bit'], told: 'cleaned' })
})

it('a command that it answers with stays one, with the message that a gate made', async () => {
  const answer = () =>
    new Command({
      update: { messages: [new ToolMessage({ content: 'secret', tool_call_id: '1', name: 'wipe' })] },
    })
  const plain = await asked(undefined, answer)
  expect(await asked(new HookDispatcher(), answer)).toEqual(plain)
  const clean = { ...gate('afterToolCall', () => mutate('cleaned')), match: 'wipe' }
  const { told } = await asked(
    with_((one) => one.use({ name: 'careful', gates: [clean] })),
    answer,
  )
  expect(told).not.toContain('secret')
  expect(told).toContain('cleaned')
})

it('one that waits for an answer waits, and goes on, as without us', async () => {
  const results = []
  for (const dispatcher of [undefined, new HookDispatcher()]) {
    const { agent, ran } = started(dispatcher, () => interrupt('sure?'))
    const first = await agent.invoke({ messages: [new HumanMessage('Clean up.')] }, config)
    const waits = (first as { __interrupt__?: { value: unknown }[] }).__interrupt__?.map(({ value }) => value)
    const { messages } = await agent.invoke(new Command({ resume: 'yes' }), config)
    results.push({ waits, ran, told: messages.map((one) => one.text) })
  }
  expect(results[1]).toEqual(results[0])
  expect(results[0]?.waits).toEqual(['sure?'])
})
