import assert from 'node:assert/strict'
import { execAgent } from 'hookspan/agent'
import { callTool, scriptedModel } from 'hookspan/mock'
import { sent } from './outside.mjs'

snippet('import type { AgentTool }')

const client = scriptedModel([callTool('refund', { amount: 20 }), 'Done.'])
const agent = { name: 'refunds', model: 'scripted', tools: [refund] }
await execAgent({ agent, prompt: 'Refund order 7', client, operationId: 'refund-7' })
const [{ url, method, headers, body }] = sent
assert.deepEqual(
  [method, url, body.toString()],
  ['POST', 'https://payments.example/refunds', '{"amount":20}'],
)
assert.match(headers['idempotency-key'], /^refund-7/)
