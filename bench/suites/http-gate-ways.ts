import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { HookDispatcher } from 'hookspan'
import { httpGate } from 'hookspan/policies'
import type { Measurement } from '../harness/types.ts'
import { HTTP_AT_ONCE, HTTP_CALLS } from './amounts.ts'

const ARGS = { query: 'orders' }

/** What the server tells when it is asked: how many requests it answered, over how many connections. */
interface Served {
  readonly requests: number
  readonly connections: number
}

if (process.argv[2] === 'serve') serve()

function serve(): void {
  let connections = 0
  let requests = 0
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    requests++
    request.resume()
    request.on('end', () =>
      response.setHeader('content-type', 'application/json').end('{"decision":"proceed"}'),
    )
  })
  server.on('connection', () => connections++)
  server.listen({ port: 0, host: '127.0.0.1', backlog: HTTP_AT_ONCE }, () => {
    process.send?.((server.address() as AddressInfo).port)
  })
  process.on('message', () => process.send?.({ requests, connections } satisfies Served))
  process.on('disconnect', () => process.exit(0))
}

type Call = () => Promise<unknown>

/** Times of single calls, in milliseconds, with so many under way at any moment. */
async function callAll(call: Call, count: number): Promise<number[]> {
  const times: number[] = []
  let left = count
  const client = async () => {
    while (left-- > 0) {
      const from = performance.now()
      await call()
      times.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: HTTP_AT_ONCE }, client))
  return times.sort((a, b) => a - b)
}

function measured(connect: (url: string) => Call): Measurement {
  return async () => {
    const server = fork(fileURLToPath(import.meta.url), ['serve'])
    const [port] = (await once(server, 'message')) as [number]
    const call = connect(`http://127.0.0.1:${port}/`)
    const warmUp = HTTP_CALLS / 4
    await callAll(call, warmUp)
    const cpu = process.cpuUsage()
    const startedAt = performance.now()
    const times = await callAll(call, HTTP_CALLS)
    const seconds = (performance.now() - startedAt) / 1_000
    const { user, system } = process.cpuUsage(cpu)
    server.send('served')
    const [{ requests, connections }] = (await once(server, 'message')) as [Served]
    server.disconnect()
    if (requests !== warmUp + HTTP_CALLS)
      throw new Error(`${requests} of ${warmUp + HTTP_CALLS} requests arrived.`)
    const at = (part: number) => times[Math.ceil(HTTP_CALLS * part) - 1] as number
    return {
      values: {
        perSecond: HTTP_CALLS / seconds,
        p50Ms: at(0.5),
        p99Ms: at(0.99),
        cpuUsPerCall: (user + system) / HTTP_CALLS,
        connections,
      },
      proof: { requests },
    }
  }
}

/** Through a whole tool call, as users have it. */
function gated(secret: string | undefined): Measurement {
  return measured((url) => {
    const dispatcher = new HookDispatcher()
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
    return async () => {
      const { state } = await op.toolCall({ apiName: 'search', args: ARGS }, () => 1)
      if (state !== 'completed') throw new Error(`A call ended as ${state}.`)
    }
  })
}

export const unsigned = gated(undefined)
export const signed = gated('a secret of some length')

/** About what the gate sends. */
const bodyOf = () =>
  JSON.stringify({ point: 'beforeToolCall', operationId: 'op', apiName: 'search', payload: ARGS })

function assertProceed(answer: unknown): void {
  if ((answer as { decision?: string }).decision !== 'proceed') throw new Error('The answer is another.')
}

export const request = measured((url) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 256, scheduling: 'lifo' })
  return async () => {
    const body = bodyOf()
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const sent = httpRequest(url, { method: 'POST', agent, headers })
    sent.end(body)
    const [response] = await once(sent, 'response')
    assertProceed(await json(response))
  }
})

export const fetchAlone = measured((url) => async () => {
  const headers = { 'content-type': 'application/json' }
  assertProceed(await (await fetch(url, { method: 'POST', headers, body: bodyOf() })).json())
})
