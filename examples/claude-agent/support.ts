import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { HookDispatcher } from 'hookspan'
import { observeClaudeAgent } from 'hookspan/claude-agent'
import { toolPolicy } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { z } from 'zod'
import { scripted } from './scripted.ts'

const dispatcher = new HookDispatcher()
const tracing = startTracing({ serviceName: 'support-bot', captureContent: true })
dispatcher.use(tracing)
dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['delete_*', 'Bash'] })] })

// The one change: `query` comes from here instead of the SDK.
const query = observeClaudeAgent(sdk.query, { dispatcher })

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] })
const orders = sdk.createSdkMcpServer({
  name: 'orders',
  tools: [
    sdk.tool('find_order', 'Finds an order.', { id: z.number() }, async ({ id }) => text(`${id}: shipped`)),
    sdk.tool('delete_order', 'Deletes an order.', { id: z.number() }, async () => text('it is gone')),
  ],
})

// Scripted, so that this runs without a key: leave its options out, and Claude is asked.
const claude = await scripted([
  { toolCalls: [{ name: 'mcp__orders__find_order', arguments: { id: 7 } }] },
  { toolCalls: [{ name: 'mcp__orders__delete_order', arguments: { id: 7 } }] },
  { toolCalls: [{ name: 'Bash', arguments: { command: 'rm order-7', description: 'Deletes it' } }] },
  { content: 'Order 7 is shipped, and I may not delete it.' },
])
const run = query({
  prompt: 'Where is order 7? Delete it.',
  options: {
    ...claude.options,
    tools: ['Bash'],
    mcpServers: { orders },
    allowedTools: ['mcp__orders__find_order', 'mcp__orders__delete_order', 'Bash'],
  },
})
for await (const message of run) {
  if (message.type === 'result' && message.subtype === 'success') console.log(message.result)
  if (message.type !== 'user' || typeof message.message.content === 'string') continue
  for (const block of message.message.content) {
    if (block.type === 'tool_result') console.log(JSON.stringify(block.content))
  }
}
await claude.close()
await tracing.shutdown()
