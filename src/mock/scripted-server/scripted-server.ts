import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { allowScriptedPort } from '../live/network-guard.ts'
import { Script } from './script.ts'
import type { ScriptOptions, ScriptReport } from './types.ts'

export interface ScriptedServer extends ScriptReport, AsyncDisposable {
  /** What `new OpenAI({ baseURL })` takes: `http://127.0.0.1:<port>/v1`. */
  readonly baseURL: string
  readonly port: number
  /** Breaks open connections. Does not check the script: call `assertDone()` for that. */
  close(): Promise<void>
}

/**
 * An OpenAI-compatible HTTP server on a free loopback port, answering from a script.
 *
 * @throws ScriptError when the script is wrong in itself.
 * @example
 * await using server = await startScriptedServer({ steps: [{ content: 'hello' }] })
 * const client = new OpenAI({ apiKey: 'scripted', baseURL: server.baseURL })
 * await client.responses.create({ model: 'gpt-4o', input: 'hi' })
 * server.assertDone()
 */
export async function startScriptedServer(options: ScriptOptions): Promise<ScriptedServer> {
  const script = new Script(options)
  const server = createServer((incoming, outgoing) => {
    // Whatever goes wrong while serving, the client must see a broken connection and not wait for ever.
    serve(script, incoming, outgoing).catch(() => outgoing.destroy())
  })
  // After 5 s, Node would close a connection that waits. A client that shares this thread and was held that long (a
  // breakpoint, a tool that blocks) sends its next request into that.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const disallow = allowScriptedPort(port)
  const close = async () => {
    disallow()
    server.closeAllConnections()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    port,
    get requests() {
      return script.requests
    },
    get unexpected() {
      return script.unexpected
    },
    get remaining() {
      return script.remaining
    },
    assertDone: () => script.assertDone(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function serve(script: Script, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  // A web page that reaches this port under a name of its own must not use up steps.
  if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(incoming.headers.host ?? '')) {
    return void outgoing.writeHead(403).end('The scripted server answers to 127.0.0.1 and localhost only.')
  }
  const gone = new AbortController()
  outgoing.on('close', () => {
    if (!outgoing.writableFinished) gone.abort()
  })
  const raw = {
    method: incoming.method ?? 'GET',
    path: new URL(incoming.url ?? '/', 'http://localhost').pathname,
    headers: Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
    ),
    bodyText: await readBody(incoming),
  }
  const response = await script.handle(raw, gone.signal)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (!response.body) return void outgoing.end()
  // Streams of a few events would otherwise be held back until the first one is written.
  outgoing.flushHeaders()
  await pipe(response.body, outgoing)
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** A cut comes after all that was to arrive before it is with the system: a destroyed socket drops the rest. */
async function pipe(body: AsyncIterable<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  let sent: Promise<void> | undefined
  try {
    for await (const chunk of body) {
      const written = Promise.withResolvers<void>()
      const hasRoom = outgoing.write(chunk, () => written.resolve())
      sent = written.promise
      if (!hasRoom) await sent
    }
    outgoing.end()
  } catch (error) {
    await sent
    throw error
  }
}
