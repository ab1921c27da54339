/**
 * A traced agent that runs until it is killed, or has made as many runs as it should. What it started and ended it
 * writes into a file of its own, after hookspan was told: that file is what the collector's count is compared with.
 */
import { openSync, writeSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import { type SpanProcessor, type StartTracingOptions, startTracing } from 'hookspan/tracing'

export interface AgentOrder {
  readonly tracing: StartTracingOptions
  /** Where it writes what it started and ended. */
  readonly truth: string
  readonly spansPerSecond: number
  /** Spans to make; without it, until it is killed. */
  readonly spans?: number
  /** After that many: go on doing nothing, end by itself, `process.exit()`, an exception, a rejection. */
  readonly then?: 'stay' | 'shutdown' | 'exit' | 'throw' | 'reject'
  /** Keeps a run open all the time. */
  readonly leaveOpen?: boolean
}

const SPANS_PER_RUN = 3
const TICK_MS = 10

const order = JSON.parse(process.argv[2] ?? '{}') as AgentOrder
const truth = openSync(order.truth, 'a')
const witness: SpanProcessor = {
  onStart: (span) => void writeSync(truth, `s ${span.spanContext().spanId}\n`),
  onEnd: (span) => void writeSync(truth, `e ${span.spanContext().spanId}\n`),
  forceFlush: async () => {},
  shutdown: async () => {},
}

const onTrouble = (message: string) => console.error(message)
const tracing = startTracing({
  serviceName: 'chaos',
  ...order.tracing,
  queue: { onTrouble, ...order.tracing.queue },
  spanProcessors: [witness],
})
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)

async function oneRun(agentName: string): Promise<void> {
  const op = dispatcher.startOperation({ agentName })
  await op.step((step) => step.toolCall({ apiName: 'look', args: { at: 'it' } }, async () => 'seen'))
  await op.complete({ reason: 'done' })
}

if (order.leaveOpen) {
  const op = dispatcher.startOperation({ agentName: 'open' })
  void op.step((step) => step.toolCall({ apiName: 'endless', args: {} }, () => new Promise(() => {})))
}

process.stdout.write('running\n')
const startedAt = performance.now()
let made = 0
while (made < (order.spans ?? Number.POSITIVE_INFINITY)) {
  const due = ((performance.now() - startedAt) / 1_000) * order.spansPerSecond
  while (made < due && made < (order.spans ?? Number.POSITIVE_INFINITY)) {
    await oneRun('worker')
    made += SPANS_PER_RUN
  }
  await new Promise((resolve) => setTimeout(resolve, TICK_MS))
}
process.stdout.write('made\n')
process.on('message', (message) => {
  if (message === 'stats') process.send?.({ stats: tracing.stats(), rssBytes: process.memoryUsage.rss() })
})

if (order.then === 'exit') process.exit(3)
if (order.then === 'throw') throw new Error('nobody catches this')
if (order.then === 'reject') void Promise.reject(new Error('nobody handles this'))
if (order.then === 'shutdown') {
  await tracing.shutdown()
  process.exit(0)
}
if (order.then === 'stay') setInterval(() => {}, 60_000)
