/** An agent's process that asks a person before each call. Args: approvals file, audit log, OTLP endpoint, operation ids. */

import { auditLog } from '../../../src/approval/audit-log.ts'
import { createApprovals } from '../../../src/approval/create-approvals.ts'
import { sqliteStore } from '../../../src/approval/sqlite-store.ts'
import { HookDispatcher } from '../../../src/index.ts'
import { requireHuman } from '../../../src/policies/index.ts'
import { startTracing } from '../../../src/tracing/index.ts'

const [file = '', audit = '', endpoint = '', ...operationIds] = process.argv.slice(2)
const tracing = startTracing({
  serviceName: 'asker',
  endpoint,
  captureContent: true,
  queue: { delayMs: 200 },
})
const approvals = createApprovals({
  store: sqliteStore({ path: file }),
  audit: auditLog({ path: audit }),
  pollMs: 20,
})
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)
dispatcher.use(approvals)
const instructions = 'Only orders that were never shipped.'
dispatcher.use({ name: 'human', gates: [requireHuman({ instructions, timeoutMs: 60_000 })] })
for (const operationId of operationIds) {
  const op = dispatcher.startOperation({ operationId, agentName: 'clerk' })
  const outcome = await op.step((step) =>
    step.toolCall(
      { apiName: 'delete_order', args: { id: 4711, keep: 'invoice' }, toolCallId: `call-${operationId}` },
      (args) => `deleted ${JSON.stringify(args)}`,
    ),
  )
  const told = outcome.state === 'completed' ? outcome.result : 'reason' in outcome ? outcome.reason : ''
  console.log(`${operationId}: ${outcome.state}: ${told}`)
  await op.complete()
}
await tracing.shutdown()
await approvals.close()
