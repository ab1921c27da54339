import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startViewer } from 'hookspan/viewer'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isJaeger } from '../../src/tracing/links/collector.ts'
import { startJaegerStub } from '../support/jaeger-stub.ts'
import { refusingUrl } from '../support/otlp-stub.ts'
import { runCli } from '../support/run-cli.ts'

interface Finding {
  check: string
  state: 'ok' | 'note' | 'wrong'
  says: string
  mend?: string
}

async function doctor(endpoint: string, options: { env?: Record<string, string>; cwd?: string } = {}) {
  const { stdout } = await runCli(['doctor', '--json', '--timeout', '10000', '--endpoint', endpoint], options)
  const { findings } = JSON.parse(stdout) as { findings: Finding[] }
  return (check: string) => findings.find((finding) => finding.check === check)
}

interface RouteAnswer {
  readonly status?: number
  readonly body?: string
  readonly headers?: Record<string, string>
}

/** Answers as somebody does, by method and path; what is not told is a 404. POST to any traces route is taken. */
async function backend(answers: Readonly<Record<string, RouteAnswer>>): Promise<string> {
  const listener: RequestListener = (request, response) => {
    request.resume()
    const taken: RouteAnswer | undefined =
      request.method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : undefined
    const answer: RouteAnswer = answers[`${request.method} ${request.url}`] ?? taken ?? { status: 404 }
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body ?? '')
  }
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const host = (url: string) => new URL(url).host

const jaegerRuns = await isJaeger('http://127.0.0.1:16686')

// One that runs on its usual port is taken for the one behind the address.
describe.skipIf(jaegerRuns)('the backend, by what answers', () => {
  it('is the viewer', async () => {
    const viewer = await startViewer({ port: 0, db: ':memory:' })
    onTestFinished(() => viewer.close())
    const find = await doctor(viewer.url)
    expect(find('backend')).toEqual({
      check: 'backend',
      state: 'ok',
      says: `${host(viewer.url)} is hookspan view`,
    })
    expect(find('clock')).toMatchObject({ state: 'ok' })
  })

  it('is Jaeger, or what JAEGER_UI_URL wrongly says is one', async () => {
    const url = await backend({})
    await using jaeger = await startJaegerStub()
    const right = await doctor(url, { env: { JAEGER_UI_URL: jaeger.url } })
    expect(right('backend')).toMatchObject({
      state: 'ok',
      says: `${host(url)} is Jaeger, whose page is ${jaeger.url}`,
    })

    const wrong = await doctor(url, { env: { JAEGER_UI_URL: url } })
    expect(wrong('backend')).toMatchObject({
      state: 'note',
      mend: expect.stringContaining('Set JAEGER_UI_URL'),
    })
  })

  it.each([
    ['its header', { 'GET /v1/traces': { status: 405, headers: { 'x-phoenix-server-version': '20.26.1' } } }],
    ['its version', { 'GET /arize_phoenix_version': { body: '20.26.1' } }],
  ])('is Phoenix, by %s, which takes no JSON', async (_by, answers) => {
    const url = await backend(answers)
    expect((await doctor(url))('backend')).toMatchObject({
      state: 'ok',
      says: `${host(url)} is Phoenix 20.26.1`,
    })
    const env = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
    expect((await doctor(url, { env }))('backend')).toMatchObject({
      state: 'note',
      mend: expect.stringContaining('takes protobuf alone'),
    })
  })

  it('is Langfuse', async () => {
    const url = await backend({ 'GET /api/public/health': { body: '{"status":"OK","version":"4.1.0"}' } })
    expect((await doctor(`${url}/api/public/otel`))('backend')).toMatchObject({
      state: 'ok',
      says: `${host(url)} is Langfuse 4.1.0`,
    })
  })

  it('is a collector', async () => {
    const url = await backend({
      'GET /v1/traces': { status: 405, body: '405 method not allowed, supported: [POST]' },
    })
    expect((await doctor(url))('backend')).toMatchObject({
      says: expect.stringContaining('an OpenTelemetry collector'),
      mend: expect.stringContaining('JAEGER_UI_URL'),
    })
  })

  it('is none of those, or nobody', async () => {
    const url = await backend({})
    expect((await doctor(url))('backend')).toMatchObject({
      state: 'note',
      says: expect.stringMatching(/is none of hookspan view, Jaeger, Phoenix/),
    })
    const find = await doctor(await refusingUrl())
    expect([find('backend'), find('clock')]).toEqual([undefined, undefined])
  })
})

describe('its clock', () => {
  const at = (ms: number) => ({
    'GET /v1/traces': { status: 405, headers: { date: new Date(Date.now() + ms).toUTCString() } },
  })

  it.each([
    ['ahead of', 3_600_000],
    ['behind', -3_600_000],
  ])('is told when it is %s this one, with the limit', async (where, ms) => {
    const find = await doctor(await backend(at(ms)))
    expect(find('clock')).toMatchObject({
      state: 'note',
      says: expect.stringMatching(
        new RegExp(`is 3[56]\\d\\d\\.\\d s ${where} this one\\. Over 5\\.0 s, spans`),
      ),
      mend: expect.stringContaining('NTP'),
    })
  })

  it('is not compared by the date of what was kept on the way', async () => {
    const [kept] = Object.values(at(-3_600_000))
    const url = await backend({
      'GET /v1/traces': { ...kept, headers: { ...kept?.headers, age: '3600' } } as never,
    })
    expect((await doctor(url))('clock')).toMatchObject({
      state: 'ok',
      says: expect.stringContaining('no date'),
    })
  })
})

it('says of each SDK in which file it is attached, or that none is', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'hookspan-doctor-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const files = {
    'package.json': '{"dependencies":{"openai":"7","langchain":"1"}}',
    'src/agent.ts': "import { observeOpenAI } from 'hookspan/openai'\n",
    'node_modules/openai/package.json': '{"name":"openai","version":"7.2.0"}',
    'node_modules/langchain/package.json': '{"name":"langchain","version":"1.5.1"}',
    'node_modules/@modelcontextprotocol/sdk/package.json':
      '{"name":"@modelcontextprotocol/sdk","version":"1.30.0"}',
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(cwd, file, '..'), { recursive: true })
    writeFileSync(join(cwd, file), text)
  }
  const find = await doctor(await refusingUrl(), { cwd })
  expect(find('adapter:openai')).toMatchObject({
    state: 'ok',
    says: 'openai 7.2.0: hookspan/openai, attached in src/agent.ts',
  })
  expect(find('adapter:langchain')).toMatchObject({
    state: 'note',
    says: expect.stringMatching(/No source here attaches it$/),
    mend: expect.stringContaining('npx hookspan init'),
  })
  writeFileSync(join(cwd, 'yarn.lock'), '')
  const yarn = await doctor(await refusingUrl(), { cwd })
  expect(yarn('adapter:langchain')).toMatchObject({ mend: expect.stringContaining('yarn hookspan init') })
  expect(yarn('delivery')).toMatchObject({ mend: expect.stringContaining('Start `yarn hookspan view`') })
  // It came with another package.
  expect(find('adapter:@modelcontextprotocol/sdk')).toMatchObject({ state: 'ok' })
})
