import assert from 'node:assert/strict'
import { Worker } from '@temporalio/worker'
import { HookDispatcher } from 'hookspan'
import { scriptedFetch } from 'hookspan/mock'
import OpenAI from 'openai'
import { onCommandLine, writeWorkflows } from './temporal.mjs'

writeWorkflows(command('import { agentWorkflow }'))
const dispatcher = new HookDispatcher()
const refunded = []
const tool = { name: 'refund', execute: ({ id }) => void refunded.push(id) }
const agent = { name: 'refunds', model: 'scripted', tools: [tool] }
// It may be asked again, where nobody knows whether it has answered.
const respond = ({ messages }) =>
  messages.at(-1).role === 'tool'
    ? { content: 'Order 7 is refunded.' }
    : { toolCalls: [{ name: 'refund', arguments: { id: 7 } }] }
const client = new OpenAI({ apiKey: 'none', fetch: scriptedFetch({ respond }) })

// The snippet waits for as long as its worker works.
onCommandLine(command('temporal workflow start')).then(([, result]) => {
  assert.match(result, /Order 7 is refunded\./)
  assert.deepEqual(refunded, [7])
  process.exit()
})
snippet("import { durableAgent } from 'hookspan/temporal'\n\nconst refunds")
