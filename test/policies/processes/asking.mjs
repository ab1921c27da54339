/** A run that waits for a command gate, whose program writes its pid into a file. It may listen to signals, or trace. */
import { HookDispatcher } from 'hookspan'
import { commandGate } from 'hookspan/policies'

const [pidFile, ...ways] = process.argv.slice(2)
const dispatcher = new HookDispatcher()
if (ways.includes('traces')) {
  const { startTracing } = await import('hookspan/tracing')
  dispatcher.use(startTracing({ endpoint: 'http://127.0.0.1:9' }))
}
const gate = commandGate({
  id: 'slow',
  point: 'beforeToolCall',
  command: ways.includes('missing') ? '/nonexistent/program' : process.execPath,
  args: [
    '-e',
    'require("fs").writeFileSync(process.argv[1], String(process.pid)); setTimeout(() => {}, 60_000)',
    pidFile,
  ],
  timeoutMs: ways.includes('late') ? 1_000 : 60_000,
})
dispatcher.use({ name: 'slow', gates: [gate] })
if (ways.includes('listens')) {
  process.once('SIGTERM', () => {
    process.stdout.write('heard\n')
    setTimeout(() => process.exit(7), 300)
  })
}
const op = dispatcher.startOperation({ agentName: 'a' })
const { state } = await op.toolCall({ apiName: 't', args: {} }, () => 1)
await op.complete()
process.on('exit', () => {
  const listeners = ['SIGTERM', 'SIGINT', 'SIGHUP'].map((name) => process.listenerCount(name))
  process.stdout.write(`${state} ${listeners.join(' ')}\n`)
})
