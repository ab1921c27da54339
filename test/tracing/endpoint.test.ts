import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { expect, it, onTestFinished } from 'vitest'

/** A run sent to what `endpoint` makes of the address of a server: what the server was asked, and what was said. */
async function sendTo(endpoint: (host: string) => string, host = '127.0.0.1') {
  const asked: { url: string | undefined; authorization: string | undefined }[] = []
  const server = createServer((request, response) => {
    const { url, headers } = request
    if (!url?.startsWith('/v1/hookspan')) asked.push({ url, authorization: headers.authorization })
    request.resume()
    response.setHeader('content-type', 'application/json').end('{}')
  })
  server.listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const troubles: string[] = []
  const queue = { delayMs: 1, onTrouble: (message: string) => void troubles.push(message) }
  const tracing = startTracing({
    endpoint: endpoint(host === '::1' ? `[::1]:${port}` : `${host}:${port}`),
    queue,
  })
  onTestFinished(() => tracing.shutdown({ timeoutMs: 1_000 }))
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  const op = dispatcher.startOperation({ agentName: 'a' })
  await op.complete()
  await tracing.forceFlush()
  const { text } = await tracing.linkTo(op)
  return {
    asked,
    said: [tracing.tracesUrl, text, ...troubles].join('\n'),
    exported: tracing.stats().exported,
  }
}

it.each<[string, (host: string) => string, string]>([
  ['a path', (host) => `http://${host}/otlp/`, '/otlp/v1/traces'],
  ['a query', (host) => `http://${host}?token=a`, '/v1/traces?token=a'],
  ['a path and a query', (host) => `http://${host}/otlp?token=a`, '/otlp/v1/traces?token=a'],
  ['the whole route and a query', (host) => `http://${host}/v1/traces?token=a`, '/v1/traces?token=a'],
  ['capitals', (host) => `HTTP://${host}`, '/v1/traces'],
  ['spaces around it', (host) => `  http://${host} `, '/v1/traces'],
])('an endpoint with %s is sent to', async (_what, endpoint, route) => {
  const { asked, exported } = await sendTo(endpoint)
  expect([asked[0]?.url, exported]).toEqual([route, 1])
})

it('an endpoint with an IPv6 address is sent to', async () => {
  const { exported } = await sendTo((host) => `http://${host}`, '::1')
  expect(exported).toBe(1)
})

it('an endpoint with a user and a password is sent to with them, and nobody is shown them', async () => {
  const { asked, said } = await sendTo((host) => `http://user:se%3Acret@${host}`)
  expect(asked[0]?.authorization).toBe(`Basic ${Buffer.from('user:se:cret').toString('base64')}`)
  expect(said).not.toMatch(/se(:|%3A)cret/)
})
