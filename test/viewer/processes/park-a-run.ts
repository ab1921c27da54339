/** Begins a run and parks it (`park`), or goes on with one and ends it (`resume`, the saved state on standard input). Args: which, endpoint, spool folder. */
import { text } from 'node:stream/consumers'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'

const [mode, endpoint = '', spoolDir] = process.argv.slice(2)
const tracing = startTracing({ endpoint, serviceName: 'parking', ...(spoolDir && { spoolDir }) })
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)
if (mode === 'park') {
  const op = dispatcher.startOperation({ operationId: 'parked-1', agentName: 'a' })
  await op.step(() => {})
  process.stdout.write(`${JSON.stringify(op.park({ waitingFor: 'human' }))}\n`)
  await tracing.forceFlush()
  // Ends when it is told to.
  await text(process.stdin)
} else {
  const op = dispatcher.startOperation({ resume: JSON.parse(await text(process.stdin)) })
  await op.step(() => {})
  await op.complete()
}
await tracing.shutdown()
