import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { context, diag, propagation, type Span, trace } from '@opentelemetry/api'
import { HookDispatcher } from 'hookspan'
import { type StartTracingOptions, startTracing, type Tracing } from 'hookspan/tracing'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { misspelt, OTEL_VARIABLES, OWN_VARIABLES } from '../../src/internal/variables.ts'
import { CA, CLIENT, SERVER } from '../support/certificates.ts'
import { otlpBody } from '../support/otlp-body.ts'
import { type OtlpStub, startOtlpStub } from '../support/otlp-stub.ts'

interface SpanJson {
  readonly name: string
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[]
  readonly events?: readonly unknown[]
  readonly links?: readonly unknown[]
}

interface RequestJson {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: SpanJson['attributes'] }
    readonly scopeSpans: readonly { readonly spans: readonly SpanJson[] }[]
  }[]
}

const tested = new Set<string>()
let stub: OtlpStub
let tracing: Tracing | undefined
let troubles: string[]
beforeEach(async () => {
  for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) vi.stubEnv(name, undefined)
  stub = await startOtlpStub({ status: 200 })
  troubles = []
})
afterEach(async () => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  await tracing?.shutdown({ timeoutMs: 1_000 })
  tracing = undefined
  diag.disable()
  await stub[Symbol.asyncDispose]()
})

/** Starts as the environment says and, unless told otherwise, to the stub. */
function start(options: StartTracingOptions = {}) {
  const queue = { delayMs: 10, onTrouble: (message: string) => void troubles.push(message), ...options.queue }
  const isTold = Object.keys(process.env).some((name) => /ENDPOINT/.test(name) && process.env[name])
  tracing = startTracing({ flushOnExit: false, ...(!isTold && { endpoint: stub.url }), ...options, queue })
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  return { tracing, dispatcher }
}

/** One run, one span, and whatever is done to it. */
async function sendOne(options: StartTracingOptions = {}, more: (span: Span) => void = () => {}) {
  const { tracing, dispatcher } = start(options)
  await dispatcher.startOperation({ agentName: 'a' }).complete()
  const span = trace.getTracer('mine').startSpan('mine', { attributes: { text: 'abcdefgh' } })
  more(span)
  span.end()
  await tracing.forceFlush()
  return tracing
}

const received = () => stub.bodies.map((body) => otlpBody(body) as RequestJson)
const spans = () =>
  received().flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  )
const mine = () => spans().find(({ name }) => name === 'mine')
const textOf = (attributes: SpanJson['attributes'] | undefined, wanted: string) =>
  attributes?.find(({ key }) => key === wanted)?.value.stringValue

const serviceName = () => textOf(received()[0]?.resourceSpans[0]?.resource.attributes, 'service.name')

/** A test of one variable, which docs/environment.md has a row of. */
function variable(name: string, behaviour: string, test: (name: string) => Promise<void>) {
  tested.add(name)
  it(`${name} ${behaviour}`, () => test(name))
}

/** The same for the variable of all signals, for that of traces, and that the latter wins. */
function otlpVariable(
  name: string,
  behaviour: string,
  test: (set: (value: string) => void) => Promise<void>,
  other?: string,
) {
  const all = `OTEL_EXPORTER_OTLP_${name}`
  const traces = `OTEL_EXPORTER_OTLP_TRACES_${name}`
  tested.add(all)
  it(`${all} ${behaviour}`, () => test((value) => vi.stubEnv(all, value)))
  it(`${traces} ${behaviour}, and wins over ${all}`, () =>
    test((value) => {
      if (other !== undefined) vi.stubEnv(all, other)
      vi.stubEnv(traces, value)
    }))
}

describe('the environment variable', () => {
  variable('OTEL_SDK_DISABLED', 'makes no span, no request and no file', async (name) => {
    vi.stubEnv(name, 'TRUE')
    const spoolDir = join(tmpdir(), `hookspan-disabled-${process.pid}`)
    const tracing = await sendOne({ spoolDir })
    expect([tracing.stats(), stub.requests, existsSync(spoolDir), troubles]).toEqual([
      { queued: 0, exported: 0, dropped: 0 },
      [],
      false,
      [],
    ])
  })

  variable('OTEL_SDK_DISABLED', 'leaves nothing that others are told to go on from', async (name) => {
    vi.stubEnv(name, 'true')
    tracing = startTracing({ flushOnExit: false })
    const dispatcher = new HookDispatcher()
    dispatcher.use(tracing)
    const op = dispatcher.startOperation({ agentName: 'shop' })
    // What an MCP server, a gate over HTTP and a program are told, and what a parked run keeps.
    const told: unknown[] = [op.traceparent]
    await op.toolCall({ apiName: 'find', args: {} }, (_args, call) => told.push(call.traceparent))
    await op.complete()
    expect(told).toEqual([undefined, undefined])
  })

  variable('OTEL_SERVICE_NAME', 'names the service', async (name) => {
    vi.stubEnv(name, 'bot')
    await sendOne()
    expect(serviceName()).toBe('bot')
  })

  variable('OTEL_TRACES_EXPORTER', 'of `none` sends nothing, and needs no collector', async (name) => {
    vi.stubEnv(name, 'none')
    const tracing = await sendOne()
    expect([tracing.stats(), stub.requests]).toEqual([{ queued: 0, exported: 0, dropped: 0 }, []])
  })

  variable('OTEL_TRACES_EXPORTER', 'of `console` prints spans, and sends none', async (name) => {
    const printed = vi.spyOn(console, 'dir').mockImplementation(() => {})
    vi.stubEnv(name, 'console')
    await sendOne()
    expect(printed.mock.calls.map(([span]) => (span as { name: string }).name)).toEqual([
      'invoke_agent a',
      'mine',
    ])
    expect(stub.requests).toEqual([])
  })

  variable('OTEL_TRACES_EXPORTER', 'of `console,otlp` does both', async (name) => {
    const printed = vi.spyOn(console, 'dir').mockImplementation(() => {})
    vi.stubEnv(name, 'console, otlp')
    await sendOne()
    expect([printed.mock.calls.length, spans().length]).toEqual([2, 2])
  })

  variable('OTEL_TRACES_EXPORTER', 'of something else is told of, and spans are sent', async (name) => {
    vi.stubEnv(name, 'zipkin')
    await sendOne()
    expect(troubles).toEqual([
      expect.stringMatching(/OTEL_TRACES_EXPORTER names `"zipkin"`.*otlp, console and none/),
    ])
    expect(spans()).toHaveLength(2)
  })

  otlpVariable(
    'ENDPOINT',
    'says where spans go',
    async (set) => {
      set(`${stub.url}${process.env.OTEL_EXPORTER_OTLP_ENDPOINT ? '/v1/traces' : ''}`)
      const tracing = await sendOne()
      expect(tracing.tracesUrl).toMatch(/\/v1\/traces$|:\d+$/)
      expect(spans()).toHaveLength(2)
    },
    'http://127.0.0.1:9',
  )

  otlpVariable(
    'PROTOCOL',
    'chooses how spans are written',
    async (set) => {
      set('http/json')
      await sendOne()
      expect(stub.requests[0]?.headers['content-type']).toBe('application/json')
    },
    'http/protobuf',
  )

  it('OTEL_EXPORTER_OTLP_PROTOCOL of `grpc` is told of, and protobuf is sent', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc')
    await sendOne()
    expect(troubles).toEqual([
      expect.stringMatching(/OTEL_EXPORTER_OTLP_PROTOCOL is `"grpc"`.*sent as http\/protobuf/),
    ])
    expect(spans()).toHaveLength(2)
  })

  otlpVariable(
    'HEADERS',
    'sends headers, decoded',
    async (set) => {
      set('authorization=Bearer%20secret, x-team=a')
      await sendOne({ headers: { 'x-team': 'option' } })
      expect(stub.requests[0]?.headers).toMatchObject({ authorization: 'Bearer secret', 'x-team': 'option' })
    },
    'authorization=other',
  )

  otlpVariable(
    'COMPRESSION',
    'compresses',
    async (set) => {
      set('gzip')
      await sendOne()
      expect(stub.requests[0]?.headers['content-encoding']).toBe('gzip')
    },
    'none',
  )

  it('OTEL_EXPORTER_OTLP_COMPRESSION of something else is told of, and nothing is compressed', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd')
    await sendOne()
    expect(troubles).toEqual([expect.stringMatching(/COMPRESSION is `"zstd"`.*gzip and none/)])
    expect(spans()).toHaveLength(2)
  })

  it('a header that HTTP does not take is left out and told of without its value, and spans are sent', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'é=secret-1,x-key=secret%0A2,x-tenant=a')
    await sendOne()
    expect(troubles).toEqual([
      expect.stringMatching(
        /^A header of OTEL_EXPORTER_OTLP_HEADERS is left out: `"é"` \(string\) is no name of a header\.$/,
      ),
      expect.stringMatching(/left out: the value of `"x-key"` .*has characters/),
    ])
    expect(troubles.join()).not.toContain('secret')
    expect(spans()).toHaveLength(2)
    expect(stub.requests.at(-1)?.headers).toMatchObject({ 'x-tenant': 'a' })
  })

  it.each([
    ['Authorization: Bearer secret==', /left out: `"Authorization…"` \(string\) is no name of a header/],
    ['Authorization: Bearer secret', /left out: it is not written as name=value/],
    ['authorization=Bearer a,secret', /left out: it is not written as name=value/],
  ])('headers written as %j are told of without what may be the value', async (headers, told) => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', headers)
    await sendOne()
    expect(troubles).toEqual([expect.stringMatching(told)])
    expect(troubles.join()).not.toContain('secret')
  })

  it.each<Record<string, string>>([{ 'x key': 'a' }, { 'x-key': 'a\nb' }])(
    'the option `headers` of %o is refused',
    (headers) => {
      expect(() => startTracing({ endpoint: stub.url, headers })).toThrow(/Cannot send a header of `headers`/)
    },
  )

  otlpVariable(
    'TIMEOUT',
    'bounds a request',
    async (set) => {
      set('250')
      stub.answerWith(undefined)
      const tracing = await sendOne()
      expect(tracing.stats().lastError).toBe('no answer within 250 ms')
    },
    '60000',
  )

  it('OTEL_EXPORTER_OTLP_TIMEOUT that is no number is told of', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', 'soon')
    await sendOne()
    expect(troubles).toEqual([expect.stringMatching(/TIMEOUT is `"soon"`.*no number of milliseconds/)])
  })

  describe('of a file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'hookspan-env-'))
    afterAll(() => rmSync(folder, { recursive: true }))
    const fileOf = (name: string, content: string) => {
      const path = join(folder, name)
      writeFileSync(path, content)
      return path
    }
    const ca = fileOf('ca', CA)
    const cert = fileOf('cert', CLIENT.cert)
    const key = fileOf('key', CLIENT.key)
    const mutual = { ...SERVER, ca: CA, requestCert: true, rejectUnauthorized: true }
    const send = async () => {
      await using tls = await startOtlpStub({ status: 200 }, mutual)
      const tracing = await sendOne({ endpoint: tls.url })
      expect(tracing.stats()).toEqual({ queued: 0, exported: 2, dropped: 0 })
    }

    otlpVariable('CERTIFICATE', 'says whom to trust', async (set) => {
      set(ca)
      vi.stubEnv('OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE', cert)
      vi.stubEnv('OTEL_EXPORTER_OTLP_CLIENT_KEY', key)
      await send()
    })

    otlpVariable('CLIENT_CERTIFICATE', 'shows who we are', async (set) => {
      set(cert)
      vi.stubEnv('OTEL_EXPORTER_OTLP_CERTIFICATE', ca)
      vi.stubEnv('OTEL_EXPORTER_OTLP_CLIENT_KEY', key)
      await send()
    })

    otlpVariable('CLIENT_KEY', 'proves it', async (set) => {
      set(key)
      vi.stubEnv('OTEL_EXPORTER_OTLP_CERTIFICATE', ca)
      vi.stubEnv('OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE', cert)
      await send()
    })
  })

  variable('OTEL_BSP_SCHEDULE_DELAY', 'says when spans are sent', async (name) => {
    vi.stubEnv(name, '30')
    const { dispatcher } = start({ queue: { delayMs: undefined } as never })
    const timers = vi.spyOn(globalThis, 'setTimeout')
    await dispatcher.startOperation({ agentName: 'a' }).complete()
    expect(timers.mock.calls.map(([, delayMs]) => delayMs)).toContain(30)
    await expect.poll(() => stub.requests.length).toBe(1)
  })

  variable('OTEL_BSP_SCHEDULE_DELAY', 'may be longer than any timer', async (name) => {
    vi.stubEnv(name, '1e99')
    const { tracing, dispatcher } = start({ queue: { delayMs: undefined } as never })
    const timers = vi.spyOn(globalThis, 'setTimeout')
    await dispatcher.startOperation({ agentName: 'a' }).complete()
    const delays = timers.mock.calls.map(([, delayMs]) => delayMs ?? 0)
    expect(delays).not.toEqual([])
    expect(Math.max(...delays)).toBeLessThan(2 ** 31)
    await tracing.forceFlush()
    expect(stub.requests).toHaveLength(1)
  })

  variable('OTEL_BSP_MAX_QUEUE_SIZE', 'bounds the queue', async (name) => {
    vi.stubEnv(name, '4')
    const { tracing, dispatcher } = start({ queue: { delayMs: 60_000 } })
    for (let i = 0; i < 10; i++) await dispatcher.startOperation({ agentName: 'a' }).complete()
    expect(tracing.stats()).toMatchObject({ queued: 4, dropped: 6 })
  })

  variable('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 'bounds a request', async (name) => {
    vi.stubEnv(name, '3')
    const { tracing, dispatcher } = start({ queue: { delayMs: 60_000 } })
    for (let i = 0; i < 10; i++) await dispatcher.startOperation({ agentName: 'a' }).complete()
    await tracing.forceFlush()
    expect(spans()).toHaveLength(10)
    expect(stub.requests).toHaveLength(4)
  })

  it.each(['OTEL_BSP_SCHEDULE_DELAY', 'OTEL_BSP_MAX_QUEUE_SIZE', 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE'])(
    '%s that is no amount is told of',
    async (name) => {
      vi.stubEnv(name, '-5')
      await sendOne()
      expect(troubles).toEqual([
        expect.stringMatching(new RegExp(`${name} is .*"-5".* no number >= [01], and is not held`)),
      ])
    },
  )

  variable('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', 'captures content', async (name) => {
    vi.stubEnv(name, 'true')
    const { tracing, dispatcher } = start()
    const op = dispatcher.startOperation({ agentName: 'a' })
    await op.toolCall({ apiName: 't', args: { city: 'Bergen' } }, () => 'fine')
    await op.complete()
    await tracing.forceFlush()
    const tool = spans().find(({ name }) => name === 'execute_tool t')
    expect(textOf(tool?.attributes, 'gen_ai.tool.call.arguments')).toBe('{"city":"Bergen"}')
  })

  variable('OTEL_TRACES_SAMPLER', 'says which runs become traces', async (name) => {
    vi.stubEnv(name, 'always_off')
    const tracing = await sendOne()
    expect(tracing.stats()).toEqual({ queued: 0, exported: 0, dropped: 0 })
  })

  variable('OTEL_TRACES_SAMPLER_ARG', 'is the ratio of the sampler', async (name) => {
    vi.stubEnv('OTEL_TRACES_SAMPLER', 'traceidratio')
    vi.stubEnv(name, '0.5')
    const { tracing, dispatcher } = start()
    for (let i = 0; i < 200; i++) await dispatcher.startOperation({ agentName: 'a' }).complete()
    await tracing.forceFlush()
    expect(spans().length).toBeGreaterThan(50)
    expect(spans().length).toBeLessThan(150)
  })

  variable('OTEL_RESOURCE_ATTRIBUTES', 'is put on the resource', async (name) => {
    vi.stubEnv(name, 'deployment.environment.name=test,team=a%20b')
    await sendOne({ resourceAttributes: { own: 'x' } })
    const { attributes } = received()[0]?.resourceSpans[0]?.resource ?? { attributes: [] }
    expect([textOf(attributes, 'team'), textOf(attributes, 'own')]).toEqual(['a b', 'x'])
  })

  variable('OTEL_RESOURCE_ATTRIBUTES', 'names the service where nothing else does', async (name) => {
    vi.stubEnv(name, 'service.name=bot')
    await sendOne()
    expect(serviceName()).toBe('bot')
  })

  variable('OTEL_PROPAGATORS', 'says how a trace is told on', async (name) => {
    vi.stubEnv(name, 'b3')
    const carrier: Record<string, string> = {}
    await sendOne({}, (span) => propagation.inject(trace.setSpan(context.active(), span), carrier))
    expect(Object.keys(carrier)).toEqual(['b3'])
  })

  variable('OTEL_LOG_LEVEL', 'says how much OpenTelemetry tells', async (name) => {
    // Its logger holds on to the console as it was at its import.
    const script = fileURLToPath(new URL('processes/run-and-wait.ts', import.meta.url))
    const run = (level: string) =>
      spawnSync(process.execPath, [script, stub.url, '-', 'exit'], {
        env: { ...process.env, [name]: level },
        encoding: 'utf8',
        timeout: 60_000,
      })
    expect(run('debug').stdout).toContain('Registered a global')
    expect(run('error').stdout).not.toContain('Registered a global')
  })

  const limited = async (name: string, value: string) => {
    vi.stubEnv(name, value)
    await sendOne({}, (span) => {
      for (let i = 0; i < 5; i++)
        span.addEvent(`e${i}`).setAttribute(`more${i}`, 'x').addLink({ context: span.spanContext() })
    })
  }
  for (const name of ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT', 'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT']) {
    variable(name, 'cuts text', async () => {
      await limited(name, '5')
      expect(textOf(mine()?.attributes, 'text')).toBe('abcde')
      const run = spans().find(({ name }) => name === 'invoke_agent a')
      expect(textOf(run?.attributes, 'gen_ai.operation.name')).toBe('invok')
    })
  }
  for (const name of ['OTEL_ATTRIBUTE_COUNT_LIMIT', 'OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT']) {
    variable(name, 'drops attributes', async () => {
      await limited(name, '2')
      for (const { attributes } of spans()) expect(attributes).toHaveLength(2)
    })
  }
  variable('OTEL_SPAN_EVENT_COUNT_LIMIT', 'drops events', async (name) => {
    await limited(name, '2')
    expect(mine()?.events).toHaveLength(2)
  })
  variable('OTEL_SPAN_LINK_COUNT_LIMIT', 'drops links', async (name) => {
    await limited(name, '2')
    expect(mine()?.links).toHaveLength(2)
  })

  it.each([
    ['OTEL_SDK_DISABLED', 'yes', 'true or false'],
    ['OTEL_TRACES_SAMPLER', 'bogus', 'always_on, always_off, traceidratio'],
    ['OTEL_TRACES_SAMPLER', 'ALWAYS_OFF', 'always_on, always_off, traceidratio'],
    ['OTEL_TRACES_SAMPLER_ARG', '7', 'a ratio from 0 to 1'],
    ['OTEL_TRACES_SAMPLER_ARG', '0,5', 'a ratio from 0 to 1'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'service.name=bot,team', 'name=value pairs'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'team=a=b', 'name=value pairs'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'team=50%', 'name=value pairs'],
    ['OTEL_PROPAGATORS', 'b4', 'tracecontext, baggage, b3'],
    ['OTEL_LOG_LEVEL', 'loud', 'none, error, warn'],
    ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', '1', 'true, false, span_only'],
    ...[
      'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT',
      'OTEL_ATTRIBUTE_COUNT_LIMIT',
      'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
      'OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT',
      'OTEL_SPAN_EVENT_COUNT_LIMIT',
      'OTEL_SPAN_LINK_COUNT_LIMIT',
    ].flatMap((name) => [
      [name, 'x', 'a number >= 0'],
      [name, '-1', 'a number >= 0'],
    ]),
  ])('%s=%s is told of once, and the default holds', async (name, value, wanted) => {
    vi.stubEnv(name, value)
    if (name.endsWith('_ARG')) vi.stubEnv('OTEL_TRACES_SAMPLER', 'traceidratio')
    await sendOne({}, (span) => span.addEvent('e').addLink({ context: span.spanContext() }))
    expect(troubles).toEqual([
      expect.stringContaining(`${name} is \`"${value}"\` (string), which is not held`),
    ])
    expect(troubles[0]).toContain(wanted)
    expect([serviceName(), spans().length]).toEqual(['hookspan', 2])
    expect([textOf(mine()?.attributes, 'text'), mine()?.events?.length, mine()?.links?.length]).toEqual([
      'abcdefgh',
      1,
      1,
    ])
  })

  it.each(['', ' \t'])('that is %j is none, whichever it is', async (value) => {
    for (const name of tested) vi.stubEnv(name, value)
    const { tracesUrl } = start({ endpoint: undefined as never }).tracing
    expect(tracesUrl).toBe('http://localhost:4318/v1/traces')
    await tracing?.shutdown({ timeoutMs: 1_000 })
    await sendOne({ endpoint: stub.url })
    expect([serviceName(), spans().length, troubles]).toEqual(['hookspan', 2, []])
  })

  it('has a row in docs/environment.md, and each row there a test here', () => {
    const page = readFileSync(new URL('../../docs/environment.md', import.meta.url), 'utf8')
    const [held = '', own = ''] = page.split('## For stores')
    const rows = [...held.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name)
    expect(rows.sort()).toEqual([...tested].sort())
    const known = OTEL_VARIABLES.filter((name) => !name.startsWith('OTEL_EXPORTER_OTLP_TRACES_'))
    expect(known.toSorted()).toEqual(rows)
    expect(new Set(own.match(/HOOKSPAN_\w+/g))).toEqual(new Set(OWN_VARIABLES))
  })

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPONT', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
    ['OTEL_EXPORTER_OTLP_TRACE_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'],
    ['HOOKSPAN_CHECKPOINT_DB', 'HOOKSPAN_CHECKPOINTS_DB'],
  ])('%s is told of', async (wrong, meant) => {
    vi.stubEnv(wrong, 'x')
    await sendOne({ endpoint: stub.url })
    expect(troubles).toEqual([`${wrong} is read by nobody here. Is ${meant} meant?`])
    vi.stubEnv(meant, meant.includes('HEADERS') ? 'a=b' : stub.url)
    expect(misspelt([...OTEL_VARIABLES, ...OWN_VARIABLES])).toEqual([])
  })

  it('of somebody else is not', () => {
    const names = [
      'OTEL_BLRP_SCHEDULE_DELAY',
      'OTEL_EXPORTER_OTLP_LOGS_HEADERS',
      'OTEL_METRICS_EXPORTER',
      'HOOKSPAN_DATA',
    ]
    const env = Object.fromEntries(names.map((name) => [name, 'x']))
    expect(misspelt([...OTEL_VARIABLES, ...OWN_VARIABLES], env)).toEqual([])
  })
})
