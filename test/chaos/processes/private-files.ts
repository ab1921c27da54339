/** One of each thing that keeps what people said: a store of approvals with its audit log, and a viewer. */
import { auditLog, createApprovals, sqliteStore } from 'hookspan/approval'
import type { ApprovalRequest } from 'hookspan/gates'
import { startViewer } from 'hookspan/viewer'

process.umask(0)
const [folder = '', request = '{}'] = process.argv.slice(2)
const approvals = createApprovals({
  store: sqliteStore({ path: `${folder}/approvals.db` }),
  audit: auditLog({ path: `${folder}/audit.jsonl` }),
})
const asked = JSON.parse(request) as ApprovalRequest
await approvals.store.add(asked)
await approvals.respond(asked.id, { decision: 'approve', approver: 'ann' })
const viewer = await startViewer({ port: 0, db: `${folder}/traces.db` })
await fetch(`${viewer.url}/v1/traces`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"resourceSpans":[]}',
})
await viewer.close()
await approvals.close()
