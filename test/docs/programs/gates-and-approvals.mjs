import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import { auditLog, createApprovals, serveApprovals as serve, sqliteStore } from 'hookspan/approval'
import { requireHuman } from 'hookspan/policies'

process.env.ANN_TOKEN = 'the token that Ann holds'
const dispatcher = new HookDispatcher()
let server
const serveApprovals = async (options) => {
  server = await serve(options)
  return server
}
snippet('const approvals')

const op = dispatcher.startOperation({ agentName: 'janitor' })
const outcome = op.toolCall({ apiName: 'delete_branch', args: { name: 'main' } }, () => 'deleted')
while ((await approvals.list({ status: 'pending' })).length === 0) await new Promise(setImmediate)
const [{ request }] = await approvals.list({ status: 'pending' })
const respond = (token) =>
  fetch(`${server.url}/hitl/approvals/${request.id}/respond`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ decision: 'approve', argsDigest: request.argsDigest }),
  })
assert.equal((await respond('another token of some length')).status, 401)
assert.equal((await respond(process.env.ANN_TOKEN)).status, 200)
assert.deepEqual([(await outcome).state, (await outcome).result], ['completed', 'deleted'])
await op.complete()
await server.close()
await approvals.close()
assert.match(readFileSync('audit.jsonl', 'utf8'), /"approver":"ann"/)
