/** An agent of LangChain: it looks something up, may not delete, and waits for a human before it refunds. */
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Command, MemorySaver } from '@langchain/langgraph'
import { HookDispatcher } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { hookspanMiddleware } from 'hookspan/langchain'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

const dispatcher = new HookDispatcher()
const tracing = startTracing({ serviceName: 'support-bot', captureContent: true })
dispatcher.use(tracing)
const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
dispatcher.use(approvals)
dispatcher.use({
  name: 'careful',
  gates: [toolPolicy({ deny: ['delete_*'] }), requireHuman({ match: 'refund' })],
})

const schema = z.object({ id: z.number() })
const tools = [
  tool(({ id }) => `${id}: shipped`, { name: 'find_order', description: 'Finds an order.', schema }),
  tool(({ id }) => `${id} is gone`, { name: 'delete_order', description: 'Deletes it.', schema }),
  tool(({ id }) => `${id} is paid back`, { name: 'refund', description: 'Pays it back.', schema }),
]
// A scripted model, so that this runs without a key: `model: 'openai:gpt-4o'` asks the real one.
const model = fakeModel()
  .respondWithTools([{ name: 'find_order', args: { id: 7 }, id: '1' }])
  .respondWithTools([
    { name: 'delete_order', args: { id: 7 }, id: '2' },
    { name: 'refund', args: { id: 7 }, id: '3' },
  ])
  .respond(new AIMessage('Order 7 is paid back.'))

// The one change: the middleware, before any other.
const middleware = [hookspanMiddleware({ dispatcher, agentName: 'support' })]
const agent = createAgent({ model, tools, middleware, checkpointer: new MemorySaver() })
const config = { configurable: { thread_id: 'order-7' } }

const first = await agent.invoke({ messages: [new HumanMessage('Delete order 7 and pay it back.')] }, config)
const [asked] = (first as { __interrupt__?: { value: object }[] }).__interrupt__ ?? []
if (asked === undefined) throw new Error('Nobody is asked.')

// The human, hours later: `hookspan approvals approve`, the HTTP routes, or code.
for (const { request } of await approvals.list({ status: 'pending' })) {
  console.log(`${request.apiName} ${JSON.stringify(request.args)}?`)
  await approvals.respond(request.id, {
    decision: 'approve',
    approver: 'ann',
    argsDigest: request.argsDigest,
  })
}

// In this or any other process that has the checkpoints and the approvals: resumed with what was asked, as it is.
const second = await agent.invoke(new Command({ resume: asked.value }), config)
for (const message of second.messages) {
  if (message.type === 'tool') console.log(message.name, '-', message.text)
}
console.log(second.messages.at(-1)?.text)
await tracing.shutdown()
