/** A run that needs a human ends its process; the answer comes by another one; a third one goes on. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { HookDispatcher } from 'hookspan'
import { type Agent, execAgent, resumeAgent } from 'hookspan/agent'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { callTools, scriptedModel } from 'hookspan/mock'

const path = `${mkdtempSync(`${tmpdir()}/hookspan-`)}/approvals.db`
const agent: Agent = {
  name: 'support',
  model: 'scripted',
  tools: [{ name: 'delete_order', needsApproval: true, execute: ({ id }) => `order ${id} is deleted` }],
}

function process() {
  const approvals = createApprovals({ store: sqliteStore({ path }), mode: 'park' })
  const dispatcher = new HookDispatcher()
  dispatcher.use(approvals)
  return { approvals, dispatcher }
}

// The first process: the run waits, and its state is plain JSON.
const client = scriptedModel([callTools(['delete_order', { id: 7 }])])
const run = await execAgent({ agent, prompt: 'Delete order 7', client, dispatcher: process().dispatcher })
const state = JSON.stringify(run.state)
console.log(run.status)

// Another one, hours later: `hookspan approvals approve`, the HTTP routes, or code.
const { approvals } = process()
const [record] = await approvals.list({ status: 'pending' })
if (record === undefined) throw new Error('Nothing is asked.')
const { id, apiName, args, argsDigest } = record.request
console.log(`${apiName} ${JSON.stringify(args)}?`)
await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })

// A third one: the tool runs once, and each hook has fired once over both.
const rest = await resumeAgent({
  agent,
  state,
  client: scriptedModel(['Done: it is deleted.']),
  dispatcher: process().dispatcher,
})
console.log(rest.status, '-', rest.messages.at(-2)?.content, '-', rest.content)
