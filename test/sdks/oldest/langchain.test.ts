import { HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { MemorySaver } from '@langchain/langgraph'
import { hookspanMiddleware } from 'hookspan/langchain'
import { createAgent, humanInTheLoopMiddleware, tool } from 'langchain'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { dispatcherWith, findAll } from '../../support/told-events.ts'

it('a run is parked by what humanInTheLoopMiddleware asks, which LangGraph 1.5 keeps otherwise', async () => {
  const { dispatcher, events } = dispatcherWith()
  const schema = z.object({ id: z.string() })
  const agent = createAgent({
    model: fakeModel().respondWithTools([{ name: 'refund', args: { id: '7' }, id: '1' }]),
    tools: [tool(() => 'paid', { name: 'refund', description: 'Refunds.', schema })],
    middleware: [
      hookspanMiddleware({ dispatcher }),
      humanInTheLoopMiddleware({ interruptOn: { refund: true } }),
    ],
    checkpointer: new MemorySaver(),
  })
  await agent.invoke({ messages: [new HumanMessage('hi')] }, { configurable: { thread_id: 'one' } })
  await dispatcher.drain()
  expect(findAll(events, 'beforeHumanIntervention')[0]?.pendingTools).toMatchObject([{ apiName: 'refund' }])
  expect(dispatcher.stats().operations).toBe(0)
})
