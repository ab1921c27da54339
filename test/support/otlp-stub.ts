import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface OtlpStub extends AsyncDisposable {
  /** Base of the endpoint. */
  url: string
  /** Bodies of the requests to the traces route, in order. */
  bodies: Buffer[]
}

/** An HTTP server on a free loopback port that answers OTLP as it is told. `undefined` never answers. */
export async function startOtlpStub(
  answer: { status: number; body?: string; headers?: Record<string, string> } | undefined,
): Promise<OtlpStub> {
  const bodies: Buffer[] = []
  const listener: RequestListener = async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (request.url?.includes('/v1/hookspan')) return void response.writeHead(404).end()
    bodies.push(Buffer.concat(chunks))
    if (answer === undefined) return
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end(answer.body ?? '{}')
  }
  const server = createServer(
    (request, response) => void (listener(request, response) as unknown as Promise<void>),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
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
