import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HOOK_TYPES } from 'hookspan'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startScriptedServer } from '../../src/mock/scripted-server/index.ts'
import { isJaeger } from '../../src/tracing/links/collector.ts'
import { refusingUrl, startOtlpStub } from '../support/otlp-stub.ts'
import { type CliRun, runCli } from '../support/run-cli.ts'

const jaegerRuns = await isJaeger('http://127.0.0.1:16686')

describe('hookspan demo', { timeout: 120_000 }, () => {
  let cwd: string
  let nobody: string
  let run: CliRun
  beforeAll(async () => {
    cwd = mkdtempSync(join(tmpdir(), 'hookspan-demo-'))
    nobody = await refusingUrl()
    run = await runCli(['demo', '--fast'], {
      cwd,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: nobody, COLUMNS: '100' },
    })
  })
  afterAll(() => rmSync(cwd, { recursive: true, force: true }))

  it('tells its story to the end on 100 columns, without a key and without a network', () => {
    expect(run.stderr).toBe('')
    expect(run.code).toBe(0)
    expect(run.stdout).toContain('scripted model: no key, no network')
    expect(run.stdout).toMatch(/Agent: Good news, Mara/)
    // A script that was not followed would show up as an answer of the server.
    expect(run.stdout).not.toContain('Unexpected request')
    expect(run.stdout.split('\n').filter((line) => line.length > 101)).toEqual([])
  })

  it('shows all sixteen hooks at work', () => {
    expect(run.stdout).toContain('16 of 16 hook types fired')
    for (const type of HOOK_TYPES) expect(run.stdout).toMatch(new RegExp(`^ +[\\d.]+ s  ${type} `, 'm'))
  })

  it('draws the run as a tree and writes the same spans as OTLP/JSON', () => {
    const [name] = readdirSync(join(cwd, '.hookspan'))
    expect(name).toMatch(/^demo-\w+\.otlp\.json$/)
    const { resourceSpans } = JSON.parse(readFileSync(join(cwd, '.hookspan', name!), 'utf8'))
    const spans: { name: string; traceId: string }[] = resourceSpans.flatMap(
      (part: { scopeSpans: { spans: never[] }[] }) => part.scopeSpans.flatMap((scope) => scope.spans),
    )
    for (const span of spans)
      expect(run.stdout).toContain(`─ ${span.name}`.replace('─ invoke_agent support', 'invoke_agent support'))
    for (const note of [
      'carrier_status  mocked',
      'issue_refund  denied',
      'gate refund-limit  deny',
      'gate no-customer-data-outside  deny',
      'human_intervention  approve by Ines',
      'human_intervention  reject by Ines',
      'compact_context  ✗ 503 the model is overloaded',
    ]) {
      expect(run.stdout).toContain(note)
    }
    expect(run.stdout).toMatch(/compact_context {2}1,\d+ → \d+ tokens/)
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
    expect(run.stdout).toContain(spans[0]!.traceId)
  })

  it('sends the trace where an endpoint answers and prints where to look at it', async () => {
    await using stub = await startOtlpStub({ status: 200 })
    const { code, stdout } = await runCli(['demo', '--fast', '--out', 'trace.json'], {
      cwd,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: stub.url, JAEGER_UI_URL: 'http://127.0.0.1:16686/' },
    })
    expect(code).toBe(0)
    expect(stdout).toMatch(/Open +http:\/\/127\.0\.0\.1:16686\/trace\/[0-9a-f]{32} {2}\(Jaeger\)/)
    expect(stub.bodies.map(String).join('')).toContain('invoke_agent logistics')
    expect(readFileSync(join(cwd, 'trace.json'), 'utf8')).toContain('invoke_agent logistics')
  })

  it.skipIf(jaegerRuns)('links to no page that is not there', async () => {
    await using stub = await startOtlpStub({ status: 200 })
    const { stdout } = await runCli(['demo', '--fast'], {
      cwd,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: stub.url },
    })
    expect(stdout).toMatch(/Sent to +\S+\/v1\/traces\. Its page is not known: set JAEGER_UI_URL/)
    expect(stdout).not.toContain('Open ')
  })

  it('says that nobody took the trace and is done all the same', () => {
    expect(run.stdout).toContain(`Nothing answers at ${nobody}/v1/traces`)
  })

  it('needs a key for --live and says so', async () => {
    const { code, stderr } = await runCli(['demo', '--live'], { cwd, env: { OPENAI_API_KEY: '' } })
    expect(stderr).toMatch(/--live needs OPENAI_API_KEY, which is not set\. Set it .*or leave --live out/)
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(code).toBe(2)
  })

  it('asks the endpoint of the environment with --live, and tells when it refuses', async () => {
    await using model = await startScriptedServer({ steps: [{ content: 'A new tent is on its way.' }] })
    const live = (baseURL: string) =>
      runCli(['demo', '--live', '--fast', '--out', 'live.json'], {
        cwd,
        env: { OPENAI_API_KEY: 'sk-x', OPENAI_BASE_URL: baseURL, OTEL_EXPORTER_OTLP_ENDPOINT: nobody },
      })
    const answered = await live(model.baseURL)
    expect(answered.stdout).toContain('Agent: A new tent is on its way.')
    expect(answered.code).toBe(0)

    const refused = await live(`${model.baseURL}/nothing`)
    expect(refused.stdout).toMatch(/The run ended: error\./)
    expect(refused.code).toBe(1)
  })
})

const bin = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))
const pty = ['/usr/bin/script', '/bin/script'].find((path) => existsSync(path))
const linux = process.platform === 'linux'
if (linux && !pty && process.env.CI === 'true') throw new Error('`script` of util-linux is missing.')

describe.skipIf(!linux || !pty)('hookspan demo at a terminal', { timeout: 120_000 }, () => {
  /** Types Ctrl-C once `until` has been written, and gives all that was written. */
  async function atTerminal(endpoint: string, env: Record<string, string>, until: RegExp) {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-demo-'))
    const { CI: _, ...inherited } = process.env
    // `exec`: a shell that waits gets the Ctrl-C, too, and some then end as interrupted whatever the command answers.
    const child = spawn(pty!, ['-qefc', `exec "${process.execPath}" "${bin}" demo --fast`, '/dev/null'], {
      cwd,
      env: { ...inherited, HOOKSPAN_HOME: cwd, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    let text = ''
    const seen = Promise.withResolvers<void>()
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk
      if (until.test(text)) seen.resolve()
    })
    const ended = once(child, 'close') as Promise<[number | null]>
    return {
      text: () => text,
      seen: () => Promise.race([seen.promise, ended]),
      ended,
      interrupt: () => child.stdin.write('\x03'),
      [Symbol.dispose]() {
        child.kill('SIGKILL')
        rmSync(cwd, { recursive: true, force: true })
      },
    }
  }

  it('keeps a viewer with the run until Ctrl-C where nothing listens', async () => {
    const endpoint = await refusingUrl()
    using terminal = await atTerminal(endpoint, {}, /until Ctrl-C/)
    await terminal.seen()
    const [, url, traceId, token] =
      /Open +\S*?(http:\/\/127\.0\.0\.1:\d+)\/run\/([0-9a-f]{32})#token=([\w-]+)/.exec(terminal.text()) ?? []
    expect(url, terminal.text()).toBe(endpoint)
    const answer = await fetch(`${url}/api/runs/${traceId}`)
    const { summary } = (await answer.json()) as { summary: { title: string; status: string; spans: number } }
    expect(summary).toMatchObject({ title: 'support', status: 'with_errors' })
    expect(summary.spans).toBeGreaterThan(20)
    const remove = (bearer: string) =>
      fetch(`${url}/api/runs/${traceId}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${bearer}` },
      })
    expect((await remove('x')).status).toBe(401)
    expect((await remove(token!)).status).toBe(200)
    terminal.interrupt()
    expect(await terminal.ended).toEqual([0, null])
    await expect(fetch(`${url}/api/status`)).rejects.toThrow()
  })

  it('starts none on CI, nor where somebody listens already', async () => {
    const nobody = await refusingUrl()
    using onCi = await atTerminal(nobody, { CI: 'true' }, /never/)
    expect(await onCi.ended).toEqual([0, null])
    expect(onCi.text()).toContain('Nothing answers at')

    await using stub = await startOtlpStub({ status: 200 })
    using beside = await atTerminal(stub.url, { JAEGER_UI_URL: 'http://127.0.0.1:16686' }, /never/)
    expect(await beside.ended).toEqual([0, null])
    expect(beside.text()).toMatch(/Open +\S*http:\/\/127\.0\.0\.1:16686\/trace/)
  })
})
