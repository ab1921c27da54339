import { HookDispatcher } from 'hookspan'
import { callTool, scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { toolPolicy } from 'hookspan/policies'
import OpenAI from 'openai'

// A scripted model, so that this runs without a key. Leave `fetch` out to talk to the real one.
const fetch = scriptedFetch({
  steps: [
    callTool('find_order', { id: 7 }),
    callTool('drop_table', { name: 'orders' }),
    { content: 'Order 7 is on its way. I may not drop tables.' },
  ],
})
const dispatcher = new HookDispatcher()
const client = observeOpenAI(new OpenAI({ apiKey: 'none', fetch }), { dispatcher, agentName: 'shop' })
dispatcher.use({
  name: 'careful',
  gates: [toolPolicy({ deny: ['drop_*'] })],
  hooks: [{ id: 'tools', type: 'afterToolCall', handler: (e) => console.log(e.apiName, e.args, e.content) }],
})

const tool = (name: string, run: () => string) => ({
  type: 'function' as const,
  function: { name, description: '', parameters: { type: 'object' }, parse: JSON.parse, function: run },
})
const runner = client.chat.completions.runTools({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'Where is order 7? Then drop the table.' }],
  tools: [tool('find_order', () => 'shipped'), tool('drop_table', () => 'all gone')],
})
console.log(await runner.finalContent())
