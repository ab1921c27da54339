/** A worker thread with a run that is in the middle of a tool call. Its data: endpoint and spool folder. */
import { parentPort, workerData } from 'node:worker_threads'
import { HookDispatcher } from '../../../src/index.ts'
import { startTracing } from '../../../src/tracing/index.ts'

const { endpoint, spoolDir } = workerData as { endpoint: string; spoolDir: string }
const dispatcher = new HookDispatcher()
dispatcher.use(startTracing({ endpoint, spoolDir, queue: { delayMs: 60_000 } }))
const op = dispatcher.startOperation({ agentName: 'in a worker' })
await op.step((step) => step.toolCall({ apiName: 'first', args: {} }, () => 'ok'))
void op.step((step) =>
  step.toolCall({ apiName: 'endless', args: {} }, () => {
    parentPort?.postMessage('running')
    return new Promise(() => {})
  }),
)
