/** A gate asks a human while the run waits: ADK cannot stop a turn at one call and go on with it in another process. */
import { BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, LogLevel, setLogLevel } from '@google/adk'
import { HookDispatcher } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { hookspanPlugin } from 'hookspan/google-adk'
import { requireHuman } from 'hookspan/policies'
import { z } from 'zod'

setLogLevel(LogLevel.ERROR)
const approvals = createApprovals({
  // With `sqliteStore({ path })` the answer may come from another process: `hookspan approvals approve`, the HTTP routes, or code.
  store: memoryStore(),
  channels: [
    {
      name: 'the human',
      requested: async ({ id, apiName, args, argsDigest }) => {
        console.log(`${apiName} ${JSON.stringify(args)}?`)
        await approvals.respond(
          id,
          (args as { id: number }).id === 7
            ? { decision: 'approve', approver: 'ann', argsDigest }
            : { decision: 'reject', approver: 'ann', reason: 'it is on its way' },
        )
      },
    },
  ],
})
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'delete_*' })] })

// A scripted model, so that this runs without a key: `model: 'gemini-2.5-flash'` asks the real one.
class Scripted extends BaseLlm {
  turns = [
    [{ functionCall: { id: '1', name: 'delete_order', args: { id: 7 } } }],
    [{ functionCall: { id: '2', name: 'delete_order', args: { id: 8 } } }],
    [{ text: 'Order 7 is deleted, order 8 stays.' }],
  ]
  async *generateContentAsync() {
    yield { content: { role: 'model', parts: this.turns.shift() ?? [] } }
  }
  async connect(): Promise<never> {
    throw new Error('not live')
  }
}

const delete_order = new FunctionTool({
  name: 'delete_order',
  description: 'Deletes an order.',
  parameters: z.object({ id: z.number() }),
  execute: ({ id }) => {
    console.log(`order ${id} is deleted`)
    return 'deleted'
  },
})
const model = new Scripted({ model: 'scripted' })
const agent = new LlmAgent({ name: 'support', model, tools: [delete_order] })
const runner = new InMemoryRunner({ agent, appName: 'shop', plugins: [hookspanPlugin({ dispatcher })] })
const newMessage = { role: 'user', parts: [{ text: 'Delete the orders 7 and 8.' }] }
for await (const { content } of runner.runEphemeral({ userId: 'ines', newMessage })) {
  for (const { functionResponse: told, text } of content?.parts ?? []) {
    if (told !== undefined) console.log(told.name, '-', JSON.stringify(told.response))
    if (text !== undefined) console.log(text)
  }
}
