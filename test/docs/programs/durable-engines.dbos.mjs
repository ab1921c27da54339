import assert from 'node:assert/strict'
import { DBOS } from '@dbos-inc/dbos-sdk'
import { HookDispatcher } from 'hookspan'
import { callTool, scriptedModel } from 'hookspan/mock'

const dispatcher = new HookDispatcher()
const refunded = []
const tool = { name: 'refund', execute: ({ id }) => void refunded.push(id) }
const agent = { name: 'refunds', model: 'scripted', tools: [tool] }
const client = scriptedModel([callTool('refund', { id: 7 }), 'Order 7 is refunded.'])
snippet("import { durableAgent } from 'hookspan/dbos'")

const { status, content } = await run.getResult()
assert.deepEqual([status, content, refunded], ['done', 'Order 7 is refunded.', [7]])
await DBOS.shutdown()
process.exit()
