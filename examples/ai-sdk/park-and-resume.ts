/** A run that needs a human ends its process; another process goes on with it once the human has answered. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as ai from 'ai'
import { HookDispatcher } from 'hookspan'
import { observeAISDK, parkedRun, runWith } from 'hookspan/ai-sdk'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { requireHuman } from 'hookspan/policies'
import { z } from 'zod'
import { scripted } from './scripted.ts'

const folder = process.argv[2] ?? mkdtempSync(`${tmpdir()}/hookspan-`)
const approvals = createApprovals({ store: sqliteStore({ path: `${folder}/approvals.db` }), mode: 'park' })
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'delete_*' })] })
const { generateText, isStepCount, tool } = observeAISDK(ai, { dispatcher })

const inputSchema = z.object({ id: z.number() })
const tools = { delete_order: tool({ inputSchema, execute: ({ id }) => `order ${id} is deleted` }) }
const stopWhen = isStepCount(5)

if (process.argv[2] === undefined) {
  // The first process: what is left of the run is plain JSON.
  const messages: ai.ModelMessage[] = [{ role: 'user', content: 'Delete order 7' }]
  const model = scripted([{ tool: 'delete_order', input: { id: 7 } }])
  const result = await generateText({ model, tools, messages, stopWhen })
  const state = { parked: await parkedRun(result), messages: [...messages, ...result.response.messages] }
  writeFileSync(`${folder}/state.json`, JSON.stringify(state))
  console.log('waiting for', state.parked?.waitingFor)

  // The human, hours later: `hookspan approvals approve`, the HTTP routes, or code.
  const [record] = await approvals.list({ status: 'pending' })
  if (record === undefined) throw new Error('Nothing is asked.')
  const { id, apiName, args, argsDigest } = record.request
  console.log(`${apiName} ${JSON.stringify(args)}?`)
  await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })

  execFileSync(process.execPath, [import.meta.filename, folder], { stdio: 'inherit' })
} else {
  // Another process: the tool runs once, and each hook has fired once over both.
  const { parked, messages } = JSON.parse(readFileSync(`${folder}/state.json`, 'utf8'))
  const model = scripted(['Done: it is deleted.'])
  const result = await runWith({ resume: parked }, () => generateText({ model, tools, messages, stopWhen }))
  console.log(JSON.stringify(result.responseMessages[0]?.content))
  console.log(result.text)
}
