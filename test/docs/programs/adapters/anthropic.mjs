import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import { HookDispatcher } from 'hookspan'
import { startScriptedServer } from 'hookspan/mock'

await using server = await startScriptedServer({ steps: [{ content: 'Order 7 is on its way.' }] })
const { origin } = new URL(server.baseURL)
Object.assign(process.env, { ANTHROPIC_BASE_URL: origin, ANTHROPIC_API_KEY: 'none' })
const dispatcher = new HookDispatcher()
const seen = []
dispatcher.use({
  name: 'seen',
  hooks: [{ id: 'llm', type: 'afterLlmCall', handler: (e) => seen.push([e.agentName, e.response.content]) }],
})
snippet('import { observeAnthropic }')

const messages = [{ role: 'user', content: 'Where is order 7?' }]
await client.messages.create({ model: 'claude-opus-5', max_tokens: 100, messages })
await dispatcher.drain()
assert.deepEqual(seen, [['shop', 'Order 7 is on its way.']])
