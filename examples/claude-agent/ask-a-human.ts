import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { HookDispatcher } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { observeClaudeAgent, parkedRun, runWith } from 'hookspan/claude-agent'
import { requireHuman } from 'hookspan/policies'
import { z } from 'zod'
import { scripted } from './scripted.ts'

const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'delete_*' })] })
const query = observeClaudeAgent(sdk.query, { dispatcher })

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] })
const claude = await scripted([
  { toolCalls: [{ name: 'mcp__orders__delete_order', arguments: { id: 7 } }] },
  { content: 'Done: it is deleted.' },
])
const options = () => ({
  ...claude.options,
  tools: [],
  mcpServers: {
    orders: sdk.createSdkMcpServer({
      name: 'orders',
      tools: [
        sdk.tool('delete_order', 'Deletes an order.', { id: z.number() }, async ({ id }) =>
          text(`order ${id} is deleted`),
        ),
      ],
    }),
  },
  allowedTools: ['mcp__orders__delete_order'],
})

const run = query({ prompt: 'Delete order 7.', options: options() })
let session = ''
for await (const message of run) if (message.type === 'result') session = message.session_id
const state = JSON.stringify({ session, parked: await parkedRun(run) })

// The human, hours later: `hookspan approvals approve`, the HTTP routes, or code.
const [record] = await approvals.list({ status: 'pending' })
if (record === undefined) throw new Error('Nothing is asked.')
const { id, apiName, args, argsDigest } = record.request
console.log(`${apiName} ${JSON.stringify(args)}?`)
await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })

// In this process or any other that has the session's folder. An empty prompt: the call that waits goes on.
const { parked, session: resume } = JSON.parse(state)
const goOn = { prompt: '', options: { ...options(), resume } }
for await (const message of runWith({ resume: parked }, () => query(goOn))) {
  if (message.type === 'result' && message.subtype === 'success') console.log(message.result)
}
await claude.close()
