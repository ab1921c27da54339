/** A run that needs a human ends its process; another process goes on with it once the human has answered. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { InMemoryStore } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import { HookDispatcher } from 'hookspan'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { observeMastra, parkedRun, runWith } from 'hookspan/mastra'
import { requireHuman } from 'hookspan/policies'
import { z } from 'zod'
import { scripted } from '../ai-sdk/scripted.ts'

const isFirst = process.argv[2] === undefined
const folder = process.argv[2] ?? mkdtempSync(`${tmpdir()}/hookspan-`)
const approvals = createApprovals({ store: sqliteStore({ path: `${folder}/approvals.db` }), mode: 'park' })
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'delete_*' })] })

const delete_order = createTool({
  id: 'delete_order',
  description: 'Deletes an order.',
  inputSchema: z.object({ id: z.number() }),
  execute: async ({ id }) => {
    console.log(`order ${id} is deleted`)
    return 'deleted'
  },
})
const model = scripted(isFirst ? [{ tool: 'delete_order', input: { id: 7 } }] : ['Done: it is deleted.'])
const instructions = 'You help with orders.'
const agent = new Agent({ id: 'support', name: 'support', instructions, model, tools: { delete_order } })
observeMastra(agent, { dispatcher })

// Mastra keeps what is suspended. A store on disk or in a database needs none of the lines about snapshots.
const storage = new InMemoryStore()
new Mastra({ agents: { support: agent }, storage, logger: false })
const workflows = await storage.getStore('workflows')
if (workflows === undefined) throw new Error('The store keeps no workflows.')
const workflowNames = ['agentic-loop', 'executionWorkflow']

if (isFirst) {
  const result = await agent.generate('Delete order 7')
  const runId = result.runId ?? ''
  const snapshots = await Promise.all(
    workflowNames.map((workflowName) => workflows.loadWorkflowSnapshot({ workflowName, runId })),
  )
  const state = { runId, parked: await parkedRun(result), snapshots }
  writeFileSync(`${folder}/state.json`, JSON.stringify(state))
  console.log(result.finishReason)

  // The human, hours later: `hookspan approvals approve`, the HTTP routes, or code.
  const [record] = await approvals.list({ status: 'pending' })
  if (record === undefined) throw new Error('Nothing is asked.')
  const { id, apiName, args, argsDigest } = record.request
  console.log(`${apiName} ${JSON.stringify(args)}?`)
  await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })

  execFileSync(process.execPath, [...process.execArgv, import.meta.filename, folder], { stdio: 'inherit' })
} else {
  // Another process: the tool runs once, and each hook has fired once over both.
  const { runId, parked, snapshots } = JSON.parse(readFileSync(`${folder}/state.json`, 'utf8'))
  for (const [index, workflowName] of workflowNames.entries()) {
    await workflows.persistWorkflowSnapshot({ workflowName, runId, snapshot: snapshots[index] })
  }
  const result = await runWith({ resume: parked }, () => agent.resumeGenerate({}, { runId }))
  console.log(result.text)
}
