/** Answers all that is asked, as soon as it is told to, and says which of its answers were taken. */
import { once } from 'node:events'
import { auditLog, createApprovals, sqliteStore } from 'hookspan/approval'

const [folder = '', approver = ''] = process.argv.slice(2)
const approvals = createApprovals({
  store: sqliteStore({ path: `${folder}/approvals.db` }),
  audit: auditLog({ path: `${folder}/audit.jsonl` }),
})
const asked = await approvals.list({ status: 'pending' })
process.send?.('ready')
await once(process, 'message')
const taken: string[] = []
for (const { request } of asked) {
  try {
    await approvals.respond(request.id, { decision: 'approve', approver })
    taken.push(request.id)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== 'APPROVAL_ANSWERED') throw error
  }
}
process.send?.(taken)
await approvals.close()
process.disconnect()
