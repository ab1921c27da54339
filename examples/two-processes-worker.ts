/** The other process of two-processes.ts. */
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'

const tracing = startTracing({ serviceName: 'worker' })
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)

const op = dispatcher.startOperation({ agentName: 'worker', parent: JSON.parse(process.argv[2] ?? '{}') })
await op.step((step) => step.toolCall({ apiName: 'count_words', args: { text: 'to be or not' } }, () => 4))
await op.complete()
await tracing.shutdown()
