import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { context, createContextKey } from '@opentelemetry/api'
import { HookDispatcher } from 'hookspan'
import { type StartTracingOptions, startTracing, type Tracing } from 'hookspan/tracing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { otlpBody } from '../support/otlp-body.ts'
import { type OtlpStub, startOtlpStub } from '../support/otlp-stub.ts'

const FAST = { delayMs: 10, requestTimeoutMs: 2_000 }
const OK = { status: 200 }

let stub: OtlpStub
let tracing: Tracing | undefined
let troubles: string[]
beforeEach(async () => {
  stub = await startOtlpStub(OK)
  troubles = []
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await tracing?.shutdown({ timeoutMs: 1_000 })
  tracing = undefined
  await stub[Symbol.asyncDispose]()
})

function start(options: StartTracingOptions = {}) {
  const queue = { ...FAST, onTrouble: (message: string) => troubles.push(message), ...options.queue }
  tracing = startTracing({ endpoint: stub.url, flushOnExit: false, ...options, queue })
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  return { tracing, dispatcher }
}

/** Three spans: its own, a step's and a tool's. */
async function runAgent(dispatcher: HookDispatcher, agentName = 'a') {
  const op = dispatcher.startOperation({ agentName })
  await op.step((step) => step.toolCall({ apiName: 't', args: {} }, () => 'fine'))
  await op.complete()
}

/** ExportTraceServiceResponse { partial_success { rejected_spans: 2, error_message: "too old" } } */
const PARTIAL_PROTOBUF = Buffer.from([0x0a, 11, 0x08, 2, 0x12, 7, ...Buffer.from('too old')])
const PARTIAL_JSON = '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}'

describe('the answer of a collector', () => {
  it.each([
    ['JSON', { body: PARTIAL_JSON }],
    ['protobuf', { body: PARTIAL_PROTOBUF, headers: { 'content-type': 'application/x-protobuf' } }],
  ])('that it took a part is read from %s, counted and told once', async (_form, answer) => {
    stub.answerWith({ status: 200, ...answer })
    const { tracing, dispatcher } = start()
    for (let i = 0; i < 2; i++) {
      await runAgent(dispatcher)
      await tracing.forceFlush()
    }
    expect(tracing.stats()).toEqual({ queued: 0, exported: 2, dropped: 4, rejected: 4 })
    expect(troubles).toEqual([
      'The collector took a request and rejected 2 of its 3 spans: too old. They are lost.',
    ])
  })

  it('that it took all, with a warning, is told once', async () => {
    stub.answerWith({ status: 200, body: '{"partialSuccess":{"errorMessage":"soon over quota"}}' })
    const { tracing, dispatcher } = start()
    await runAgent(dispatcher)
    await tracing.forceFlush()
    expect(tracing.stats()).toEqual({ queued: 0, exported: 3, dropped: 0 })
    expect(troubles).toEqual(['The collector took 3 spans with a warning: soon over quota.'])
  })

  it.each([
    [
      400,
      '<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>',
      /400 Bad Request: 400 The plain HTTP request was sent to HTTPS port/,
    ],
    [503, '<html>', /503 Service Unavailable\. /],
    [503, '\u001b[2J', /503 Service Unavailable\. /],
    [
      200,
      JSON.stringify({ partialSuccess: { errorMessage: 'x'.repeat(60_000) } }),
      /with a warning: x{200}\.$/,
    ],
    [200, JSON.stringify({ partialSuccess: { errorMessage: '\u001b[2J' } }), /with a warning: unreadable\.$/],
  ])('%d with %j is told in a line that acts on no terminal', async (status, body, told) => {
    stub.answerWith({ status, body })
    const { tracing, dispatcher } = start()
    await runAgent(dispatcher)
    await tracing.forceFlush()
    expect(troubles[0]).toMatch(told)
  })

  it.each([
    '',
    '{}',
    'ok',
    '\u0000\u0001',
    '{"partialSuccess":null}',
    '{"partialSuccess":{"rejectedSpans":-7}}',
    '{"partialSuccess":{"rejectedSpans":0.5}}',
    '{"partialSuccess":{"errorMessage":{}}}',
    '[]',
  ])('that says nothing, %j, is no trouble', async (body) => {
    stub.answerWith({ status: 200, body })
    const { tracing, dispatcher } = start()
    await runAgent(dispatcher)
    await tracing.forceFlush()
    expect([tracing.stats().exported, troubles]).toEqual([3, []])
  })

  it('that is a web page is told: spans do not arrive there', async () => {
    stub.answerWith({ status: 200, body: '<html>Sign in</html>' })
    const { tracing, dispatcher } = start()
    await runAgent(dispatcher)
    await tracing.forceFlush()
    expect(troubles[0]).toMatch(/web page: <html>Sign in/)
  })

  it.each([
    [404, /no OTLP endpoint there \(404\): check the URL/],
    [405, /no OTLP endpoint there \(405\)/],
    [415, /does not take spans in this form \(415\).*`protocol`.*OTEL_EXPORTER_OTLP_PROTOCOL/],
    [307, /redirects.*307 Temporary Redirect to http:\/\/other\/.*give the URL/],
  ])('%d is believed after a while, with what would help', async (status, help) => {
    stub.answerWith({ status, headers: { location: 'http://other/' } })
    const { tracing, dispatcher } = start({ queue: { giveUpAfterMs: 300 } })
    await runAgent(dispatcher)
    await expect.poll(() => tracing.stats().dropped).toBe(3)
    expect(tracing.stats()).toMatchObject({ queued: 0, exported: 0 })
    expect(troubles).toEqual([expect.stringMatching(help), expect.stringMatching(/^3 spans were dropped: /)])
    stub.answerWith(OK)
    await runAgent(dispatcher)
    await tracing.forceFlush()
    expect(tracing.stats()).toEqual({ queued: 0, exported: 3, dropped: 3 })
    expect(troubles.at(-1)).toBe('Spans are delivered again.')
  })

  it('101, after which nobody speaks HTTP, holds up nothing and is told', async () => {
    stub.answerWith(({ socket }) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')
      return null
    })
    const { tracing, dispatcher } = start()
    await runAgent(dispatcher)
    await expect.poll(() => troubles).toEqual([expect.stringContaining('101 Switching Protocols')])
    stub.answerWith(OK)
    await expect.poll(() => tracing.stats().exported, { timeout: 5_000 }).toBe(3)
  })

  it('415 drops nothing that `spoolDir` has', async () => {
    const spoolDir = mkdtempSync(join(tmpdir(), 'hookspan-415-'))
    stub.answerWith({ status: 415 })
    const { tracing, dispatcher } = start({ spoolDir, queue: { giveUpAfterMs: 0 } })
    await runAgent(dispatcher)
    await expect.poll(() => stub.requests.length).toBeGreaterThan(2)
    expect(tracing.stats()).toMatchObject({ queued: 3, dropped: 0 })
    await tracing.shutdown()
    stub.answerWith(OK)
    const { tracing: better } = start({ spoolDir })
    await expect.poll(() => better.stats().exported).toBe(3)
    await better.shutdown()
    rmSync(spoolDir, { recursive: true })
  })

  it('400 is traced to its span at once, not a request a delay', async () => {
    stub.answerWith(({ body }) => ({ status: body.includes('invoke_agent poison') ? 400 : 200 }))
    const { tracing, dispatcher } = start({ queue: { delayMs: 600_000, maxBatchSpans: 120 } })
    for (let i = 0; i < 40; i++) await runAgent(dispatcher, i === 17 ? 'poison' : `r${i}`)
    await expect.poll(() => tracing.stats().exported).toBe(119)
    expect(stub.requests.length).toBeGreaterThan(7)
    expect(tracing.stats()).toEqual({ queued: 0, exported: 119, dropped: 1, lastError: undefined })
  })

  it('400 to everything is not asked for each span in a hurry', async () => {
    stub.answerWith({ status: 400, body: '{"code":3,"message":"no tenant"}' })
    const { tracing, dispatcher } = start()
    for (let i = 0; i < 100; i++) await runAgent(dispatcher)
    await expect.poll(() => tracing.stats().dropped).toBeGreaterThan(8)
    const { length } = stub.requests
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(stub.requests.length - length).toBeLessThan(20)
    expect(tracing.stats()).toMatchObject({ lastError: '400 Bad Request: no tenant' })
    expect(troubles).toEqual([
      'The collector refused a span (400) and it was dropped: 400 Bad Request: no tenant.',
    ])
  })

  it('503 says when to ask again, and is asked then', async () => {
    let asked = 0
    stub.answerWith(() => (asked++ === 0 ? { status: 503, headers: { 'retry-after': '2' } } : OK))
    const { tracing, dispatcher } = start()
    await runAgent(dispatcher)
    await expect.poll(() => tracing.stats().exported).toBe(3)
    const [first, second] = stub.requests.map(({ at }) => at)
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(1_900)
  })

  it('429 names a time of the day, and is asked nothing before', async () => {
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString()
    stub.answerWith({ status: 429, headers: { 'retry-after': inAnHour } })
    const { tracing, dispatcher } = start()
    await runAgent(dispatcher)
    await expect.poll(() => tracing.stats().lastError).toBeDefined()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(stub.requests).toHaveLength(1)
    stub.answerWith(OK)
    await tracing.forceFlush()
    expect(tracing.stats().exported).toBe(3)
  })
})

describe('the requests', () => {
  it('share a connection', async () => {
    const { tracing, dispatcher } = start()
    for (let i = 0; i < 3; i++) {
      await runAgent(dispatcher)
      await tracing.forceFlush()
    }
    expect(stub.requests).toHaveLength(3)
    expect(new Set(stub.requests.map(({ socket }) => socket)).size).toBe(1)
  })

  it('are sent again at once when an idle connection was closed under them', async () => {
    const { tracing, dispatcher } = start()
    await runAgent(dispatcher)
    await tracing.forceFlush()
    const [first] = stub.requests
    stub.answerWith(({ socket }) => {
      if (socket !== first?.socket) return OK
      socket.destroy()
      return null
    })
    await runAgent(dispatcher)
    await tracing.forceFlush()
    expect(tracing.stats()).toEqual({ queued: 0, exported: 6, dropped: 0 })
    expect(troubles).toEqual([])
  })

  it('are protobuf where that is chosen', async () => {
    const { tracing, dispatcher } = start({ protocol: 'http/protobuf' })
    await runAgent(dispatcher)
    await tracing.forceFlush()
    expect(stub.requests[0]?.headers['content-type']).toBe('application/x-protobuf')
    expect(stub.bodies[0]?.[0]).toBe(0x0a)
    expect(stub.bodies[0]?.includes('invoke_agent a')).toBe(true)
  })

  it('are compressed where that is wanted', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_COMPRESSION', 'gzip')
    const { tracing, dispatcher } = start()
    await runAgent(dispatcher)
    await tracing.forceFlush()
    expect(stub.requests[0]?.headers['content-encoding']).toBe('gzip')
    expect(otlpBody(gunzipSync(stub.bodies[0] as Buffer))).toHaveProperty(
      'resourceSpans.0.scopeSpans.0.spans',
    )
  })

  it('make no spans themselves', async () => {
    const suppressed = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING')
    const seen: unknown[] = []
    const look = () => void seen.push(context.active().getValue(suppressed))
    for (const name of ['http.client.request.start', 'undici:request:create']) subscribe(name, look)
    const { tracing, dispatcher } = start()
    await runAgent(dispatcher)
    await tracing.forceFlush()
    for (const name of ['http.client.request.start', 'undici:request:create']) unsubscribe(name, look)
    expect(seen.length).toBeGreaterThanOrEqual(2)
    expect(new Set(seen)).toEqual(new Set([true]))
  })

  it.each([['grpc'], ['http'], [1], ['']])('refuse the protocol %j', (protocol) => {
    expect(() => start({ protocol: protocol as never })).toThrow(
      /`protocol` to be "http\/json" or "http\/protobuf", got/,
    )
  })
})
