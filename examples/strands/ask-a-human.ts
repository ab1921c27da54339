/** A run that needs a human ends its process; another process goes on with it once the human has answered. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { Agent, tool } from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { HookDispatcher } from 'hookspan'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { scriptedFetch } from 'hookspan/mock'
import { requireHuman } from 'hookspan/policies'
import { observeStrands } from 'hookspan/strands'
import { z } from 'zod'

const isFirst = process.argv[2] === undefined
const folder = process.argv[2] ?? mkdtempSync(`${tmpdir()}/hookspan-`)
const approvals = createApprovals({ store: sqliteStore({ path: `${folder}/approvals.db` }), mode: 'park' })
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'refund' })] })

const refund = tool({
  name: 'refund',
  description: 'Pays it back.',
  inputSchema: z.object({ id: z.number() }),
  callback: ({ id }) => {
    console.log(`order ${id} is paid back`)
    return 'paid back'
  },
})
// A scripted model, so that this runs without a key: leave `clientConfig` out, and it asks the real one.
const fetch = scriptedFetch({
  steps: isFirst
    ? [{ toolCalls: [{ name: 'refund', arguments: { id: 7 } }] }]
    : [{ content: 'Done: it is paid back.' }],
})
const clientConfig = { fetch }
const model = new OpenAIModel({ api: 'responses', modelId: 'gpt-4o', apiKey: 'none', clientConfig })
const agent = new Agent({ name: 'support', model, tools: [refund], printer: false })
observeStrands(agent, { dispatcher })

if (isFirst) {
  const { stopReason, interrupts = [] } = await agent.invoke('Pay order 7 back.')
  const snapshot = agent.takeSnapshot({ preset: 'session' })
  writeFileSync(`${folder}/state.json`, JSON.stringify({ snapshot, interruptId: interrupts[0]?.id }))
  console.log(stopReason)

  // The human, hours later: `hookspan approvals approve`, the HTTP routes, or code.
  const [record] = await approvals.list({ status: 'pending' })
  if (record === undefined) throw new Error('Nothing is asked.')
  const { id, apiName, args, argsDigest } = record.request
  console.log(`${apiName} ${JSON.stringify(args)}?`)
  await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })

  execFileSync(process.execPath, [...process.execArgv, import.meta.filename, folder], { stdio: 'inherit' })
} else {
  // Another process: the run is in the snapshot, and what is said here counts for nothing; the approval does.
  const { snapshot, interruptId } = JSON.parse(readFileSync(`${folder}/state.json`, 'utf8'))
  agent.loadSnapshot(snapshot)
  const result = await agent.invoke([{ interruptResponse: { interruptId, response: 'answered' } }])
  console.log(result.toString())
}
