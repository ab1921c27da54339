/** An agent on Anthropic's tool runner, as it is: three lines on top give it gates, humans, hooks and spans. */
import Anthropic from '@anthropic-ai/sdk'
import { HookDispatcher } from 'hookspan'
import { observeAnthropic } from 'hookspan/anthropic'
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
const anthropic = new Anthropic({ apiKey: 'none', fetch })

// The three lines.
const dispatcher = new HookDispatcher()
dispatcher.use(startTracing({ serviceName: 'shop' }))
const client = observeAnthropic(anthropic, { dispatcher, agentName: 'shop' })

// What they give: gates decide, hooks see.
dispatcher.use({
  name: 'careful',
  gates: [toolPolicy({ deny: ['drop_*'] })],
  hooks: [{ id: 'tools', type: 'afterToolCall', handler: (e) => console.log(e.apiName, e.args, e.content) }],
})

const input_schema = { type: 'object' as const }
const answer = await client.beta.messages.toolRunner({
  model: 'claude-opus-5',
  max_tokens: 1000,
  messages: [{ role: 'user', content: 'Where is order 7? Then drop the table.' }],
  tools: [
    { name: 'find_order', description: 'Finds an order.', input_schema, run: () => 'shipped' },
    { name: 'drop_table', description: 'Drops a table.', input_schema, run: () => 'all gone' },
  ],
})
console.log(answer.content.map((block) => (block.type === 'text' ? block.text : '')).join(''))
