import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'

/** `undefined` never answers. */
export type StubAnswer =
  | { status: number; body?: string | Uint8Array; headers?: Record<string, string> }
  | undefined

export interface StubRequest {
  readonly body: Buffer
  readonly headers: IncomingHttpHeaders
  /** When it came, by `performance.now()`. */
  readonly at: number
  readonly socket: Socket
}

export interface OtlpStub extends AsyncDisposable {
  /** Base of the endpoint. */
  readonly url: string
  /** Bodies of the requests to the traces route, in order. */
  readonly bodies: Buffer[]
  /** The same requests whole. */
  readonly requests: StubRequest[]
  /** From now on. A function sees the request, and may answer itself by giving null. */
  answerWith(next: StubAnswer | ((request: StubRequest, response: ServerResponse) => StubAnswer | null)): void
}

/** An HTTP server on a free loopback port that answers OTLP as it is told; with `tls`, an HTTPS one. */
export async function startOtlpStub(answer: StubAnswer, tls?: ServerOptions): Promise<OtlpStub> {
  const requests: StubRequest[] = []
  const bodies: Buffer[] = []
  let answering: Parameters<OtlpStub['answerWith']>[0] = answer
  const listener: RequestListener = async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (request.url?.includes('/v1/hookspan')) return void response.writeHead(404).end()
    const received = {
      body: Buffer.concat(chunks),
      headers: request.headers,
      at: performance.now(),
      socket: request.socket,
    }
    requests.push(received)
    bodies.push(received.body)
    const given = typeof answering === 'function' ? answering(received, response) : answering
    if (given === undefined || given === null) return
    response.writeHead(given.status, { 'content-type': 'application/json', ...given.headers })
    response.end(given.body ?? '{}')
  }
  const serve: RequestListener = (request, response) =>
    void (listener(request, response) as unknown as Promise<void>)
  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    requests,
    answerWith(next) {
      answering = next
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A port on which nobody listens. */
export async function refusingUrl(): Promise<string> {
  const stub = await startOtlpStub({ status: 200 })
  await stub[Symbol.asyncDispose]()
  return stub.url
}
