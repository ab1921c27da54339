import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What Jaeger's query API says of its services and of traces, on a free loopback port. */
export async function startJaegerStub(has: (traceId: string) => boolean = () => true) {
  const server = createServer((request, response) => {
    const traceId = /^\/api\/traces\/(\w+)$/.exec(request.url ?? '')?.[1]
    const known = request.url === '/api/services' || (traceId !== undefined && has(traceId))
    response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ data: known ? [] : null, errors: known ? null : [{ code: 404 }] }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
