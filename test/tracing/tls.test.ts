import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { HookDispatcher } from 'hookspan'
import { startTracing, type Tracing } from 'hookspan/tracing'
import { startViewer } from 'hookspan/viewer'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { CA, CLIENT, ELSEWHERE, EXPIRED, SERVER } from '../support/certificates.ts'
import { startOtlpStub } from '../support/otlp-stub.ts'
import { SELF_SIGNED } from '../support/self-signed.ts'

const OK = { status: 200 }

describe('a collector behind TLS', () => {
  let folder: string
  let tracing: Tracing | undefined
  let troubles: string[]
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'hookspan-tls-'))
    troubles = []
  })
  afterEach(async () => {
    vi.unstubAllEnvs()
    await tracing?.shutdown({ timeoutMs: 1_000 })
    tracing = undefined
    rmSync(folder, { recursive: true, force: true })
  })

  function setFile(variable: string, content: string) {
    const path = join(folder, variable)
    writeFileSync(path, content)
    vi.stubEnv(variable, path)
  }

  async function sendOne(endpoint: string) {
    const queue = { requestTimeoutMs: 5_000, onTrouble: (message: string) => void troubles.push(message) }
    tracing = startTracing({ endpoint, flushOnExit: false, queue })
    const dispatcher = new HookDispatcher()
    dispatcher.use(tracing)
    await dispatcher.startOperation({ agentName: 'a' }).complete()
    await tracing.forceFlush()
    return tracing.stats()
  }

  async function linkOfOne(endpoint: string) {
    tracing = startTracing({ endpoint, flushOnExit: false, queue: { onTrouble: () => {} } })
    const dispatcher = new HookDispatcher()
    dispatcher.use(tracing)
    const operation = dispatcher.startOperation({ agentName: 'a' })
    await operation.complete()
    return tracing.linkTo(operation)
  }

  it.each(['OTEL_EXPORTER_OTLP_CERTIFICATE', 'OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE'])(
    'is sent to when its CA is in %s',
    async (variable) => {
      setFile(variable, CA)
      await using stub = await startOtlpStub(OK, SERVER)
      expect(await sendOne(stub.url)).toEqual({ queued: 0, exported: 1, dropped: 0 })
    },
  )

  it.each([
    [
      'is signed by itself',
      SELF_SIGNED,
      '',
      /certificate.*to trust it, name the file of its CA in OTEL_EXPORTER_OTLP_CERTIFICATE/,
    ],
    ['is for another host', ELSEWHERE, CA, /altnames.*the endpoint must name a host of the certificate/],
    ['has expired', EXPIRED, CA, /expired.*needs a new certificate/],
  ])(
    'is not sent to when its certificate %s, and what would help is told',
    async (_what, identity, ca, help) => {
      if (ca !== '') setFile('OTEL_EXPORTER_OTLP_CERTIFICATE', ca)
      await using stub = await startOtlpStub(OK, identity)
      expect(await sendOne(stub.url)).toMatchObject({ queued: 1, exported: 0, dropped: 0 })
      expect(stub.requests).toEqual([])
      expect(troubles).toEqual([expect.stringMatching(help)])
    },
  )

  it('is shown our own certificate from OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY', async () => {
    setFile('OTEL_EXPORTER_OTLP_CERTIFICATE', CA)
    await using stub = await startOtlpStub(OK, {
      ...SERVER,
      ca: CA,
      requestCert: true,
      rejectUnauthorized: true,
    })
    expect(await sendOne(stub.url)).toMatchObject({ queued: 1, exported: 0 })
    await tracing?.shutdown()
    setFile('OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE', CLIENT.cert)
    setFile('OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY', CLIENT.key)
    expect(await sendOne(stub.url)).toMatchObject({ queued: 0, exported: 1 })
    expect((stub.requests[0]?.socket as TLSSocket | undefined)?.getPeerCertificate().subject.CN).toBe(
      'client',
    )
  })

  it('is linked to where it is a viewer, with the CA that spans are sent with', async () => {
    setFile('OTEL_EXPORTER_OTLP_CERTIFICATE', CA)
    const viewer = await startViewer({ port: 0, db: ':memory:' })
    onTestFinished(() => viewer.close())
    const server = createServer(SERVER, (asked, answer) => {
      const { method, url: path, headers } = asked
      const { hostname, port, host } = new URL(viewer.otlpEndpoint)
      const passed = request({ hostname, port, path, method, headers: { ...headers, host } }, (got) => {
        answer.writeHead(got.statusCode ?? 500, got.headers)
        got.pipe(answer)
      })
      asked.pipe(passed)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    const { text, traceId } = await linkOfOne(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
    expect(text).toBe(new URL(`/run/${traceId}`, viewer.url).href)
  })

  it('is not said to be nobody where its certificate is not trusted', async () => {
    await using stub = await startOtlpStub(OK, SELF_SIGNED)
    expect((await linkOfOne(stub.url)).text).toMatch(
      /^https:.* cannot be reached: .*certificate.*; to trust it, name the file of its CA in OTEL_EXPORTER_OTLP_CERTIFICATE/,
    )
  })

  it('is sent to by a process that exits, in the form that was chosen', async () => {
    setFile('OTEL_EXPORTER_OTLP_CERTIFICATE', CA)
    await using stub = await startOtlpStub({ status: 200, body: '' }, SERVER)
    const script = fileURLToPath(new URL('processes/run-and-wait.ts', import.meta.url))
    const env = { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' }
    const child = spawn(process.execPath, [script, stub.url, '-', 'exit'], {
      env: { ...process.env, ...env },
    })
    expect(await once(child, 'exit')).toEqual([3, null])
    const { 'content-type': type, 'content-encoding': encoding } = stub.requests[0]?.headers ?? {}
    expect([type, encoding]).toEqual(['application/x-protobuf', 'gzip'])
    expect(gunzipSync(stub.bodies[0] as Buffer).includes('invoke_agent victim')).toBe(true)
  })

  it('is told of a server that speaks none', async () => {
    await using stub = await startOtlpStub(OK)
    expect(await sendOne(stub.url.replace('http:', 'https:'))).toMatchObject({ queued: 1 })
    expect(troubles[0]).toMatch(/does it speak TLS\? If not, use http:\/\//)
  })

  it.each([
    'OTEL_EXPORTER_OTLP_CERTIFICATE',
    'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    'OTEL_EXPORTER_OTLP_CLIENT_KEY',
  ])('is not started with a file in %s that cannot be read', (variable) => {
    vi.stubEnv(variable, join(folder, 'nowhere'))
    expect(() => startTracing({ endpoint: 'https://127.0.0.1:9' })).toThrow(
      new RegExp(`Cannot read the file that ${variable} names, .*nowhere.*ENOENT`),
    )
  })

  it.each([
    ['of several lines', CLIENT.key],
    ['of one line', CLIENT.key.replaceAll('\n', '\\n')],
    ['in base64', Buffer.from(CLIENT.key).toString('base64')],
  ])('does not show a key that stands where its file should be named, %s', (_form, key) => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_CLIENT_KEY', key)
    const start = () => startTracing({ endpoint: 'https://127.0.0.1:9' })
    expect(start).toThrow('OTEL_EXPORTER_OTLP_CLIENT_KEY names the file')
    expect(start).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining(key.slice(30, 60)) }),
    )
  })
})
