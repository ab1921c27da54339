/**
 * Serves the agent on Temporal; a human is asked before it pays. Kill it when you like, Temporal too, and start it again:
 *
 *     temporal server start-dev
 *     npx hookspan view
 *     node worker.ts
 *     temporal workflow start --task-queue agents --type refunds --workflow-id refund-7 --input '{"prompt":"Refund order 7"}'
 *     npx hookspan approvals list --db approvals.db
 *     npx hookspan approvals approve ID --db approvals.db
 *     temporal workflow result --workflow-id refund-7
 */
import { NativeConnection, Worker } from '@temporalio/worker'
import { HookDispatcher } from 'hookspan'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { scriptedFetch } from 'hookspan/mock'
import { requireHuman } from 'hookspan/policies'
import { durableAgent } from 'hookspan/temporal'
import { startTracing } from 'hookspan/tracing'
import OpenAI from 'openai'
import { agent, folder } from '../agent.ts'

const dispatcher = new HookDispatcher()
dispatcher.use(startTracing({ serviceName: 'refunds' }))
dispatcher.use(createApprovals({ store: sqliteStore({ path: `${folder}/approvals.db` }), mode: 'park' }))
dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'refund' })] })

// In the place of a model that runs elsewhere: what it says follows from what it is sent.
const model = scriptedFetch({
  respond({ messages }) {
    const { role } = messages.at(-1) as { role: string }
    if (role === 'tool') return { content: 'It is refunded.' }
    return { toolCalls: [{ name: 'refund', arguments: { amount: 40 } }] }
  },
})
const client = new OpenAI({ apiKey: 'none', fetch: model })

const { TEMPORAL_ADDRESS: address = '127.0.0.1:7233' } = process.env
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue: 'agents',
  workflowsPath: `${import.meta.dirname}/workflows.ts`,
  activities: { ...durableAgent({ name: 'refunds', agent, client, dispatcher }) },
})
await worker.run()
