/** One of many that pm2 starts: makes its runs, and then waits as a server does, until it is told to end. */
import { openSync, writeSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { witness } from './witness.ts'

const truth = openSync(process.env.TRUTH, 'a')
const { ENDPOINT: endpoint, SPOOL: spoolDir, RUNS, NODE_APP_INSTANCE } = process.env
const kept = Number(NODE_APP_INSTANCE) % 2 === 0 ? { spoolDir } : {}
const spanProcessors = [witness((line) => void writeSync(truth, line))]
const dispatcher = new HookDispatcher()
dispatcher.use(startTracing({ endpoint, ...kept, spanProcessors }))
for (let run = 0; run < Number(RUNS); run++) {
  const op = dispatcher.startOperation({ agentName: 'worker' })
  await op.step((step) => step.toolCall({ apiName: 'look', args: {} }, async () => 'seen'))
  await op.complete({ reason: 'done' })
}
setInterval(() => {}, 60_000)
