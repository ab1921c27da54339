import { AIMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import {
  Command,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  ParentCommand,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { HookDispatcher } from 'hookspan'
import { wrapTools } from 'hookspan/adapter'
import { hookspanCallbacks, hookspanMiddleware } from 'hookspan/langchain'
import { type AgentMiddleware, createAgent, tool } from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { eventsOf, typesOf } from '../support/told-events.ts'
import { bareGraph } from './langchain-graph.ts'

const def = { name: 'pay', description: 'Pays.', schema: z.object({ to: z.string() }) }
const body = ({ to }: { to: string }) => `${to}: ${interrupt({ pay: to })}`
const config = { configurable: { thread_id: 't' } }

function observed() {
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  const outcomes = () =>
    tree.all.flatMap(({ name, ends }) => {
      const [end] = ends
      if (end?.kind === 'tool') return [`${name} ${end.outcome}`]
      return end?.kind === 'operation' ? [`${name} ${end.waitingFor ?? end.reason}`] : []
    })
  return { dispatcher, events: eventsOf(dispatcher), outcomes }
}

/** Asked by the tool itself, and answered. */
async function askedAndAnswered(graph: { invoke(input: never, config: object): Promise<object> }, more = {}) {
  const asked = await graph.invoke({ messages: [{ role: 'user', content: 'Pay Ann.' }] } as never, {
    ...config,
    ...more,
  })
  const { messages } = (await graph.invoke(new Command({ resume: 'yes' }) as never, {
    ...config,
    ...more,
  })) as { messages: { text: string }[] }
  return { asked, texts: messages.map(({ text }) => text) }
}

const model = () =>
  fakeModel()
    .respondWithTools([{ name: 'pay', args: { to: 'ann' }, id: '1' }])
    .respond(new AIMessage('Paid.'))

describe('a tool of wrapTools() that asks a human by interrupt() of LangGraph waits, and has not failed', () => {
  it.each(['the tool', 'its function'])('in a bare graph, where %s is wrapped', async (what) => {
    const { dispatcher, events, outcomes } = observed()
    const pay =
      what === 'the tool'
        ? wrapTools({ pay: tool(body, def) }, { dispatcher }).pay
        : tool(wrapTools({ pay: body }, { dispatcher }).pay, def)
    const graph = bareGraph(model(), pay).compile({ checkpointer: new MemorySaver() })
    const { asked, texts } = await askedAndAnswered(graph)
    expect(asked).toMatchObject({ __interrupt__: [{ value: { pay: 'ann' } }] })
    expect(texts.at(-2)).toBe('ann: yes')
    await dispatcher.drain()
    expect(outcomes()).toEqual([
      'invoke_agent - human',
      'execute_tool pay waiting',
      'invoke_agent - done',
      'execute_tool pay completed',
    ])
    expect(typesOf(events).filter((type) => /Error/.test(type))).toEqual([])
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('in one that callbacks tell, where a node calls it', async () => {
    const { dispatcher, outcomes } = observed()
    const { pay } = wrapTools({ pay: body }, { dispatcher })
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('pay', async () => ({ messages: [new AIMessage(await pay({ to: 'ann' }))] }))
      .addEdge(START, 'pay')
      .compile({ checkpointer: new MemorySaver() })
    const callbacks = [hookspanCallbacks({ dispatcher, agentName: 'graph' })]
    const { texts } = await askedAndAnswered(graph, { callbacks })
    expect(texts).toEqual(['Pay Ann.', 'ann: yes'])
    expect(outcomes()).toEqual([
      'invoke_agent graph human',
      'execute_tool pay waiting',
      'invoke_agent graph done',
      'execute_tool pay completed',
    ])
  })

  it("in a tool of an agent, and as a call of another dispatcher's run", async () => {
    const { dispatcher, outcomes } = observed()
    const other = observed()
    const own = wrapTools({ pay: body }, { dispatcher }).pay
    const others = wrapTools({ pay: body }, { dispatcher: other.dispatcher }).pay
    for (const inner of [own, others]) {
      const middleware = [hookspanMiddleware({ dispatcher, agentName: 'agent' }) as AgentMiddleware]
      const checkpointer = new MemorySaver()
      const agent = createAgent({ model: model(), tools: [tool(inner, def)], middleware, checkpointer })
      const { texts } = await askedAndAnswered(agent as never)
      expect(texts.at(-2)).toBe('ann: yes')
    }
    expect(outcomes().join()).not.toMatch(/error/)
    expect(other.outcomes()).toEqual([
      'invoke_agent - human',
      'execute_tool pay waiting',
      'invoke_agent - done',
      'execute_tool pay completed',
    ])
  })
})

it('a tool of wrapTools() that leaves its graph by a throw is done', async () => {
  const { dispatcher, events, outcomes } = observed()
  const left = new ParentCommand(new Command({ graph: Command.PARENT, goto: 'other' }))
  const { leave } = wrapTools({ leave: () => Promise.reject(left) }, { dispatcher })
  await expect(leave()).rejects.toBe(left)
  expect(outcomes()).toEqual(['invoke_agent - done', 'execute_tool leave completed'])
  expect(typesOf(events).filter((type) => /Error/.test(type))).toEqual([])
})
