/** Asks, answers and claims a run as another user. */
import { auditLog, createApprovals, sqliteStore } from 'hookspan/approval'
import type { ApprovalRequest } from 'hookspan/gates'

const [folder = '', user = '', group = '', asked = '{}'] = process.argv.slice(2)
process.setgroups?.([Number(group)])
process.setgid?.(Number(user))
process.setuid?.(Number(user))
const request = JSON.parse(asked) as ApprovalRequest
try {
  const approvals = createApprovals({
    store: sqliteStore({ path: `${folder}/approvals.db` }),
    audit: auditLog({ path: `${folder}/audit.jsonl` }),
  })
  await approvals.store.add(request)
  await approvals.respond(request.id, { decision: 'approve', approver: `user ${user}` })
  const claim = await approvals.approver.ledger?.claimRun?.(`run of ${request.id}`)
  console.log(claim?.state)
} catch (error) {
  console.log(String(error))
}
// As one that is killed: what it holds stays where it is.
process.kill(process.pid, 'SIGKILL')
