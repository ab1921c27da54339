import { GoogleGenAI } from '@google/genai'
import { HookDispatcher } from 'hookspan'
import { wrapTools } from 'hookspan/adapter'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { callTool, scriptedFetch } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'

// A scripted model, so that this runs without a key. Leave `fetch` out to talk to the real one.
const fetch = scriptedFetch({
  steps: [
    callTool('find_order', { id: 7 }),
    callTool('drop_table', { name: 'orders' }),
    { content: 'Order 7 is on its way. I may not drop tables.' },
  ],
})
const google = new GoogleGenAI({ apiKey: 'none', httpOptions: { fetch } as never })

// What observes the client, and what makes your functions tool calls.
const dispatcher = new HookDispatcher()
dispatcher.use(startTracing({ serviceName: 'shop' }))
const ai = observeGoogleGenAI(google, { dispatcher })
const functions: Record<string, (args: object) => Promise<string>> = {
  find_order: async () => 'shipped',
  drop_table: async () => 'dropped',
}
const tools = wrapTools(functions, { dispatcher, onRefused: 'tell' })

dispatcher.use({
  name: 'careful',
  gates: [toolPolicy({ deny: ['drop_*'] })],
  hooks: [{ id: 'tools', type: 'afterToolCall', handler: (e) => console.log(e.apiName, e.args, e.content) }],
})

// The loop is yours, and one run.
const op = dispatcher.startOperation({ agentName: 'shop' })
await op.run(async () => {
  const model = 'gemini-3.8-flash'
  const offered = Object.keys(functions).map((name) => ({ type: 'function' as const, name }))
  let reply = await ai.interactions.create({
    model,
    tools: offered,
    input: 'Where is order 7? Then drop the table.',
  })
  while (reply.status === 'requires_action') {
    const input = []
    for (const step of reply.steps) {
      if (step.type !== 'function_call') continue
      const result = (await tools[step.name]?.(step.arguments)) ?? 'There is no such tool.'
      input.push({ type: 'function_result' as const, call_id: step.id, result })
    }
    reply = await ai.interactions.create({ model, tools: offered, input, previous_interaction_id: reply.id })
  }
  console.log(reply.output_text)
  await op.complete({ content: reply.output_text ?? '' })
})
