import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface QueryStub {
  url: string
  /** Path and query of each request, in order. */
  asked: string[]
  /** From now on it answers so. */
  answer: (request: IncomingMessage, response: ServerResponse) => void
}

/** Stands where Jaeger's query service would be, until the test's end. What it answers, the real one or what is before it did. */
export async function startQueryStub(answer: QueryStub['answer']): Promise<QueryStub> {
  const stub: QueryStub = { url: '', asked: [], answer }
  const server = createServer((request, response) => {
    stub.asked.push(request.url ?? '')
    stub.answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  stub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return stub
}

/** What Jaeger answers: services, every trace to a search, and one by its id. */
export function asJaeger(service: string, traces: Record<string, object>): QueryStub['answer'] {
  return ({ url = '' }, response) => {
    const path = url.split('?')[0]!.replace(/^.*\/api\/v3/, '')
    if (path === '/services') return send(response, 200, { services: [service] })
    const all = Object.values(traces) as { resourceSpans: object[] }[]
    const wanted =
      path === '/traces' ? all : all.filter((_, at) => path === `/traces/${Object.keys(traces)[at]}`)
    if (wanted.length === 0)
      return send(response, 404, { error: { httpCode: 404, message: 'No traces found' } })
    send(response, 200, { result: { resourceSpans: wanted.flatMap(({ resourceSpans }) => resourceSpans) } })
  }
}

/** As plain text, as Jaeger says of its JSON. */
export function send(response: ServerResponse, status: number, body: object | string, headers = {}): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
