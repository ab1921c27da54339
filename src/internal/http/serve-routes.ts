import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { a, type Fields } from '../expect.ts'
import { hostNames } from './host-names.ts'
import { Unanswered } from './unanswered.ts'

/** Who asks, which a `Request` does not say. */
export interface AskedFrom {
  /** Of the other end of the connection. */
  readonly remoteAddress?: string | undefined
}

/** Answers a request, or undefined for a path that is not its own. */
export type Routes = (request: Request, from?: AskedFrom) => Promise<Response | undefined>

export interface ServeOptions {
  /** 0 takes a free one. @default 0 */
  port?: number
  /** Loopback unless told. @default '127.0.0.1' */
  host?: string
  /** Names by which the server may be asked for, beside loopback's and `host`. */
  allowedHosts?: readonly string[]
}

export const SERVE_FIELDS: Fields<ServeOptions> = { port: a.port, host: a.name, allowedHosts: a.strings }

export interface RoutesServer {
  readonly url: string
  /** Takes no more connections, and answers what has come in: with `Connection: close`, within 2 s. */
  close(): Promise<void>
}

/**
 * Serves routes by themselves. `Host` is checked, so that a page of another site cannot reach them by a name of its own.
 *
 * @throws the error of a port that is taken.
 */
export async function serveRoutes(
  routes: Routes,
  { port = 0, host = '127.0.0.1', allowedHosts = [] }: ServeOptions,
): Promise<RoutesServer> {
  const hosts = new Set(['localhost', '127.0.0.1', '[::1]', host.toLowerCase(), ...hostNames(allowedHosts)])
  const unanswered = new Unanswered()
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 30_000 }, (request, response) => {
    unanswered.add(response)
    serve(routes, hosts, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: taken } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: () => unanswered.close(server),
  }
}

async function serve(
  routes: Routes,
  hosts: ReadonlySet<string>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const name = (request.headers.host ?? '').replace(/:\d+$/, '').toLowerCase()
  if (!hosts.has(name)) {
    response.writeHead(421, { 'content-type': 'text/plain' }).end('This server does not answer to that name.')
    return
  }
  const path = request.url ?? ''
  // Not what is asked of a proxy, whose `Host` says nothing, nor `*`.
  if (!path.startsWith('/') || !URL.canParse(`http://${name}${path}`)) {
    response.writeHead(400, { 'content-type': 'text/plain' }).end('The path is not valid.')
    return
  }
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD'
  const asked = new Request(`http://${name}${path}`, {
    method: request.method ?? 'GET',
    headers: Object.entries(request.headers).flatMap(([key, value]) =>
      typeof value === 'string' ? [[key, value] as [string, string]] : [],
    ),
    ...(hasBody && { body: Readable.toWeb(request) as ReadableStream, duplex: 'half' }),
  } as RequestInit)
  const answer =
    (await routes(asked, { remoteAddress: request.socket.remoteAddress })) ??
    new Response('Not found', { status: 404 })
  const text = await answer.text()
  // What was not read of a refused body would block the connection: it is closed, and whoever has it is told, so that the next
  // request, which may be a human's answer, is not sent into nothing.
  const isLast = hasBody && !request.complete
  response.writeHead(answer.status, {
    ...Object.fromEntries(answer.headers),
    ...(isLast && { connection: 'close' }),
  })
  response.end(text)
}
