/** Many workers of one cluster, each with tracing of its own, which make their runs once all of them are up. */
import cluster from 'node:cluster'
import { openSync, writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { hideWholeSdk } from './small-sdk.ts'
import { witness } from './witness.ts'

export interface ClusterOrder {
  readonly endpoint: string
  /** Of every second worker; the others have none. */
  readonly spoolDir: string
  /** One file for all: short lines are appended whole. */
  readonly truth: string
  readonly workers: number
  readonly runs: number
}

const order = JSON.parse(process.argv[2] ?? '{}') as ClusterOrder

if (cluster.isPrimary) {
  let up = 0
  // One alone, first: what it compiled it keeps for the others, fifty of which would write the same thousand files at once.
  cluster.fork()
  cluster.on('message', () => {
    if (++up === 1) for (let count = 1; count < order.workers; count++) cluster.fork()
    if (up < order.workers) return
    for (const worker of Object.values(cluster.workers ?? {})) worker?.send('go')
  })
  cluster.on('exit', (_worker, code) => {
    // The others would wait for it.
    if (code !== 0) process.exit(1)
  })
} else {
  const truth = openSync(order.truth, 'a')
  const note = (line: string) => void writeSync(truth, line)
  const dispatcher = new HookDispatcher()
  const { endpoint, spoolDir } = order
  const id = cluster.worker?.id ?? 0
  const kept = id % 2 === 0 ? { spoolDir } : {}
  // Of ten workers two are on the whole one, one of them with a disk.
  if (id % 10 > 1) hideWholeSdk()
  dispatcher.use(startTracing({ endpoint, ...kept, spanProcessors: [witness(note)] }))
  flushCompileCache()
  process.on('message', async () => {
    for (let run = 0; run < order.runs; run++) {
      const op = dispatcher.startOperation({ agentName: 'worker' })
      await op.step((step) => step.toolCall({ apiName: 'look', args: {} }, async () => 'seen'))
      await op.complete({ reason: 'done' })
    }
    // Nothing is left to do, and what waits is sent.
    cluster.worker?.disconnect()
  })
  process.send?.('up')
}
