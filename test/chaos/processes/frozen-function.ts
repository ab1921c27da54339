/**
 * A cloud function: its handler is called by messages, and whoever calls it stops the process (SIGSTOP) as soon as it has
 * answered. What it started and ended it writes into a file of its own, as traced-agent.ts does.
 */
import { openSync, writeSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import { type StartTracingOptions, startTracing, withFlush } from 'hookspan/tracing'
import { witness } from './witness.ts'

export interface FunctionOrder {
  readonly tracing: StartTracingOptions
  readonly truth: string
  /** Of `withFlush`. */
  readonly timeoutMs: number
}

const order = JSON.parse(process.argv[2] ?? '{}') as FunctionOrder
const truth = openSync(order.truth, 'a')
const note = (line: string) => void writeSync(truth, line)

const tracing = startTracing({ serviceName: 'function', ...order.tracing, spanProcessors: [witness(note)] })
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)

const handler = withFlush(
  async (agentName: string) => {
    const op = dispatcher.startOperation({ agentName })
    await op.step((step) => step.toolCall({ apiName: 'look', args: {} }, async () => 'seen'))
    await op.complete({ reason: 'done' })
    return 'answer'
  },
  { tracing, timeoutMs: order.timeoutMs },
)

process.on('message', async (name: string) => {
  const answer = await handler(name)
  process.send?.({ answer, stats: tracing.stats() })
})
process.send?.('ready')
