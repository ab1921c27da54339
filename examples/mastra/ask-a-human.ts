import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { InMemoryStore } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import { HookDispatcher } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { observeMastra, parkedRun, runWith } from 'hookspan/mastra'
import { requireHuman } from 'hookspan/policies'
import { z } from 'zod'
import { scripted } from '../ai-sdk/scripted.ts'

const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'delete_*' })] })

const delete_order = createTool({
  id: 'delete_order',
  description: 'Deletes an order.',
  inputSchema: z.object({ id: z.number() }),
  execute: async ({ id }) => `order ${id} is deleted`,
})
const model = scripted([{ tool: 'delete_order', input: { id: 7 } }, 'Done: it is deleted.'])
const instructions = 'You help with orders.'
const agent = new Agent({ id: 'support', name: 'support', instructions, model, tools: { delete_order } })
observeMastra(agent, { dispatcher })
// Mastra keeps what is suspended: in a store that outlives the process, the run goes on in another one.
new Mastra({ agents: { support: agent }, storage: new InMemoryStore() })

const asked = await agent.generate('Delete order 7')
const state = JSON.stringify({ runId: asked.runId, parked: await parkedRun(asked) })
console.log(asked.finishReason)

// The human, hours later: `hookspan approvals approve`, the HTTP routes, or code.
const [record] = await approvals.list({ status: 'pending' })
if (record === undefined) throw new Error('Nothing is asked.')
const { id, apiName, args, argsDigest } = record.request
console.log(`${apiName} ${JSON.stringify(args)}?`)
await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })

const { runId, parked } = JSON.parse(state)
const result = await runWith({ resume: parked }, () => agent.resumeGenerate({}, { runId }))
console.log(result.text)
