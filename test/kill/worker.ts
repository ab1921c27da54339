/**
 * One process of a run that needs a human: `ask` begins it, `answer` answers, `finish` resumes it. Nothing in
 * it knows that it may be killed.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import { type Agent, type AgentRun, execAgent, resumeAgent } from 'hookspan/agent'
import { auditLog, createApprovals, sqliteStore } from 'hookspan/approval'
import { traceHooks } from 'hookspan/tracing'
import { statelessModel } from '../support/stateless-model.ts'
import { tracerTelling } from '../support/told-spans.ts'

const [phase = '', folder = ''] = process.argv.slice(2)
const at = (name: string) => `${folder}/${name}`

function append(file: string, text: string): void {
  appendFileSync(at(file), `${text}\n`)
}

const approvals = createApprovals({
  store: sqliteStore({ path: at('approvals.db') }),
  audit: auditLog({ path: at('audit.jsonl') }),
  mode: 'park',
})

const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use(traceHooks({ tracer: tracerTelling((line) => append('spans.jsonl', JSON.stringify(line))) }))
const agent: Agent = {
  name: 'support',
  model: 'stateless',
  tools: [
    {
      name: 'delete_order',
      parameters: { type: 'object', properties: { id: { type: 'number' } } },
      needsApproval: true,
      execute: async (args) => {
        append('ran.log', JSON.stringify(args))
        return 'deleted'
      },
    },
  ],
}
const client = statelessModel((messages) => {
  const result = messages.find((message) => message.role === 'tool')
  return result
    ? { content: String(result.content) }
    : { calls: [{ id: 'c1', name: 'delete_order', args: { id: 7 } }] }
})

function save(file: string, run: AgentRun): void {
  writeFileSync(at(`${file}.new`), JSON.stringify(run))
  renameSync(at(`${file}.new`), at(file))
}

const price = () => 0
if (phase === 'ask' && !existsSync(at('waiting.json'))) {
  save(
    'waiting.json',
    await execAgent({ agent, prompt: 'delete 7', client, dispatcher, operationId: 'run-1', priceOf: price }),
  )
} else if (phase === 'answer') {
  for (const { request } of await approvals.list({ status: 'pending' })) {
    await approvals.respond(request.id, {
      decision: 'approve',
      approver: 'ann',
      argsDigest: request.argsDigest,
    })
  }
} else if (phase === 'finish' && !existsSync(at('done.json'))) {
  const { state } = JSON.parse(readFileSync(at('waiting.json'), 'utf8')) as { state: string }
  save('done.json', await resumeAgent({ agent, state, client, dispatcher, priceOf: price }))
}
await dispatcher.shutdown()
await approvals.close()
