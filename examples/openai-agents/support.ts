/** Seen in the viewer, a dangerous call denied, a human asked; another process goes on once the human has answered. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { Agent, Runner, RunState, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { HookDispatcher } from 'hookspan'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { observeAgents } from 'hookspan/openai-agents'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { z } from 'zod'

const folder = process.argv[2] ?? mkdtempSync(`${tmpdir()}/hookspan-`)
const approvals = createApprovals({ store: sqliteStore({ path: `${folder}/approvals.db` }), mode: 'park' })
const dispatcher = new HookDispatcher()
const tracing = startTracing({ serviceName: 'support-bot' })
dispatcher.use(tracing)
dispatcher.use(approvals)
const gates = [toolPolicy({ deny: ['drop_*'] }), requireHuman({ match: 'delete_*' })]
dispatcher.use({ name: 'careful', gates })
const runner = observeAgents(new Runner({ tracingDisabled: true }), { dispatcher })

// The SDK's own scripted model, so that this runs without a key: `model: 'gpt-4o'` asks the real one.
const first = [
  functionCall('drop_table', { id: 7 }, { callId: 'call_1' }),
  functionCall('delete_order', { id: 7 }, { callId: 'call_2' }),
]
const resumed = process.argv[2] !== undefined
const model = new ScriptedModel([
  resumed ? [assistantMessage('The order is gone, the table is not.')] : first,
])
const parameters = z.object({ id: z.number() })
const tools = ['drop_table', 'delete_order'].map((name) =>
  tool({ name, description: '', parameters, execute: ({ id }) => `${name} ${id}: done` }),
)
const agent = new Agent({ name: 'support', model, tools })

if (!resumed) {
  const { state, interruptions } = await runner.run(agent, 'Delete order 7, and its table.')
  writeFileSync(`${folder}/state.json`, state.toString())
  console.log('waits:', interruptions.map(({ name }) => name).join())

  // The human, hours later: `hookspan approvals approve`, the HTTP routes, or code.
  const [record] = await approvals.list({ status: 'pending' })
  if (record === undefined) throw new Error('Nothing is asked.')
  const { id, argsDigest } = record.request
  await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })

  await tracing.shutdown()
  execFileSync(process.execPath, [import.meta.filename, folder], { stdio: 'inherit' })
} else {
  const state = await RunState.fromString(agent, readFileSync(`${folder}/state.json`, 'utf8'))
  const { finalOutput, output } = await runner.run(agent, state)
  for (const item of output)
    if (item.type === 'function_call_result') console.log(JSON.stringify(item.output))
  console.log(finalOutput)
  await tracing.shutdown()
}
