import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { execAgent, resumeAgent, sqliteCheckpoints, unfinishedRuns } from 'hookspan/agent'
import { callTool, startScriptedServer } from 'hookspan/mock'

// Another process began a run, and died in the middle of its tool.
const died = `
import { execAgent, sqliteCheckpoints } from ${JSON.stringify(import.meta.resolve('hookspan/agent'))}
import { callTool, scriptedModel } from ${JSON.stringify(import.meta.resolve('hookspan/mock'))}
const agent = { name: 'refunds', model: 'gpt-4o', tools: [{ name: 'refund', execute: () => process.kill(process.pid, 'SIGKILL') }] }
const client = scriptedModel([callTool('refund', { id: 3 })])
const checkpoint = sqliteCheckpoints({ path: 'checkpoints.db' })
await execAgent({ agent, prompt: 'Refund order 3', client, checkpoint, operationId: 'refund-3' })
`
assert.equal(spawnSync(process.execPath, ['--input-type=module', '-e', died]).signal, 'SIGKILL')

const server = await startScriptedServer({
  steps: [callTool('refund', { id: 7 }), { content: 'Order 7 is refunded.' }, { content: 'Nobody knows.' }],
})
Object.assign(process.env, { OPENAI_BASE_URL: server.baseURL, OPENAI_API_KEY: 'none' })
const refunded = []
const tool = { name: 'refund', execute: ({ id }) => void refunded.push(id) }
const agent = { name: 'refunds', model: 'gpt-4o', tools: [tool] }

snippet('const checkpoint')

assert.equal(run.content, 'Order 7 is refunded.')
// The tool that was at work when its process died was not run again, and the run is over.
assert.deepEqual(refunded, [7])
assert.deepEqual(await unfinishedRuns(checkpoint), [])
server.assertDone()
await server.close()
