import { Agent, tool } from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { HookDispatcher } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { scriptedFetch } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { observeStrands } from 'hookspan/strands'
import { startTracing } from 'hookspan/tracing'
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

const inputSchema = z.object({ id: z.number() })
const tools = [
  tool({ name: 'find_order', description: 'Finds it.', inputSchema, callback: ({ id }) => `${id}: shipped` }),
  tool({
    name: 'delete_order',
    description: 'Deletes it.',
    inputSchema,
    callback: ({ id }) => `${id} is gone`,
  }),
  tool({
    name: 'refund',
    description: 'Pays it back.',
    inputSchema,
    callback: ({ id }) => `${id} is paid back`,
  }),
]
// A scripted model, so that this runs without a key: leave `clientConfig` out, and it asks the real one.
const call = (name: string, id: string) => ({ id, name, arguments: { id: 7 } })
const fetch = scriptedFetch({
  steps: [
    { toolCalls: [call('find_order', '1')] },
    { toolCalls: [call('delete_order', '2'), call('refund', '3')] },
    { content: 'Order 7 is paid back.' },
  ],
})
const model = new OpenAIModel({
  api: 'responses',
  modelId: 'gpt-4o',
  apiKey: 'none',
  clientConfig: { fetch },
})

// The one change: observeStrands around the agent.
const newAgent = () =>
  observeStrands(new Agent({ name: 'support', model, tools, printer: false }), { dispatcher })

const agent = newAgent()
const first = await agent.invoke('Delete order 7 and pay it back.')
const [asked] = first.interrupts ?? []
if (asked === undefined) throw new Error('Nobody is asked.')
const snapshot = JSON.stringify(agent.takeSnapshot({ preset: 'session' }))

// The human, hours later: `hookspan approvals approve`, the HTTP routes, or code.
for (const { request } of await approvals.list({ status: 'pending' })) {
  console.log(`${request.apiName} ${JSON.stringify(request.args)}?`)
  await approvals.respond(request.id, {
    decision: 'approve',
    approver: 'ann',
    argsDigest: request.argsDigest,
  })
}

// In this or any other process that has the snapshot and the approvals.
const resumed = newAgent()
resumed.loadSnapshot(JSON.parse(snapshot))
const second = await resumed.invoke([{ interruptResponse: { interruptId: asked.id, response: 'answered' } }])
for (const { content } of resumed.messages) {
  for (const block of content) {
    if (block.type !== 'toolResultBlock') continue
    const [told] = block.content
    console.log(block.status, '-', told?.type === 'textBlock' ? told.text : '')
  }
}
console.log(second.toString())
await tracing.shutdown()
