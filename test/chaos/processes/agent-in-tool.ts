/**
 * A run with checkpoints, one of whose tools runs an agent by itself: begins it, or goes on with it. Args: OTLP endpoint, folder, how
 * the inner agent is run (`below` the run, or `alone`), spool folder. Its inner tool never ends in a process that began the run, which
 * says so when all that has ended is exported.
 */

import { HookDispatcher } from 'hookspan'
import { currentCalls } from 'hookspan/adapter'
import { type Agent, execAgent, resumeAgent, sqliteCheckpoints, unfinishedRuns } from 'hookspan/agent'
import { startTracing } from 'hookspan/tracing'
import { statelessModel } from '../../support/stateless-model.ts'

const [endpoint = '', folder = '', how = 'below', spoolDir] = process.argv.slice(2)
const tracing = startTracing({ endpoint, serviceName: 'shop', ...(spoolDir && { spoolDir }) })
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)

const client = statelessModel((messages) => {
  const [asked] = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  if (messages.some(({ role }) => role === 'tool')) return { content: 'done' }
  return { calls: [{ id: 'c', name: asked === 'go' ? 'research' : 'note', args: {} }] }
})
const researcher: Agent = {
  name: 'researcher',
  model: 'stateless',
  tools: [
    {
      name: 'note',
      execute: async () => {
        await tracing.forceFlush()
        process.stdout.write('at work\n')
        await new Promise(() => setInterval(() => {}, 60_000))
      },
    },
  ],
}
const inner = { agent: researcher, prompt: 'look', client, dispatcher, priceOf: () => 0 }
const shop: Agent = {
  name: 'shop',
  model: 'stateless',
  tools: [
    {
      name: 'research',
      execute: async () => {
        if (how === 'alone') return (await execAgent(inner)).content
        const run = await currentCalls()?.callAgent(
          { agentName: 'researcher', instruction: 'look' },
          (parent) => execAgent({ ...inner, parent }),
        )
        return run?.content
      },
    },
  ],
}
const checkpoint = sqliteCheckpoints({ path: `${folder}/checkpoints.db` })
const operationId = 'run-1'
const shared = { agent: shop, client, dispatcher, checkpoint, operationId, priceOf: () => 0 }
const [kept] = await unfinishedRuns(checkpoint)
const run = kept === undefined ? await execAgent({ ...shared, prompt: 'go' }) : await resumeAgent(shared)
process.stdout.write(`${run.reason}\n`)
await tracing.shutdown()
