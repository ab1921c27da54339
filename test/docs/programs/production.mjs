import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import { auditLog, createApprovals, sqliteStore, verifyAudit } from 'hookspan/approval'
import { requireHuman } from 'hookspan/policies'

const dispatcher = new HookDispatcher()
snippet('import { appendFileSync }')
snippet('const approvals')

dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'delete_*' })] })
const op = dispatcher.startOperation({ agentName: 'janitor' })
await op.toolCall({ apiName: 'list_branches', args: {} }, () => ['main'])
assert.equal(JSON.parse(readFileSync('events.jsonl', 'utf8')).apiName, 'list_branches')
// Nobody waits: the run is parked, and answered whenever.
const parked = op.toolCall({ apiName: 'delete_branch', args: { name: 'main' } }, () => assert.fail('it ran'))
parked.catch(() => {})
while ((await approvals.list({ status: 'pending' })).length === 0) await new Promise(setImmediate)
const [{ request }] = await approvals.list({ status: 'pending' })
assert.equal(request.apiName, 'delete_branch')
await approvals.respond(request.id, { decision: 'approve', approver: 'ann' })
await approvals.close()
assert.match(readFileSync('audit.jsonl', 'utf8'), /"approver":"ann"/)
assert.equal((await verifyAudit({ path: 'audit.jsonl' })).ok, true)
