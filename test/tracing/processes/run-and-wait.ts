/** A process with a run that is in the middle of a tool call. Args: endpoint, spool folder or `-`, how it ends. */
import { onExit } from 'signal-exit'
import { HookDispatcher } from '../../../src/index.ts'

const [endpoint = '', spool = '-', how = 'wait'] = process.argv.slice(2)
// Ctrl-Break as Windows tells it; no other system has the signal.
if (how === 'break') Object.defineProperty(process, 'platform', { value: 'win32' })
const { startTracing } = await import('../../../src/tracing/index.ts')
if (how === 'tidy') onExit(() => void process.stdout.write('tidied up\n'))
if (how === 'graceful-before') process.once('SIGTERM', shutDown)
const tracing = startTracing({
  serviceName: 'child',
  endpoint,
  ...(spool !== '-' && { spoolDir: spool }),
  queue: { delayMs: 60_000, onTrouble: (message) => console.error(message) },
})
if (how === 'graceful-after') process.once('SIGTERM', shutDown)
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)
const op = dispatcher.startOperation({ operationId: 'killed-run', agentName: 'victim' })
await op.step((step) => step.toolCall({ apiName: 'first', args: {} }, () => 'ok'))
const open = op.step((step) =>
  step.toolCall({ apiName: 'endless', args: {} }, async () => {
    process.stdout.write('running\n')
    if (how === 'end') return
    if (how === 'exit') process.exit(3)
    if (how === 'break') setTimeout(() => process.emit('SIGBREAK', 'SIGBREAK'))
    if (how === 'crash') {
      setTimeout(() => {
        throw new Error('nobody catches this')
      })
    }
    if (how === 'first' && process.pid === 1) process.kill(1, 'SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, how === 'first' ? 500 : 60_000))
  }),
)
if (how === 'first') {
  await open
  await op.step((step) => step.toolCall({ apiName: 'after', args: {} }, () => 'ok'))
  await op.complete()
}
if (how === 'end') {
  await open
  await op.complete()
  // Neither shutdown() nor forceFlush(): the process just has nothing left to do.
}

async function shutDown() {
  await new Promise((resolve) => setTimeout(resolve, 300))
  await dispatcher.startOperation({ agentName: 'good bye' }).complete()
  process.stdout.write('shut down\n')
  process.exit(0)
}
