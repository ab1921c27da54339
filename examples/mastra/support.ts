import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { HookDispatcher } from 'hookspan'
import { observeMastra } from 'hookspan/mastra'
import { toolPolicy } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { z } from 'zod'
import { scripted } from '../ai-sdk/scripted.ts'

const dispatcher = new HookDispatcher()
const tracing = startTracing({ serviceName: 'support-bot', captureContent: true })
dispatcher.use(tracing)
dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['delete_*'] })] })

const inputSchema = z.object({ id: z.number() })
const agent = new Agent({
  id: 'support',
  name: 'support',
  instructions: 'You help with orders.',
  // A scripted model, so that this runs without a key: 'openai/gpt-4o' asks the real one.
  model: scripted([
    { tool: 'find_order', input: { id: 7 } },
    { tool: 'delete_order', input: { id: 7 } },
    'Order 7 is shipped, and I may not delete it.',
  ]),
  tools: {
    find_order: createTool({
      id: 'find_order',
      description: 'Finds an order.',
      inputSchema,
      execute: async ({ id }) => `${id}: shipped`,
    }),
    delete_order: createTool({
      id: 'delete_order',
      description: 'Deletes an order.',
      inputSchema,
      execute: async () => 'it is gone',
    }),
  },
})

// The one change.
observeMastra(agent, { dispatcher })

const result = await agent.generate('Where is order 7? Delete it.')
for (const { payload } of result.toolResults) console.log(payload.toolName, JSON.stringify(payload.result))
console.log(result.text)
await tracing.shutdown()
