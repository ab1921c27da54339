import { CopilotClient, defineTool } from '@github/copilot-sdk'
import { HookDispatcher } from 'hookspan'
import { observeCopilot } from 'hookspan/copilot'
import { startScriptedServer } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { z } from 'zod'

const dispatcher = new HookDispatcher()
const tracing = startTracing({ serviceName: 'support-bot', captureContent: true })
dispatcher.use(tracing)
dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['drop_*', 'bash'] })] })

// A scripted model, so that this runs without a login: leave `provider` out to ask Copilot's own.
const server = await startScriptedServer({
  steps: [
    { toolCalls: [{ name: 'find_order', arguments: { id: 7 } }] },
    { toolCalls: [{ name: 'drop_table', arguments: { id: 7 } }] },
    { toolCalls: [{ name: 'bash', arguments: { command: 'rm -r shop', description: 'tidies up' } }] },
    { content: 'Order 7 is shipped, and everything stays.' },
  ],
})
const provider = { type: 'openai' as const, baseUrl: server.baseURL, apiKey: 'none' }

const parameters = z.object({ id: z.number() })
const tools = [
  defineTool('find_order', {
    description: 'Finds an order.',
    parameters,
    handler: ({ id }) => `${id}: shipped`,
  }),
  defineTool('drop_table', { description: 'Drops a table.', parameters, handler: () => 'dropped' }),
]

// The one change.
const client = observeCopilot(new CopilotClient(), { dispatcher })
const session = await client.createSession({
  model: 'gpt-4o',
  provider,
  tools,
  onPermissionRequest: () => ({ kind: 'approve-once' }),
})
const reply = await session.sendAndWait('Where is order 7? Then drop the table, and the shop.')
for (const { body } of server.requests.slice(-1)) {
  const { messages } = body as { messages: { role: string; content: string }[] }
  for (const { role, content } of messages) if (role === 'tool') console.log('-', content)
}
console.log(reply?.data.content)
await session.disconnect()
await client.stop()
await server.close()
await tracing.shutdown()
