import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Command, MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { HookDispatcher } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { hookspanMiddleware } from 'hookspan/langchain'
import { requireHuman } from 'hookspan/policies'
import { createAgent, tool } from 'langchain'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { eventsOf, findAll } from '../support/told-events.ts'

type Asked = { __interrupt__?: { id: string; value: unknown }[] }

/** An agent that is a node of a graph, whose model asks for so many refunds in each of its turns, one id after the other. */
function refunding(turns: readonly number[]) {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
  dispatcher.use(approvals)
  dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'refund' })] })
  const paid: number[] = []
  const refund = tool(
    ({ id }) => {
      paid.push(id)
      return 'paid back'
    },
    { name: 'refund', description: 'Pays back.', schema: z.object({ id: z.number() }) },
  )
  let id = 0
  const model = turns
    .map((calls) =>
      Array.from({ length: calls }, () => ({ name: 'refund', args: { id: ++id }, id: `call_${id}` })),
    )
    .reduce(
      (said, calls, turn) =>
        said.respond(new AIMessage({ id: `said_${turn}`, content: '', tool_calls: calls })),
      fakeModel(),
    )
    .respond(new AIMessage('done'))
  const middleware = [hookspanMiddleware({ dispatcher, agentName: 'payer' })]
  const agent = createAgent({ model, tools: [refund], middleware })
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('payer', agent.graph)
    .addEdge(START, 'payer')
    .compile({ checkpointer: new MemorySaver() })
  return { dispatcher, events, approvals, paid, graph }
}

const config = { configurable: { thread_id: 'one' } }

/** One answer by its value as it is, several by their ids. */
function resumeWith(asked: NonNullable<Asked['__interrupt__']>): unknown {
  return asked.length === 1 ? asked[0]?.value : Object.fromEntries(asked.map(({ id, value }) => [id, value]))
}

it.each([[[1, 1]], [[1, 2]], [[2, 1]], [[2, 2]], [[1, 2, 1]]])(
  'an agent in a node of a graph goes on after questions of one turn and of the next: %j',
  async (turns) => {
    const { dispatcher, events, approvals, paid, graph } = refunding(turns)
    let result = (await graph.invoke({ messages: [new HumanMessage('go')] }, config)) as Asked
    for (const calls of turns) {
      const asked = result.__interrupt__ ?? []
      expect(asked).toHaveLength(calls)
      for (const { request } of await approvals.list({ status: 'pending' })) {
        const { id, argsDigest } = request
        await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })
      }
      result = (await graph.invoke(new Command({ resume: resumeWith(asked) }), config)) as Asked
    }
    expect(result.__interrupt__).toBeUndefined()
    const all = turns.reduce((sum, calls) => sum + calls, 0)
    expect(paid.toSorted()).toEqual(Array.from({ length: all }, (_, at) => at + 1))
    await dispatcher.drain()
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done' }])
    // Also of several calls that go on together.
    const steps = turns.flatMap((calls, turn) => Array.from({ length: calls }, () => turn))
    expect(findAll(events, 'afterToolCall').map(({ stepIndex }) => stepIndex)).toEqual(steps)
  },
)
