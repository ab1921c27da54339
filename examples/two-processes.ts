/** One trace over two processes: the caller hands its `parent` over, as JSON. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'

const worker = fileURLToPath(new URL('two-processes-worker.ts', import.meta.url))
const tracing = startTracing({ serviceName: 'front' })
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)

const op = dispatcher.startOperation({ agentName: 'front' })
await op.callAgent({ agentName: 'worker', instruction: 'Count the words.', remote: true }, (parent) => {
  execFileSync(process.execPath, [worker, JSON.stringify(parent)])
})
await op.complete()

await tracing.shutdown()
console.log(op.traceparent?.split('-')[1])
