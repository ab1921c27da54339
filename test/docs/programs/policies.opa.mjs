/** OPA stood in for: what it takes and gives below `/v0/data`, with the rules of the page. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { HookDispatcher } from 'hookspan'
import { httpGate } from 'hookspan/policies'

function decisionOf({ apiName, payload }) {
  if (apiName === 'get_order') return { decision: 'proceed' }
  if (apiName !== 'refund_order') return { decision: 'deny', reason: 'no rule allows it' }
  return { decision: payload.amount > 100 ? 'require_approval' : 'proceed' }
}
const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  assert.deepEqual([request.method, request.url], ['POST', '/v0/data/hookspan/decision'])
  response.setHeader('content-type', 'application/json').end(JSON.stringify(decisionOf(JSON.parse(text))))
})
await new Promise((resolve) => server.listen(8181, resolve))

snippet('const opa')

const asked = []
const dispatcher = new HookDispatcher()
dispatcher.use({
  name: 'page',
  gates: [opa],
  approver: {
    requestApproval: async ({ args }) => {
      asked.push(args)
      return { decision: 'reject' }
    },
  },
})
const op = dispatcher.startOperation({ agentName: 'page' })
const told = []
for (const [apiName, args] of [
  ['get_order', { id: 7 }],
  ['refund_order', { amount: 20 }],
  ['refund_order', { amount: 200 }],
  ['delete_order', {}],
]) {
  const { state, reason = '' } = await op.toolCall({ apiName, args }, () => 'done')
  told.push(`${state} ${reason}`.trim())
}
await op.complete()
server.close()
assert.deepEqual(told.slice(0, 2), ['completed', 'completed'])
assert.match(told[2], /^rejected/)
assert.equal(told[3], 'denied no rule allows it')
assert.deepEqual(asked, [{ amount: 200 }])
