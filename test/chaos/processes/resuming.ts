/**
 * `park`: begins a run that waits for a human, and says its state. `resume`: goes on from it once it is told to, and says
 * what came of it. The tool that needs nobody's approval writes a line each time it runs.
 */

import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import { type Agent, type AgentRun, execAgent, resumeAgent } from 'hookspan/agent'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { statelessModel } from '../../support/stateless-model.ts'

const [phase = '', folder = '', state = '', sendMs = '0'] = process.argv.slice(2)
const approvals = createApprovals({ store: sqliteStore({ path: `${folder}/approvals.db` }), mode: 'park' })
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)

const log = (name: string) => appendFileSync(`${folder}/ran.log`, `${name}\n`)
const agent: Agent = {
  name: 'support',
  model: 'stateless',
  tools: [
    { name: 'refund', needsApproval: true, execute: () => log('refund') },
    {
      name: 'send_mail',
      execute: async () => {
        log('send_mail')
        process.send?.('sent')
        await new Promise((resolve) => setTimeout(resolve, Number(sendMs)))
      },
    },
  ],
}
const client = statelessModel((messages) => {
  const told = messages.filter((message) => message.role === 'tool').length
  const name = ['refund', 'send_mail'][told]
  return name === undefined ? { content: 'done' } : { calls: [{ id: name, name, args: {} }] }
})
const common = { agent, client, dispatcher, priceOf: () => 0 }

let run: AgentRun | { code: unknown }
if (phase === 'park') {
  run = await execAgent({ ...common, prompt: 'refund it' })
} else {
  process.send?.('ready')
  await once(process, 'message')
  run = await resumeAgent({ ...common, state }).catch(({ code }) => ({ code }))
}
await approvals.close()
process.send?.({ run })
process.disconnect()
