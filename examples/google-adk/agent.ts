import { BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, LogLevel, setLogLevel } from '@google/adk'
import { HookDispatcher } from 'hookspan'
import { hookspanPlugin } from 'hookspan/google-adk'
import { toolPolicy } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { z } from 'zod'

setLogLevel(LogLevel.ERROR)
const dispatcher = new HookDispatcher()
const tracing = startTracing({ serviceName: 'support-bot', captureContent: true })
dispatcher.use(tracing)
dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['drop_*'] })] })

// A scripted model, so that this runs without a key: `model: 'gemini-2.5-flash'` asks the real one.
class Scripted extends BaseLlm {
  turns = [
    [{ functionCall: { id: '1', name: 'find_order', args: { id: 7 } } }],
    [{ functionCall: { id: '2', name: 'drop_table', args: { id: 7 } } }],
    [{ text: 'Order 7 is shipped, and the table stays.' }],
  ]
  async *generateContentAsync() {
    yield { content: { role: 'model', parts: this.turns.shift() ?? [] } }
  }
  async connect(): Promise<never> {
    throw new Error('not live')
  }
}

const parameters = z.object({ id: z.number() })
const agent = new LlmAgent({
  name: 'support',
  model: new Scripted({ model: 'scripted' }),
  tools: [
    new FunctionTool({
      name: 'find_order',
      description: 'Finds an order.',
      parameters,
      execute: ({ id }) => `${id}: shipped`,
    }),
    new FunctionTool({
      name: 'drop_table',
      description: 'Drops a table.',
      parameters,
      execute: () => 'dropped',
    }),
  ],
})

// The one change: the plugin.
const runner = new InMemoryRunner({ agent, appName: 'shop', plugins: [hookspanPlugin({ dispatcher })] })
const newMessage = { role: 'user', parts: [{ text: 'Where is order 7? Then drop the table.' }] }
for await (const { content } of runner.runEphemeral({ userId: 'ines', newMessage })) {
  for (const { functionResponse: told, text } of content?.parts ?? []) {
    if (told !== undefined) console.log(told.name, '-', JSON.stringify(told.response))
    if (text !== undefined) console.log(text)
  }
}
await tracing.shutdown()
