/**
 * A traced agent that runs until it is killed, or has made as many runs as it should. What it started and ended it
 * writes into a file of its own, after hookspan was told: that file is what the collector's count is compared with.
 */
import { once } from 'node:events'
import { openSync, writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { HookDispatcher } from 'hookspan'
import { type StartTracingOptions, startTracing } from 'hookspan/tracing'
import { hideWholeSdk } from './small-sdk.ts'
import { witness } from './witness.ts'

export interface AgentOrder {
  readonly tracing: StartTracingOptions
  /** Where it writes what it started and ended. */
  readonly truth: string
  /** It is not killed before all are made, and may write down many at once. */
  readonly truthIsBuffered?: boolean
  readonly spansPerSecond: number
  /** Spans to make; without it, until it is killed. */
  readonly spans?: number
  /** Tool calls of each run, a span each beside the two of the run and of its step. @default 1 */
  readonly callsPerRun?: number
  /** After that many: go on doing nothing, end by itself, `process.exit()`, an exception, a rejection. */
  readonly then?: 'stay' | 'shutdown' | 'exit' | 'throw' | 'reject' | 'SIGTERM'
  /** Keeps a run open all the time. */
  readonly leaveOpen?: boolean
  /** It makes no spans but those that stay open before it is told `go`: others may still be starting. */
  readonly waits?: boolean
  /** Not on the small SDK. @default false */
  readonly wholeSdk?: boolean
}

const TICK_MS = 10

const order = JSON.parse(process.argv[2] ?? '{}') as AgentOrder
const { callsPerRun = 1 } = order
const truth = openSync(order.truth, 'a')
let unwritten = ''
function note(line: string, isLast = order.truthIsBuffered !== true): void {
  unwritten += line
  if (!isLast && unwritten.length < 1_000_000) return
  writeSync(truth, unwritten)
  unwritten = ''
}

if (!order.wholeSdk) hideWholeSdk()

const onTrouble = (message: string) => console.error(message)
const tracing = startTracing({
  serviceName: 'chaos',
  ...order.tracing,
  // A machine that is busy with something else is no collector that does not answer.
  queue: { onTrouble, requestTimeoutMs: 30_000, ...order.tracing.queue },
  spanProcessors: [witness(note)],
})
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)

async function oneRun(agentName: string): Promise<void> {
  const op = dispatcher.startOperation({ agentName })
  await op.step(async (step) => {
    for (let call = 0; call < callsPerRun; call++)
      await step.toolCall({ apiName: 'look', args: { at: 'it' } }, async () => 'seen')
  })
  await op.complete({ reason: 'done' })
}

if (order.leaveOpen) {
  const op = dispatcher.startOperation({ agentName: 'open' })
  void op.step((step) => step.toolCall({ apiName: 'endless', args: {} }, () => new Promise(() => {})))
}

process.on('message', (message) => {
  if (message !== 'stats') return
  const rssBytes = process.memoryUsage.rss()
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  process.send?.({ ...tracing.stats(), rssBytes, liveBytes: heapUsed + external })
})
process.channel?.unref()

// For the next one: most are killed, which do not come to write it.
flushCompileCache()
process.stdout.write('running\n')
if (order.waits) {
  const go = once(process, 'message')
  process.channel?.ref()
  await go
  process.channel?.unref()
}
const startedAt = performance.now()
let made = 0
while (made < (order.spans ?? Number.POSITIVE_INFINITY)) {
  const due = ((performance.now() - startedAt) / 1_000) * order.spansPerSecond
  while (made < due && made < (order.spans ?? Number.POSITIVE_INFINITY)) {
    await oneRun('worker')
    made += 2 + callsPerRun
  }
  await new Promise((resolve) => setTimeout(resolve, TICK_MS))
}
note('', true)
process.stdout.write('made\n')

if (order.then === 'exit') process.exit(3)
if (order.then === 'throw') throw new Error('nobody catches this')
if (order.then === 'reject') void Promise.reject(new Error('nobody handles this'))
if (order.then === 'shutdown') {
  await tracing.shutdown()
  process.exit(0)
}
if (order.then === 'SIGTERM') process.kill(process.pid, 'SIGTERM')
if (order.then === 'stay' || order.then === 'SIGTERM') setInterval(() => {}, 60_000)
