import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export interface Tee extends AsyncDisposable {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  url: string
}

/**
 * Gives each request that sends something to all of these; the first one's answer is the sender's. Nobody sees that one of them
 * is a viewer, to which spans are sent as they begin, too.
 */
export async function startTee(...targets: readonly string[]): Promise<Tee> {
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(404).end()
    const body = await buffer(request)
    const answers = await Promise.all(
      targets.map((target) =>
        fetch(target + request.url, {
          method: 'POST',
          headers: sent(request.headers),
          body,
        }),
      ),
    )
    const [first] = answers
    const refused = answers.find((answer) => !answer.ok)
    response.writeHead((refused ?? first)!.status, {
      'content-type': first!.headers.get('content-type') ?? '',
    })
    response.end(Buffer.from(await first!.arrayBuffer()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function sent(headers: IncomingHttpHeaders): Record<string, string> {
  const kept = ['content-type', 'content-encoding']
  return Object.fromEntries(kept.flatMap((name) => (headers[name] ? [[name, String(headers[name])]] : [])))
}
