/** A run that needs a human ends its process; another process goes on with it once the human has answered. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { deserialize, serialize } from 'node:v8'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Command, MemorySaver } from '@langchain/langgraph'
import { HookDispatcher } from 'hookspan'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { hookspanMiddleware } from 'hookspan/langchain'
import { requireHuman } from 'hookspan/policies'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

const isFirst = process.argv[2] === undefined
const folder = process.argv[2] ?? mkdtempSync(`${tmpdir()}/hookspan-`)
const approvals = createApprovals({ store: sqliteStore({ path: `${folder}/approvals.db` }), mode: 'park' })
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'refund' })] })

const pay = ({ id }: { id: number }) => {
  console.log(`order ${id} is paid back`)
  return 'paid back'
}
const schema = z.object({ id: z.number() })
const refund = tool(pay, { name: 'refund', description: 'Pays it back.', schema })

const model = isFirst
  ? fakeModel().respondWithTools([{ name: 'refund', args: { id: 7 }, id: '1' }])
  : fakeModel().respond(new AIMessage('Done: it is paid back.'))
// A checkpointer on disk or in a database needs none of the lines about checkpoints.
const checkpointer = new MemorySaver()
const middleware = [hookspanMiddleware({ dispatcher, agentName: 'support' })]
const agent = createAgent({ model, tools: [refund], middleware, checkpointer })
const config = { configurable: { thread_id: 'order-7' } }

if (isFirst) {
  const result = await agent.invoke({ messages: [new HumanMessage('Pay order 7 back.')] }, config)
  const [asked] = (result as { __interrupt__?: { value: object }[] }).__interrupt__ ?? []
  const { storage, writes } = checkpointer
  writeFileSync(`${folder}/state`, serialize({ checkpoints: { storage, writes }, asked: asked?.value }))

  // The human, hours later: `hookspan approvals approve`, the HTTP routes, or code.
  const [record] = await approvals.list({ status: 'pending' })
  if (record === undefined) throw new Error('Nothing is asked.')
  const { id, apiName, args, argsDigest } = record.request
  console.log(`${apiName} ${JSON.stringify(args)}?`)
  await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })

  execFileSync(process.execPath, [...process.execArgv, import.meta.filename, folder], { stdio: 'inherit' })
} else {
  // Another process: resumed with what was asked, as it is. The tool runs once, each hook has fired once over both.
  const { checkpoints, asked } = deserialize(readFileSync(`${folder}/state`))
  Object.assign(checkpointer, checkpoints)
  const { messages } = await agent.invoke(new Command({ resume: asked }), config)
  console.log(messages.at(-1)?.text)
}
