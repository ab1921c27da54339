import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CA, SERVER } from '../support/certificates.ts'
import { startOtlpStub } from '../support/otlp-stub.ts'

const OK = { status: 200, body: '{}' }

/** Takes what is for `collector.corp` to another port, and tells what it was asked for. */
async function startProxy(port: string) {
  const asked: string[] = []
  const server = createServer((incoming, answer) => {
    asked.push(`${incoming.method} ${incoming.url}`)
    const { pathname } = new URL(incoming.url as string)
    const { method, headers } = incoming
    const passed = request({ port, path: pathname, method, headers }, (response) => {
      answer.writeHead(response.statusCode as number, response.headers)
      response.pipe(answer)
    })
    incoming.pipe(passed)
  })
  server.on('connect', (incoming, socket) => {
    asked.push(`CONNECT ${incoming.url}`)
    const on = connect(Number(port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(on).pipe(socket)
    })
    for (const one of [on, socket]) one.on('error', () => {})
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

async function run(endpoint: string, how: 'end' | 'exit', env: Record<string, string>): Promise<void> {
  const script = fileURLToPath(new URL('processes/run-and-wait.ts', import.meta.url))
  const child = spawn(process.execPath, [script, endpoint, '-', how], { env: { ...process.env, ...env } })
  expect(await once(child, 'exit')).toEqual([how === 'end' ? 0 : 3, null])
}

describe.each(['end', 'exit'] as const)(
  'where Node goes through a proxy, so does what is sent (%s)',
  (how) => {
    it('over HTTP', async () => {
      await using stub = await startOtlpStub(OK)
      const proxy = await startProxy(new URL(stub.url).port)
      const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url }
      await run('http://collector.corp:4318', how, env)
      expect(Buffer.concat(stub.bodies).includes('invoke_agent victim')).toBe(true)
      expect(new Set(proxy.asked)).toContain('POST http://collector.corp:4318/v1/traces')
    })

    it('over HTTPS', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'hookspan-proxy-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      const ca = join(folder, 'ca.pem')
      writeFileSync(ca, CA)
      await using stub = await startOtlpStub(OK, SERVER)
      const { host, port } = new URL(stub.url)
      const proxy = await startProxy(port)
      const env = { NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: proxy.url, OTEL_EXPORTER_OTLP_CERTIFICATE: ca }
      await run(stub.url, how, env)
      expect(Buffer.concat(stub.bodies).includes('invoke_agent victim')).toBe(true)
      expect(new Set(proxy.asked)).toContain(`CONNECT ${host}`)
    })

    it('and goes past it where the environment says so', async () => {
      await using stub = await startOtlpStub(OK)
      const proxy = await startProxy('9')
      const ways: Record<string, string>[] = [
        { NODE_USE_ENV_PROXY: '1', NO_PROXY: '127.0.0.1' },
        { NODE_USE_ENV_PROXY: '0' },
      ]
      for (const env of ways) await run(stub.url, how, { HTTP_PROXY: proxy.url, ...env })
      expect(
        Buffer.concat(stub.bodies)
          .toString('latin1')
          .match(/invoke_agent victim/g)?.length,
      ).toBeGreaterThan(1)
      expect(proxy.asked).toEqual([])
    })
  },
)
