/** An agent on the AI SDK, seen and held back: it looks something up, and may not delete. */
import * as ai from 'ai'
import { HookDispatcher } from 'hookspan'
import { observeAISDK } from 'hookspan/ai-sdk'
import { toolPolicy } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { z } from 'zod'
import { scripted } from './scripted.ts'

const dispatcher = new HookDispatcher()
const tracing = startTracing({ serviceName: 'support-bot', captureContent: true })
dispatcher.use(tracing)
dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['delete_*'] })] })

// The one change: the functions come from here instead of the package.
const { generateText, isStepCount, tool } = observeAISDK(ai, { dispatcher })

const inputSchema = z.object({ id: z.number() })
const result = await generateText({
  // A scripted model, so that this runs without a key: `openai('gpt-4o')` asks the real one.
  model: scripted([
    { tool: 'find_order', input: { id: 7 } },
    { tool: 'delete_order', input: { id: 7 } },
    'Order 7 is shipped, and I may not delete it.',
  ]),
  tools: {
    find_order: tool({ inputSchema, execute: ({ id }) => `${id}: shipped` }),
    delete_order: tool({ inputSchema, execute: (): string => 'it is gone' }),
  },
  prompt: 'Where is order 7? Delete it.',
  stopWhen: isStepCount(5),
  telemetry: { functionId: 'support' },
})
for (const { toolName } of result.toolResults) console.log('ran', toolName)
console.log(result.text)
await tracing.shutdown()
