/** Agents of the OpenAI Agents SDK, seen and held back: one looks something up, and may not delete. */
import { Agent, Runner, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { HookDispatcher } from 'hookspan'
import { observeAgents } from 'hookspan/openai-agents'
import { toolPolicy } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { z } from 'zod'

const dispatcher = new HookDispatcher()
const tracing = startTracing({ serviceName: 'support-bot', captureContent: true })
dispatcher.use(tracing)
dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['delete_*'] })] })

// The one change: the runner is observed. `tracingDisabled` leaves out what the SDK sends to OpenAI.
const runner = observeAgents(new Runner({ tracingDisabled: true }), { dispatcher })

const parameters = z.object({ id: z.number() })
const agent = new Agent({
  name: 'support',
  // The SDK's own scripted model, so that this runs without a key: `model: 'gpt-4o'` asks the real one.
  model: new ScriptedModel([
    [functionCall('find_order', { id: 7 }, { callId: '1' })],
    [functionCall('delete_order', { id: 7 }, { callId: '2' })],
    [assistantMessage('Order 7 is shipped, and I may not delete it.')],
  ]),
  tools: [
    tool({
      name: 'find_order',
      description: 'Finds an order.',
      parameters,
      execute: ({ id }) => `${id}: shipped`,
    }),
    tool({ name: 'delete_order', description: 'Deletes it.', parameters, execute: () => 'it is gone' }),
  ],
})

const { finalOutput, output } = await runner.run(agent, 'Where is order 7? Delete it.')
for (const item of output) if (item.type === 'function_call_result') console.log(JSON.stringify(item.output))
console.log(finalOutput)
await tracing.shutdown()
