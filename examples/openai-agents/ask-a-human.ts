/** A run that needs a human ends its process; another process goes on with it once the human has answered. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { Agent, Runner, RunState, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { HookDispatcher } from 'hookspan'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { observeAgents } from 'hookspan/openai-agents'
import { requireHuman } from 'hookspan/policies'
import { z } from 'zod'

const folder = process.argv[2] ?? mkdtempSync(`${tmpdir()}/hookspan-`)
const approvals = createApprovals({ store: sqliteStore({ path: `${folder}/approvals.db` }), mode: 'park' })
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'delete_*' })] })
const runner = observeAgents(new Runner({ tracingDisabled: true }), { dispatcher })

// The SDK's own scripted model, so that this runs without a key: `model: 'gpt-4o'` asks the real one.
const isFirst = process.argv[2] === undefined
const model = new ScriptedModel([
  isFirst
    ? [functionCall('delete_order', { id: 7 }, { callId: '1' })]
    : [assistantMessage('Done: it is deleted.')],
])
const delete_order = tool({
  name: 'delete_order',
  description: 'Deletes an order.',
  parameters: z.object({ id: z.number() }),
  execute: ({ id }) => {
    console.log(`order ${id} is deleted`)
    return 'deleted'
  },
})
const agent = new Agent({ name: 'support', model, tools: [delete_order] })

if (isFirst) {
  const { state, interruptions } = await runner.run(agent, 'Delete order 7.')
  writeFileSync(`${folder}/state.json`, state.toString())
  console.log('waits:', interruptions.map(({ name }) => name).join())

  // The human, hours later: `hookspan approvals approve`, the HTTP routes, or code.
  const [record] = await approvals.list({ status: 'pending' })
  if (record === undefined) throw new Error('Nothing is asked.')
  const { id, apiName, args, argsDigest } = record.request
  console.log(`${apiName} ${JSON.stringify(args)}?`)
  await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })

  execFileSync(process.execPath, [...process.execArgv, import.meta.filename, folder], { stdio: 'inherit' })
} else {
  // Another process: the tool runs once, and each hook has fired once over both.
  const state = await RunState.fromString(agent, readFileSync(`${folder}/state.json`, 'utf8'))
  const { finalOutput } = await runner.run(agent, state)
  console.log(finalOutput)
}
