/** Automatic function calling of Google's SDK, as it is: three lines on top give it gates, humans, hooks and spans. */
import { type CallableTool, GoogleGenAI } from '@google/genai'
import { HookDispatcher } from 'hookspan'
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

// The three lines.
const dispatcher = new HookDispatcher()
dispatcher.use(startTracing({ serviceName: 'shop' }))
const ai = observeGoogleGenAI(google, { dispatcher, agentName: 'shop' })

// What they give: gates decide, hooks see.
dispatcher.use({
  name: 'careful',
  gates: [toolPolicy({ deny: ['drop_*'] })],
  hooks: [{ id: 'tools', type: 'afterToolCall', handler: (e) => console.log(e.apiName, e.args, e.content) }],
})

const tools: CallableTool = {
  tool: async () => ({ functionDeclarations: [{ name: 'find_order' }, { name: 'drop_table' }] }),
  callTool: async (calls) =>
    calls.map(({ id, name }) => ({
      functionResponse: { ...(id && { id }), ...(name && { name }), response: { output: 'shipped' } },
    })),
}
const answer = await ai.models.generateContent({
  model: 'gemini-3.8-flash',
  contents: 'Where is order 7? Then drop the table.',
  config: { tools: [tools] },
})
console.log(answer.text)
