/** An agent whose one call waits for a human; the answers come by HTTP. */
import { appendFileSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import { auditLog, createApprovals, serveApprovals, sqliteStore } from 'hookspan/approval'
import { requireHuman } from 'hookspan/policies'

const [folder = '', token = ''] = process.argv.slice(2)
const approvals = createApprovals({
  store: sqliteStore({ path: `${folder}/approvals.db` }),
  audit: auditLog({ path: `${folder}/audit.jsonl` }),
  pollMs: 20,
})
const server = await serveApprovals({ approvals, token })
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use({ name: 'careful', gates: [requireHuman()] })
const op = dispatcher.startOperation()
const call = op.toolCall({ apiName: 'refund', args: { amount: 50 } }, () => {
  appendFileSync(`${folder}/ran.log`, 'ran\n')
})
process.send?.({ url: server.url })
process.send?.({ outcome: (await call).state })
await op.complete()
await server.close()
await approvals.close()
process.disconnect()
