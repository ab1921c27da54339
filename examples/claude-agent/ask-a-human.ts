/** A run that needs a human ends its process; another process goes on with it once the human has answered. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { HookDispatcher } from 'hookspan'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { observeClaudeAgent, parkedRun, runWith } from 'hookspan/claude-agent'
import { requireHuman } from 'hookspan/policies'
import { z } from 'zod'
import { scripted } from './scripted.ts'

const isFirst = process.argv[2] === undefined
const folder = process.argv[2] ?? mkdtempSync(`${tmpdir()}/hookspan-`)
const approvals = createApprovals({ store: sqliteStore({ path: `${folder}/approvals.db` }), mode: 'park' })
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'delete_*' })] })
const query = observeClaudeAgent(sdk.query, { dispatcher })

const delete_order = sdk.tool('delete_order', 'Deletes an order.', { id: z.number() }, async ({ id }) => {
  console.log(`order ${id} is deleted`)
  return { content: [{ type: 'text', text: 'deleted' }] }
})
// Scripted, so that this runs without a key: leave its options out, and Claude is asked.
const claude = await scripted(
  isFirst
    ? [{ toolCalls: [{ name: 'mcp__orders__delete_order', arguments: { id: 7 } }] }]
    : [{ content: 'Done: it is deleted.' }],
  folder,
)
const options = {
  ...claude.options,
  tools: [],
  mcpServers: { orders: sdk.createSdkMcpServer({ name: 'orders', tools: [delete_order] }) },
  allowedTools: ['mcp__orders__delete_order'],
}

if (isFirst) {
  const run = query({ prompt: 'Delete order 7.', options })
  let session = ''
  for await (const message of run) if (message.type === 'result') session = message.session_id
  const state = { session, parked: await parkedRun(run) }
  writeFileSync(`${folder}/state.json`, JSON.stringify(state))
  console.log('waiting for', state.parked?.waitingFor)
  await claude.close()

  // The human, hours later: `hookspan approvals approve`, the HTTP routes, or code.
  const [record] = await approvals.list({ status: 'pending' })
  if (record === undefined) throw new Error('Nothing is asked.')
  const { id, apiName, args, argsDigest } = record.request
  console.log(`${apiName} ${JSON.stringify(args)}?`)
  await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })

  execFileSync(process.execPath, [...process.execArgv, import.meta.filename, folder], { stdio: 'inherit' })
} else {
  // Another process that has the session's folder. An empty prompt: the call that waits goes on.
  const { parked, session: resume } = JSON.parse(readFileSync(`${folder}/state.json`, 'utf8'))
  const run = runWith({ resume: parked }, () => query({ prompt: '', options: { ...options, resume } }))
  for await (const message of run) {
    if (message.type === 'result' && message.subtype === 'success') console.log(message.result)
  }
  await claude.close()
}
