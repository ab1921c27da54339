import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { spanTitle } from 'hookspan/tracing'
import { otlpBody } from './otlp-body.ts'

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: Record<string, unknown>
}

type Answer = number | 'hang' | ((spans: ReceivedSpan[]) => number)

/** A collector that speaks OTLP/HTTP JSON and can be told to misbehave. */
export async function startCollector(port = 0) {
  const spans: ReceivedSpan[] = []
  const requests: { status: number; spans: number; headers: Record<string, unknown> }[] = []
  const hanging = new Set<ServerResponse>()
  let answer: Answer = 200
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      if (request.method !== 'POST' || request.url !== '/v1/traces') {
        response.writeHead(404).end()
        return
      }
      const received = readSpans(Buffer.concat(chunks))
      if (answer === 'hang') {
        hanging.add(response)
        return
      }
      const status = typeof answer === 'function' ? answer(received) : answer
      if (status === 200) spans.push(...received)
      requests.push({ status, spans: received.length, headers: request.headers })
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    spans,
    requests,
    /** Requests that have come and have no answer. */
    unanswered: () => hanging.size,
    /** As a person reads them: `step 0`. */
    names: () => spans.map(({ name, attributes }) => spanTitle(name, attributes)),
    answerWith(next: Answer) {
      answer = next
    },
    async until(condition: () => boolean, timeoutMs = 10_000) {
      const deadline = Date.now() + timeoutMs
      while (!condition()) {
        if (Date.now() > deadline)
          throw new Error(
            `Gave up waiting; received: ${spans
              .map((s) => s.name)
              .join(', ')
              .slice(0, 2_000)}`,
          )
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

interface OtlpJson {
  resourceSpans?: {
    scopeSpans?: {
      spans?: {
        traceId: string
        spanId: string
        parentSpanId?: string
        name: string
        attributes?: KeyValue[]
      }[]
    }[]
  }[]
}

interface KeyValue {
  readonly key: string
  readonly value: Record<string, unknown>
}

function readSpans(body: Buffer): ReceivedSpan[] {
  const { resourceSpans = [] } = otlpBody(body) as OtlpJson
  return resourceSpans
    .flatMap(({ scopeSpans = [] }) => scopeSpans)
    .flatMap(({ spans = [] }) => spans)
    .map(({ attributes = [], ...span }) => ({
      ...span,
      attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
    }))
}
