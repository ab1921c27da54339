/**
 * How many decisions an HTTP gate gives a second, and how long the slowest take: 1 000 tool calls at once against a
 * server on this machine, over connections that are kept.
 *
 *   npm run build && node bench/http-gate.ts [--calls 20000] [--concurrency 1000]
 */
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { HookDispatcher } from 'hookspan'
import { httpGate } from 'hookspan/policies'

const { values } = parseArgs({
  options: { calls: { type: 'string', default: '20000' }, concurrency: { type: 'string', default: '1000' } },
})
const calls = Number(values.calls)
const concurrency = Number(values.concurrency)

/** The server has a thread of its own, so that it is not measured with the gate. */
const server = new Worker(
  `const { createServer } = require('node:http')
   const { parentPort } = require('node:worker_threads')
   let connections = 0
   const server = createServer((request, response) => {
     request.resume()
     request.on('end', () => response.setHeader('content-type', 'application/json').end('{"decision":"proceed"}'))
   })
   server.keepAliveTimeout = 60000
   server.on('connection', () => connections++)
   server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
   parentPort.on('message', () => parentPort.postMessage(connections))`,
  { eval: true },
)
const port = await new Promise<number>((resolve) => server.once('message', resolve))

async function measure(secret: string | undefined): Promise<void> {
  const dispatcher = new HookDispatcher()
  const url = `http://127.0.0.1:${port}/`
  const gate = httpGate({
    id: 'guard',
    point: 'beforeToolCall',
    url,
    allowPrivateAddresses: true,
    timeoutMs: 60_000,
    ...(secret !== undefined && { secret }),
  })
  dispatcher.use({ name: 'guard', gates: [gate] })
  const op = dispatcher.startOperation()
  const times: number[] = []
  let left = calls
  const startedAt = performance.now()
  const client = async () => {
    while (left-- > 0) {
      const from = performance.now()
      const { state } = await op.toolCall({ apiName: 'search', args: { query: 'orders' } }, () => 1)
      if (state !== 'completed') throw new Error(`A call ended as ${state}.`)
      times.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, client))
  const seconds = (performance.now() - startedAt) / 1_000
  times.sort((a, b) => a - b)
  const at = (part: number) => (times[Math.floor(times.length * part)] ?? 0).toFixed(1)
  console.log(
    `${secret ? 'signed  ' : 'unsigned'}  ${Math.round(calls / seconds)} decisions/s  p50 ${at(0.5)} ms  p99 ${at(0.99)} ms  (${calls} calls, ${concurrency} at once)`,
  )
}

await measure(undefined)
await measure('a secret of some length')
const connections = await new Promise<number>((resolve) => {
  server.once('message', resolve)
  server.postMessage('connections')
})
console.log(`${connections} connections for ${2 * calls} calls`)
await server.terminate()
