/** A viewer in a process of its own that tells how long its loop was held. Args: its options as JSON. */
import { flushCompileCache } from 'node:module'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { startViewer } from '../../../src/viewer/index.ts'

const viewer = await startViewer({
  port: 0,
  ...JSON.parse(process.argv[2] ?? '{}'),
  onNotice: (message) => console.error(message),
})
flushCompileCache()
const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()

// On a busy machine a loop is late that nobody held. What it was held for is what it worked between two ticks.
let workedMs = 0
let last = process.threadCpuUsage()
setInterval(() => {
  const now = process.threadCpuUsage()
  workedMs = Math.max(workedMs, (now.user + now.system - last.user - last.system) / 1000)
  last = now
}, 5)

process.on('message', () => {
  process.send?.({
    delayMs: Math.round(delay.max / 1e6),
    workedMs: Math.round(workedMs),
    rssMib: Math.round(process.memoryUsage.rss() / 1024 ** 2),
  })
  delay.reset()
  workedMs = 0
  last = process.threadCpuUsage()
})
process.on('SIGTERM', () => void viewer.close().then(() => process.exit(0)))
process.send?.({ url: viewer.url, token: viewer.token })
