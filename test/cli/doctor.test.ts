import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttp2Server } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { isWithin } from '../../src/internal/version-range.ts'
import { callCli } from '../support/call-cli.ts'
import { refusingUrl, startOtlpStub } from '../support/otlp-stub.ts'
import { runCli } from '../support/run-cli.ts'
import { SELF_SIGNED } from '../support/self-signed.ts'

interface Finding {
  check: string
  state: 'ok' | 'note' | 'wrong'
  says: string
  mend?: string
}

async function doctor(env: Record<string, string>, ...args: string[]) {
  const { code, stdout, stderr } = await callCli(['doctor', '--json', '--timeout', '1000', ...args], { env })
  expect(stderr).toBe('')
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] }
  expect(code).toBe(ok ? 0 : 1)
  return { ok, findings, find: (check: string) => findings.find((finding) => finding.check === check) }
}

/** A server that is no HTTP/1.1 one. */
async function listening(server: Server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A folder with packages that are installed there. */
function projectWith(packages: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-doctor-'))
  for (const [name, version] of Object.entries(packages)) {
    const home = join(folder, 'node_modules', name)
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'package.json'), JSON.stringify({ name, version }))
  }
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}

describe('hookspan doctor', { timeout: 120_000 }, () => {
  it('sends one span that a receiver takes, and says what is configured', async () => {
    await using stub = await startOtlpStub({ status: 200 })
    const { ok, find } = await doctor({
      OTEL_EXPORTER_OTLP_ENDPOINT: stub.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer secret,x-team=a',
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
      JAEGER_UI_URL: 'http://jaeger.test',
    })
    expect(ok).toBe(true)
    expect(find('delivery')).toMatchObject({
      state: 'ok',
      says: expect.stringMatching(/taken: http:\/\/jaeger\.test\/trace\/[0-9a-f]{32}$/),
    })
    expect(find('endpoint')?.says).toBe(`${stub.url}/v1/traces (from OTEL_EXPORTER_OTLP_ENDPOINT)`)
    expect(find('headers')?.says).toBe('headers from the environment: authorization, x-team')
    expect(find('content')?.says).toMatch(/are captured/)
    expect(find('tracing-packages')?.says).toMatch(/sdk-node 0\.\d+\.\d+, .*api 1\.\d+/)
    const sent = stub.bodies.map(String).filter((body) => body.includes('invoke_agent doctor'))
    expect(sent).toHaveLength(1)
  })

  it.each(['Authorization: Bearer secret', 'Authorization: Bearer secret==', 'authorization=a,secret'])(
    'shows no key of an endpoint, nor of headers written as %j',
    async (headers) => {
      await using stub = await startOtlpStub({ status: 200 })
      const { findings, find } = await doctor({
        OTEL_EXPORTER_OTLP_ENDPOINT: `${stub.url.replace('//', '//user:secret@')}?key=secret`,
        OTEL_EXPORTER_OTLP_HEADERS: headers,
      })
      expect(find('endpoint')?.says).toBe(`${stub.url}/v1/traces?… (from OTEL_EXPORTER_OTLP_ENDPOINT)`)
      expect(findings).toContainEqual(
        expect.objectContaining({
          check: 'headers',
          state: 'wrong',
          says: expect.stringContaining('left out'),
        }),
      )
      expect(JSON.stringify(findings)).not.toContain('secret')
    },
  )

  it.each([
    [400, /400 Bad Request: broken/, /did not understand OTLP\/JSON/],
    [401, /401 Unauthorized/, /Check the credentials: set OTEL_EXPORTER_OTLP_HEADERS/],
    [403, /403 Forbidden/, /Check the credentials/],
    [404, /404 Not Found/, /no OTLP receiver at \/v1\/traces/],
    [413, /413 Payload Too Large/, /Raise the request limit .* or lower `maxContentBytes`/],
    [429, /429/, /takes no more for now/],
    [302, /302 Found/, /exporters do not follow/],
    [503, /503/, /up but cannot take spans/],
  ])('names the mend for an endpoint that answers %i', async (status, says, mend) => {
    await using stub = await startOtlpStub({ status, body: 'broken' })
    const { ok, find } = await doctor({}, '--endpoint', stub.url)
    expect(ok).toBe(false)
    expect(find('delivery')).toEqual({
      check: 'delivery',
      state: 'wrong',
      says: expect.stringMatching(says),
      mend: expect.stringMatching(mend),
    })
  })

  it('says of each SDK of the project what attaches to it, and which version was not tested', async () => {
    using project = projectWith({ ai: '6.4.1', openai: '7.2.0', '@modelcontextprotocol/sdk': '1.30.0' })
    const { stdout } = await runCli(['doctor', '--json', '--timeout', '500'], { cwd: project.folder })
    const { findings } = JSON.parse(stdout) as { findings: Finding[] }
    expect(findings.filter(({ check }) => check.startsWith('adapter:'))).toEqual([
      { check: 'adapter:openai', state: 'ok', says: 'openai 7.2.0: hookspan/openai' },
      {
        check: 'adapter:ai',
        state: 'note',
        says: expect.stringMatching(
          /^ai 6\.4\.1: hookspan\/ai-sdk, all but compaction, which is refused there\. It was tested with >=7\.\S+ <8$/,
        ),
        mend: expect.stringMatching(/^Run: npm install ai@">=7\.\S+ <8"$/),
      },
      {
        check: 'adapter:@modelcontextprotocol/sdk',
        state: 'ok',
        says: expect.stringContaining('hookspan/mcp, all but park, '),
      },
    ])
  })

  it('names an SDK that is attached or wanted, and not installed; one package of several is enough', async () => {
    using project = projectWith({ '@modelcontextprotocol/sdk': '1.30.0' })
    const wanted = { langchain: '*', '@modelcontextprotocol/client': '*' }
    writeFileSync(join(project.folder, 'package.json'), JSON.stringify({ dependencies: wanted }))
    writeFileSync(join(project.folder, 'agent.ts'), "import { observeAnthropic } from 'hookspan/anthropic'\n")
    const { stdout } = await runCli(['doctor', '--json', '--timeout', '500'], { cwd: project.folder })
    const { findings } = JSON.parse(stdout) as { findings: Finding[] }
    expect(
      findings.filter(({ mend }) => /^Run: npm install (langchain|@anthropic|@model)/.test(mend ?? '')),
    ).toEqual([
      {
        check: 'adapter:langchain',
        state: 'note',
        says: 'langchain is not installed: hookspan/langchain, package.json names it',
        mend: 'Run: npm install langchain',
      },
      {
        check: 'adapter:@anthropic-ai/sdk',
        state: 'note',
        says: '@anthropic-ai/sdk is not installed: hookspan/anthropic, attached in agent.ts',
        mend: 'Run: npm install @anthropic-ai/sdk',
      },
    ])
  })

  it('says of each durable engine of the project what runs agents on it, and which version was not tested', async () => {
    using project = projectWith({ '@dbos-inc/dbos-sdk': '4.9.0', '@temporalio/activity': '1.24.0' })
    const { stdout } = await runCli(['doctor', '--json', '--timeout', '500'], { cwd: project.folder })
    const { findings } = JSON.parse(stdout) as { findings: Finding[] }
    expect(findings.filter(({ check }) => check.startsWith('engine:'))).toEqual([
      {
        check: 'engine:@dbos-inc/dbos-sdk',
        state: 'note',
        says: '@dbos-inc/dbos-sdk 4.9.0: hookspan/dbos runs agents on it. It was tested with >=5.3 <6',
        mend: 'Run: npm install @dbos-inc/dbos-sdk@">=5.3 <6"',
      },
      {
        check: 'engine:@temporalio/activity',
        state: 'ok',
        says: '@temporalio/activity 1.24.0: hookspan/temporal runs agents on it',
      },
    ])
  })

  it('reads the range of each peer', () => {
    for (const range of Object.values({ ...manifest.peerDependencies, ...manifest.testedWith })) {
      expect(range).toMatch(/^>=\d+(\.\d+){0,2} <\d+(\.\d+){0,2}$/)
      const [from = '', below = ''] = range.split(' ')
      expect([isWithin(from.slice(2), range), isWithin(below.slice(1), range)]).toEqual([true, false])
    }
  })

  it('names the mend where nobody listens', async () => {
    const { find } = await doctor({ OTEL_EXPORTER_OTLP_ENDPOINT: await refusingUrl() })
    expect(find('delivery')).toMatchObject({
      says: expect.stringContaining('ECONNREFUSED'),
      mend: expect.stringMatching(
        /Nothing listens at 127\.0\.0\.1:\d+\. Start `npx hookspan view`, or Jaeger with `npx hookspan jaeger`/,
      ),
    })
  })

  it('names the mend for an endpoint that never answers', async () => {
    await using stub = await startOtlpStub(undefined)
    const { find } = await doctor({}, '--endpoint', stub.url)
    expect(find('delivery')?.mend).toMatch(/No answer from 127\.0\.0\.1:\d+ within 1000 ms/)
  })

  it('names the mend for a span that was rejected, and for a page that is no receiver', async () => {
    await using rejecting = await startOtlpStub({
      status: 200,
      body: '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}',
    })
    const rejected = (await doctor({}, '--endpoint', rejecting.url)).find('delivery')
    expect(rejected).toMatchObject({
      state: 'wrong',
      says: expect.stringMatching(/rejected the span: .*too old/),
    })

    await using page = await startOtlpStub({ status: 200, body: '<html>hello</html>' })
    expect((await doctor({}, '--endpoint', page.url)).find('delivery')?.mend).toMatch(
      /a web page or a proxy seems to be there/,
    )
  })

  it('names the mend for a gRPC port', async () => {
    await using grpc = await listening(createHttp2Server())
    const { find } = await doctor(
      { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      '--endpoint',
      `http://127.0.0.1:${grpc.port}`,
    )
    expect(find('delivery')?.mend).toMatch(/may be the gRPC port\. Use the OTLP\/HTTP port, usually 4318/)
    expect(find('protocol')).toMatchObject({ state: 'note', says: expect.stringContaining('"grpc"') })
    expect((await doctor({}, '--endpoint', 'http://127.0.0.1:4317')).find('grpc-port')?.mend).toBe(
      'Use port 4318: http://127.0.0.1:4318',
    )
  })

  it('names the mend for TLS that is not trusted, not spoken, or not expected', async () => {
    await using tls = await listening(
      createHttpsServer(SELF_SIGNED, (_request, response) => void response.end('{}')),
    )
    expect((await doctor({}, '--endpoint', `https://127.0.0.1:${tls.port}`)).find('delivery')?.mend).toMatch(
      /NODE_EXTRA_CA_CERTS/,
    )
    expect((await doctor({}, '--endpoint', `http://127.0.0.1:${tls.port}`)).find('delivery')?.mend).toMatch(
      /try https/,
    )
    await using plain = await startOtlpStub({ status: 200 })
    expect(
      (await doctor({}, '--endpoint', plain.url.replace('http:', 'https:'))).find('delivery')?.mend,
    ).toMatch(/does not speak TLS: use http:\/\//)
  })

  it('names the mend for a connection that is closed and a host that is not there', async () => {
    await using closing = await listening(
      createTcpServer((socket) => void socket.on('data', () => socket.destroy()).on('error', () => {})),
    )
    expect(
      (await doctor({}, '--endpoint', `http://127.0.0.1:${closing.port}`)).find('delivery')?.mend,
    ).toMatch(/closes the connection/)
    expect((await doctor({}, '--endpoint', 'http://no-such-host.invalid')).find('delivery')?.mend).toMatch(
      /No such host: "no-such-host\.invalid"/,
    )
  })

  it.each([
    ['--endpoint', {}, ['--endpoint', 'localhost:4318']],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'not a url' }, []],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'grpc://x' }, []],
  ])('says which setting holds what is no URL: %s', async (source, env, args) => {
    const { ok, find } = await doctor(env as Record<string, string>, ...args)
    expect(ok).toBe(false)
    expect(find('endpoint')).toMatchObject({
      state: 'wrong',
      mend: `Give a URL with its scheme in ${source}, such as http://localhost:4318.`,
    })
    expect(find('delivery')).toBeUndefined()
  })

  it('tells of a disabled SDK and a sampler that drops runs', async () => {
    await using stub = await startOtlpStub({ status: 200 })
    const { ok, find } = await doctor({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${stub.url}/custom`,
      OTEL_SDK_DISABLED: 'true',
      OTEL_TRACES_SAMPLER: 'traceidratio',
    })
    expect(ok).toBe(false)
    expect(find('sdk-disabled')).toMatchObject({ state: 'wrong', mend: 'Unset OTEL_SDK_DISABLED.' })
    expect(find('sampler')?.state).toBe('note')
    expect(find('traces-path')?.mend).toMatch(/Add \/v1\/traces to it/)
    expect(find('delivery')?.state).toBe('ok')
  })

  it('tells of what the SDK would not hold, and say nothing of', async () => {
    await using stub = await startOtlpStub({ status: 200 })
    const { ok, find } = await doctor({
      OTEL_EXPORTER_OTLP_ENDPOINT: stub.url,
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=bot,team',
    })
    expect(ok).toBe(false)
    expect(find('variable')).toMatchObject({
      state: 'wrong',
      says: expect.stringMatching(/^OTEL_RESOURCE_ATTRIBUTES is .*not held: expected name=value pairs/),
      mend: 'Mend it, or unset it.',
    })
  })

  it('reads as a list for people, and refuses wrong usage', async () => {
    const url = await refusingUrl()
    const { code, stdout } = await runCli(['doctor', '--timeout', '500'], {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: url },
    })
    expect(stdout).toMatch(/^✓ hookspan .* on Node /m)
    expect(stdout).toMatch(/^✗ connect ECONNREFUSED .*\n {2}→ Nothing listens/m)
    expect(stdout).toMatch(/1 thing is wrong\.\n$/)
    expect(stdout.split('\n').every((line) => line.length <= 100)).toBe(true)
    expect(code).toBe(1)

    const wrong = await runCli(['doctor', '--timeout', 'soon'])
    expect(wrong.stderr).toMatch(/'soon' is invalid.*Expected milliseconds/)
    expect(wrong.code).toBe(2)
  })

  it('names the install line for packages that are missing', async () => {
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const folder = mkdtempSync(join(tmpdir(), 'hookspan-doctor-'))
    try {
      cpSync(join(root, 'src'), join(folder, 'src'), { recursive: true })
      cpSync(join(root, 'package.json'), join(folder, 'package.json'))
      mkdirSync(join(folder, 'node_modules/@opentelemetry'), { recursive: true })
      const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
      for (const name of [...Object.keys(dependencies), '@opentelemetry/api']) {
        symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
      }
      const command = join(folder, 'src/cli/bin.ts')
      const bare = await runCli(['doctor'], { command })
      expect(bare.stdout).toMatch(/→ Run: npm install @opentelemetry\/sdk-node$/m)
      expect(bare.stdout).toMatch(
        /! openai is not installed; needed for execAgent.*\n {2}→ Run: npm install openai/s,
      )
      expect(bare.code).toBe(1)
      const demo = await runCli(['demo'], { command })
      expect(demo.stderr).toBe(
        'hookspan: hookspan demo needs packages that are not installed. Run: npm install openai ' +
          '@opentelemetry/sdk-node\n',
      )
      expect(demo.code).toBe(2)
      // Yarn installs no peers.
      const api = join(folder, 'node_modules/@opentelemetry/api')
      const withoutApi = mkdtempSync(join(tmpdir(), 'hookspan-doctor-yarn-'))
      writeFileSync(join(withoutApi, 'yarn.lock'), '')
      rmSync(api)
      const yarn = await runCli(['doctor'], { command, cwd: withoutApi })
      rmSync(withoutApi, { recursive: true })
      expect(yarn).toEqual({
        code: 2,
        stdout: '',
        stderr:
          'hookspan: hookspan needs @opentelemetry/api, which is not installed. Run: yarn add @opentelemetry/api\n',
      })
      symlinkSync(join(root, 'node_modules/@opentelemetry/api'), api)
      // The smaller SDK will do.
      symlinkSync(
        join(root, 'node_modules/@opentelemetry/sdk-trace'),
        join(folder, 'node_modules/@opentelemetry/sdk-trace'),
      )
      const small = await runCli(['doctor'], { command })
      expect(small.stdout).toMatch(/@opentelemetry\/sdk-trace 3\.\d+\.\d+, @opentelemetry\/api 1/)
      expect((await runCli(['demo'], { command })).stderr).toMatch(/ Run: npm install openai\n$/)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
