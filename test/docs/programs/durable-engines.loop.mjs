import assert from 'node:assert/strict'
import { HookDispatcher } from 'hookspan'
import { callTool, scriptedModel } from 'hookspan/mock'
import { KEY, runOnRestate } from './engine.mjs'

const dispatcher = new HookDispatcher()
const model = scriptedModel([callTool('refund', { id: 7 }), 'Order 7 is refunded.'])
const create = (request) => model.chat.completions.create(request)
const refunded = []
const refund = ({ id }, key) => void refunded.push([id, key.startsWith(KEY)])
snippet("import { durableAgent } from 'hookspan/restate'\n\nconst support")

assert.match(
  JSON.stringify(await runOnRestate(support, { prompt: 'Refund order 7' })),
  /Order 7 is refunded\./,
)
assert.deepEqual(refunded, [[7, true]])
process.exit()
