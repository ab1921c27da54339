import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { startViewer } from 'hookspan/viewer'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { isJaeger } from '../../src/tracing/links/collector.ts'
import { startJaegerStub } from '../support/jaeger-stub.ts'
import { refusingUrl, startOtlpStub } from '../support/otlp-stub.ts'
import { SELF_SIGNED } from '../support/self-signed.ts'

/** One run through `startTracing`, and the link to it. */
async function linkTo(options: Parameters<typeof startTracing>[0]) {
  const tracing = startTracing({ queue: { onTrouble: () => {} }, flushOnExit: false, ...options })
  try {
    const dispatcher = new HookDispatcher()
    dispatcher.use(tracing)
    const op = dispatcher.startOperation({ agentName: 'support' })
    await op.complete()
    const traceId = op.traceparent?.split('-')[1]
    return { traceId, link: await tracing.linkTo(op), tracing }
  } finally {
    await tracing.shutdown()
  }
}

const jaegerRuns = await isJaeger('http://127.0.0.1:16686')

describe('tracing.linkTo()', () => {
  beforeEach(() => {
    vi.stubEnv('JAEGER_UI_URL', '')
  })
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  it('leads to the viewer that took the run, where it is already', async () => {
    const viewer = await startViewer({ port: 0, db: ':memory:' })
    onTestFinished(() => viewer.close())
    const { link, traceId } = await linkTo({ endpoint: viewer.otlpEndpoint })
    expect(link).toEqual({ traceId, url: `${viewer.url}/run/${traceId}`, text: link.url })
    const answer = await fetch(link.url!.replace('/run/', '/api/runs/'))
    expect(await answer.json()).toMatchObject({ summary: { title: 'support' } })
  })

  it('leads to the Jaeger that JAEGER_UI_URL names', async () => {
    await using stub = await startOtlpStub({ status: 200 })
    await using jaeger = await startJaegerStub()
    vi.stubEnv('JAEGER_UI_URL', `${jaeger.url}/`)
    const { link, traceId } = await linkTo({ endpoint: stub.url })
    expect(link.text).toBe(`${jaeger.url}/trace/${traceId}`)
  })

  it('says when that Jaeger has not got the run', async () => {
    await using stub = await startOtlpStub({ status: 200 })
    await using jaeger = await startJaegerStub(() => false)
    vi.stubEnv('JAEGER_UI_URL', jaeger.url)
    const { link } = await linkTo({ endpoint: stub.url })
    expect(link.text).toContain(`Jaeger does not have it: does ${stub.url}/v1/traces lead there?`)
  })

  it.skipIf(jaegerRuns)('names no page where it knows none', async () => {
    await using stub = await startOtlpStub({ status: 200 })
    const { link, traceId } = await linkTo({ endpoint: stub.url })
    expect(link).toEqual({
      traceId,
      text: `Trace ${traceId} was sent to ${stub.url}/v1/traces, whose page is not known. JAEGER_UI_URL names the page of a Jaeger behind it.`,
    })
  })

  it('says that nobody answers, and what to start', async () => {
    const nobody = await refusingUrl()
    const { link } = await linkTo({ endpoint: nobody })
    expect(link.url).toBeUndefined()
    expect(link.text).toMatch(`Nothing answers at ${nobody}/v1/traces (connect ECONNREFUSED`)
    expect(link.text).toContain('Start `npx hookspan view`, or Jaeger with `npx hookspan jaeger`')
  })

  it('shows no key of an endpoint', async () => {
    const nobody = await refusingUrl()
    const { link, tracing } = await linkTo({
      endpoint: `${nobody.replace('//', '//user:secret@')}?key=secret`,
    })
    expect(link.text).toMatch(`Nothing answers at ${nobody}/v1/traces?… (connect ECONNREFUSED`)
    await using stub = await startOtlpStub({ status: 200 })
    const taken = await linkTo({ endpoint: `${stub.url}?key=secret` })
    expect(taken.link.text).toContain(`was sent to ${stub.url}/v1/traces?…, whose page is not known`)
    expect(JSON.stringify([link, taken.link, tracing.stats()])).not.toContain('secret')
  })

  it('says that the spans are refused', async () => {
    await using stub = await startOtlpStub({ status: 403 })
    const { link } = await linkTo({ endpoint: stub.url })
    expect(link.url).toBeUndefined()
    expect(link.text).toMatch(/does not take the spans: 403 .*hookspan doctor/)
  })

  it('believes a collector that took the spans, though a certificate keeps it from being asked who it is', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hookspan-links-'))
    const server = createServer(
      SELF_SIGNED,
      (request, response) => void request.resume().on('end', () => response.end()),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
      rmSync(folder, { recursive: true })
    })
    writeFileSync(join(folder, 'ca.pem'), SELF_SIGNED.cert)
    vi.stubEnv('OTEL_EXPORTER_OTLP_CERTIFICATE', join(folder, 'ca.pem'))
    const endpoint = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { link, traceId } = await linkTo({ endpoint })
    expect(link.text).toContain(`Trace ${traceId} was sent to ${endpoint}/v1/traces, whose page is not known`)
    vi.stubEnv('JAEGER_UI_URL', 'http://jaeger.test')
    expect((await linkTo({ endpoint })).link.text).toMatch(/^http:\/\/jaeger\.test\/trace\/[0-9a-f]{32}$/)
  })

  it.each([
    ['OTEL_SDK_DISABLED', 'true', 'OTEL_SDK_DISABLED is set, so no span is made.'],
    ['OTEL_TRACES_EXPORTER', 'none', 'Spans are not sent: OTEL_TRACES_EXPORTER is "none".'],
  ])('says that %s is in the way', async (name, value, says) => {
    await using stub = await startOtlpStub({ status: 200 })
    vi.stubEnv(name, value)
    expect((await linkTo({ endpoint: stub.url })).link.text).toContain(says)
  })

  it('leaves it to an exporter of the user’s own', async () => {
    const exporter = { export: (_: unknown, done: (result: { code: number }) => void) => done({ code: 0 }) }
    const { link, traceId } = await linkTo({ exporter: { ...exporter, shutdown: async () => {} } })
    expect(link).toEqual({ traceId, text: `Trace ${traceId} went to the \`exporter\` of startTracing().` })
  })

  it('takes what execAgent gives, tells a run without a trace, and refuses what is no run', async () => {
    await using stub = await startOtlpStub({ status: 200 })
    const { tracing, traceId } = await linkTo({ endpoint: stub.url })
    const untraced = new HookDispatcher().startOperation({ agentName: 'a' })
    expect((await tracing.linkTo(untraced)).text).toContain('`dispatcher.use(tracing)` has to come before')
    const { operationId } = untraced
    expect((await tracing.linkTo({ operationId })).traceId).toMatch(/^[0-9a-f]{32}$/)
    await expect(tracing.linkTo(traceId as never)).rejects.toThrow('Expected linkTo() to get an operation')
    await untraced.complete()
  })
})
