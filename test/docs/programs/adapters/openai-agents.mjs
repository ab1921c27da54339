import assert from 'node:assert/strict'
import { Agent, setTracingDisabled } from '@openai/agents'
import { startScriptedServer } from 'hookspan/mock'

await using server = await startScriptedServer({ steps: [{ content: 'Order 7 is on its way.' }] })
Object.assign(process.env, {
  OPENAI_BASE_URL: server.baseURL,
  OPENAI_API_KEY: 'none',
})
setTracingDisabled(true)
snippet('import { Runner }')

const seen = []
dispatcher.use({
  name: 'seen',
  hooks: [{ id: 'end', type: 'onComplete', handler: (e) => seen.push([e.agentName, e.reason]) }],
})
const { finalOutput } = await runner.run(new Agent({ name: 'triage', model: 'gpt-4o' }), 'Where is order 7?')
await dispatcher.drain()
assert.equal(finalOutput, 'Order 7 is on its way.')
assert.deepEqual(seen, [['triage', 'done']])
