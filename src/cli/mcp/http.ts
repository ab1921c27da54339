/** The server over HTTP: on loopback only, and whoever asks needs the token, as for what the viewer does not show everyone. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { errorMessage } from '../../internal/errors.ts'
import { type AccessPolicy, hasToken, refusal } from '../../viewer/http/security.ts'

const MCP_PATH = '/mcp'

export interface HttpServerOptions {
  /** 0 takes a free one. */
  port: number
  token: string
  /** What answers once a request was let in. */
  handle(request: Request): Promise<Response>
}

/** @throws when the port cannot be had. */
export async function serveHttp({
  port,
  token,
  handle,
}: HttpServerOptions): Promise<{ url: string; server: Server }> {
  const policy: AccessPolicy = { token, loopback: true, allowedHosts: [] }
  const server = createServer((request, response) => void answer(request, response, policy, handle))
  server.requestTimeout = 60_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${MCP_PATH}`, server }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  policy: AccessPolicy,
  handle: HttpServerOptions['handle'],
): Promise<void> {
  try {
    const refused = refusal(request.headers, policy)
    if (refused) return say(response, 403, refused)
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (url.pathname !== MCP_PATH)
      return say(response, 404, `Nothing at ${url.pathname.slice(0, 200)}. Ask ${MCP_PATH}.`)
    if (!hasToken(request.headers, policy)) {
      response.setHeader('www-authenticate', 'Bearer')
      return say(
        response,
        401,
        'This needs the token that `hookspan mcp` printed: Authorization: Bearer TOKEN.',
      )
    }
    const stop = new AbortController()
    response.once('close', () => stop.abort())
    await send(await handle(asRequest(request, url, stop.signal)), response)
  } catch (error) {
    if (response.headersSent || response.destroyed) response.destroy()
    else say(response, 500, errorMessage(error))
  }
}

function asRequest(request: IncomingMessage, url: URL, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one)
  }
  const method = request.method ?? 'GET'
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(url, {
    method,
    headers,
    signal,
    ...(hasBody && { body: Readable.toWeb(request), duplex: 'half' }),
  } as RequestInit)
}

async function send(answered: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  if (answered.body === null) response.end()
  else await pipeline(Readable.fromWeb(answered.body as ReadableStream), response)
}

function say(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error }))
}
