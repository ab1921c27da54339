import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { CopilotClient, defineTool } from '@github/copilot-sdk'
import { HookDispatcher } from 'hookspan'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { observeCopilot, parkedRun, runWith } from 'hookspan/copilot'
import { startScriptedServer } from 'hookspan/mock'
import { requireHuman } from 'hookspan/policies'
import { z } from 'zod'

const isFirst = process.argv[2] === undefined
const folder = process.argv[2] ?? mkdtempSync(`${tmpdir()}/hookspan-`)
const approvals = createApprovals({ store: sqliteStore({ path: `${folder}/approvals.db` }), mode: 'park' })
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'delete_*' })] })

// A scripted model, so that this runs without a login: leave `provider` out to ask Copilot's own.
const server = await startScriptedServer({
  steps: isFirst
    ? [{ toolCalls: [{ name: 'delete_order', arguments: { id: 7 } }] }]
    : [{ content: 'Done: it is deleted.' }],
})
const delete_order = defineTool('delete_order', {
  description: 'Deletes an order.',
  parameters: z.object({ id: z.number() }),
  handler: ({ id }) => {
    console.log(`order ${id} is deleted`)
    return 'deleted'
  },
})
const config = {
  model: 'gpt-4o',
  provider: { type: 'openai' as const, baseUrl: server.baseURL, apiKey: 'none' },
  tools: [delete_order],
  onPermissionRequest: () => ({ kind: 'approve-once' as const }),
}
const client = observeCopilot(new CopilotClient(), { dispatcher })

if (isFirst) {
  const session = await client.createSession(config)
  await session.sendAndWait('Delete order 7.')
  const state = { parked: await parkedRun(session), sessionId: session.sessionId }
  writeFileSync(`${folder}/state.json`, JSON.stringify(state))
  console.log('waiting for', state.parked?.waitingFor)
  await client.stop()

  // The human, hours later: `hookspan approvals approve`, the HTTP routes, or code.
  const [record] = await approvals.list({ status: 'pending' })
  if (record === undefined) throw new Error('Nothing is asked.')
  const { id, apiName, args, argsDigest } = record.request
  console.log(`${apiName} ${JSON.stringify(args)}?`)
  await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })

  execFileSync(process.execPath, [...process.execArgv, import.meta.filename, folder], { stdio: 'inherit' })
} else {
  // Another process, on the machine that has the session. An empty prompt: the call that waits goes on.
  const { parked, sessionId } = JSON.parse(readFileSync(`${folder}/state.json`, 'utf8'))
  const session = await client.resumeSession(sessionId, { ...config, continuePendingWork: true })
  const reply = await runWith({ resume: parked }, () => session.sendAndWait(''))
  console.log(reply?.data.content)
  await session.disconnect()
  await client.stop()
}
await server.close()
