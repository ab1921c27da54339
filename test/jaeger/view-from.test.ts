/** The viewer's page over the runs of a real Jaeger. */
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { openRunSource, startViewer, type Viewer } from 'hookspan/viewer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Jaeger, startJaeger } from '../support/jaeger.ts'

const STEPS = 2_500

describe('the page over a real Jaeger', () => {
  let jaeger: Jaeger
  let viewer: Viewer
  const get = async (path: string) => {
    const response = await fetch(viewer.url + path)
    // biome-ignore lint/suspicious/noExplicitAny: of a route each.
    return { status: response.status, body: (await response.json()) as any }
  }

  /** Sends a run with so many steps, each with a model call and two tool calls. */
  async function sendRun(service: string, steps: number): Promise<void> {
    const dispatcher = new HookDispatcher()
    const tracing = startTracing({ endpoint: jaeger.otlpUrl, serviceName: service, captureContent: true })
    dispatcher.use(tracing)
    const operation = dispatcher.startOperation({ agentName: service })
    for (let at = 0; at < steps; at++) {
      await operation.step(async (step) => {
        const request = { messages: [{ role: 'user', content: `question ${at}` }] }
        await step.llmCall({ model: 'gpt-4o', provider: 'openai', request }, async () => ({
          choices: [
            { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: `answer ${at}` } },
          ],
        }))
        for (const apiName of ['search', 'book'])
          await step.toolCall({ toolCallId: `${apiName}${at}`, apiName, args: { at } }, async () => ({
            ok: true,
          }))
      })
    }
    await operation.complete({ reason: 'done' })
    await tracing.shutdown()
  }

  beforeAll(async () => {
    jaeger = await startJaeger()
    viewer = await startViewer({ from: `jaeger=${jaeger.queryUrl}`, port: 0 })
  })
  afterAll(async () => {
    await viewer?.close()
    await jaeger?.stop()
  })

  it('shows a run of 10,000 spans, and says how long that took', async () => {
    await sendRun('big', STEPS)
    const { runs } = (await get('/api/runs?q=service:big')).body
    expect(runs).toMatchObject([{ agent: 'big', spans: 4 * STEPS + 1, status: 'ok', steps: STEPS }])
    const { traceId } = runs[0]
    // One that has fetched nothing yet.
    const other = await startViewer({ from: `jaeger=${jaeger.queryUrl}`, port: 0 })
    const source = await openRunSource({ url: other.url })
    const fromMs = performance.now()
    const run = await source.run(traceId)
    const tookMs = performance.now() - fromMs
    await other.close()
    expect(run?.rows).toHaveLength(4 * STEPS + 1)
    console.log(`${4 * STEPS + 1} spans were fetched and shown after ${Math.round(tookMs)} ms`)
  })

  it('leaves out traces of no agent, such as those of Jaeger itself, and says so', async () => {
    const traceId = 'ad'.repeat(16)
    const span = {
      traceId,
      spanId: 'ad'.repeat(8),
      name: '/api/v3/services',
      startTimeUnixNano: String(BigInt(Date.now()) * 1_000_000n),
      endTimeUnixNano: String(BigInt(Date.now()) * 1_000_000n),
    }
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'jaeger' } }] }
    await fetch(`${jaeger.otlpUrl}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] }),
    })
    await jaeger.getTrace(traceId, { spanCount: 1 })
    await sendRun('agents', 1)
    const other = await openRunSource({ from: `jaeger=${jaeger.queryUrl}` })
    const { runs, problems } = await other.listRuns('since:2h', 50)
    expect(runs.map((run) => run.service)).toContain('agents')
    expect(runs.map((run) => run.service)).not.toContain('jaeger')
    expect(problems).toEqual([
      expect.stringContaining('Of jaeger the newest traces have no span of an agent'),
    ])
    expect(await other.listRuns('service:jaeger', 50)).toMatchObject({ runs: [{ traceId }] })
    other.close()
    expect((await get(`/api/runs/${traceId}`)).status).toBe(200)
  })

  it('gives the page of a run with its rows, where the runs are, and that they are read only', async () => {
    await sendRun('paged', 3)
    const { traceId } = (await get('/api/runs?q=service:paged')).body.runs[0]
    const other = await startViewer({ from: `jaeger=${jaeger.queryUrl}`, port: 0 })
    const page = await (
      await fetch(`${other.url}/run/${traceId}`, { headers: { accept: 'text/html' } })
    ).text()
    await other.close()
    expect(page).toContain(`<meta name="read-only" content="Jaeger at ${jaeger.queryUrl}">`)
    expect(page).toContain('id="run-in-sight"')
  })

  it('shows what comes later, while a page is open', async () => {
    await sendRun('first', 1)
    expect((await get('/api/runs?q=service:later')).body.runs).toEqual([])
    const page = new AbortController()
    const live = await fetch(`${viewer.url}/api/live`, { signal: page.signal })
    await sendRun('later', 1)
    const decoder = new TextDecoder()
    let runs: object[] = []
    // As the page does, it asks when it is told.
    for await (const chunk of live.body!) {
      if (!decoder.decode(chunk).includes('"changed"')) continue
      runs = (await get('/api/runs?q=service:later')).body.runs
      if (runs.length > 0) break
    }
    page.abort()
    expect(runs).toMatchObject([{ agent: 'later' }])
  })

  it('answers every view of runs, of which it had none before', async () => {
    await sendRun('left', 1)
    await sendRun('right', 2)
    const [right, left] = (await get('/api/runs?q=service:*&limit=2')).body.runs
    const fresh = async (path: string) => {
      const other = await startViewer({ from: `jaeger=${jaeger.queryUrl}`, port: 0 })
      const response = await fetch(other.url + path)
      const body = await response.text()
      await other.close()
      expect(response.status, body).toBe(200)
      return body
    }
    expect(JSON.parse(await fresh(`/api/diff?a=${left.traceId}&b=${right.traceId}`))).toMatchObject({
      added: 4,
    })
    expect(JSON.parse(await fresh(`/api/acts?runs=${left.traceId},${right.traceId}`)).runs).toHaveLength(2)
    expect(JSON.parse(await fresh(`/api/runs/${left.traceId}/conversation`)).items).not.toEqual([])
    expect(JSON.parse(await fresh(`/api/search?q=question&run=${right.traceId}`)).hits).toHaveLength(2)
    expect(JSON.parse(await fresh('/api/numbers?q=service:right'))).toMatchObject({ runs: 1 })
    expect(JSON.parse(await fresh('/api/uses/tool?q=service:right')).uses).toHaveLength(2)
    expect(JSON.parse(await fresh('/api/sets?a=service:left&b=service:right'))).toMatchObject({
      a: { runs: 1 },
    })
    expect(await fresh(`/api/export?format=otlp&runs=${left.traceId}`)).toContain('invoke_agent left')
    expect(JSON.parse(await fresh(`/api/runs/${left.traceId.slice(0, 8)}`)).summary.agent).toBe('left')
  })

  it('changes nothing: no spans, marks, imports, removals or approvals, with the token either', async () => {
    await sendRun('kept', 1)
    const { traceId } = (await get('/api/runs?q=service:kept')).body.runs[0]
    const headers = { authorization: `Bearer ${viewer.token}`, 'content-type': 'application/json' }
    const asked = [
      ['POST', '/v1/traces'],
      ['POST', '/api/import'],
      ['PUT', `/api/runs/${traceId}/marks`],
      ['DELETE', `/api/runs/${traceId}`],
      ['GET', '/api/approvals'],
      ['POST', '/api/approvals/1/respond'],
    ] as const
    for (const [method, path] of asked) {
      const response = await fetch(viewer.url + path, {
        method,
        headers,
        ...(method !== 'GET' && { body: '{}' }),
      })
      expect(response.status).toBe(403)
      expect(((await response.json()) as { error: string }).error).toContain(
        `This page shows Jaeger at ${jaeger.queryUrl}`,
      )
    }
    expect((await get(`/api/runs/${traceId}`)).body.summary).toMatchObject({ agent: 'kept', mark: '' })
    // Senders look for a viewer by this name, to send spans that have not ended, too.
    expect((await get('/v1/hookspan')).body).toMatchObject({ name: 'hookspan-page' })
  })

  it('stays up when Jaeger goes away, with what was fetched, and says so', async () => {
    const gone = await startJaeger()
    const before = jaeger
    jaeger = gone
    await sendRun('seen', 1)
    jaeger = before
    const page = await startViewer({ from: `jaeger=${gone.queryUrl}`, port: 0 })
    const ask = async (path: string) => {
      const response = await fetch(page.url + path)
      return { status: response.status, body: (await response.json()) as never as Record<string, never> }
    }
    const { runs } = (await ask('/api/runs?q=')).body as never as { runs: { traceId: string }[] }
    expect(runs).toHaveLength(1)
    await gone.stop()
    expect((await ask(`/api/runs/${runs[0]!.traceId}`)).status).toBe(200)
    expect(await ask('/api/runs?q=service:other')).toMatchObject({
      status: 502,
      body: { error: expect.stringMatching(/cannot be reached \(ECONNREFUSED\)/) },
    })
    expect((await ask(`/api/runs/${'f'.repeat(32)}`)).status).toBe(502)
    await expect
      .poll(async () => String((await ask('/api/runs?q=')).body.problems))
      .toMatch(/cannot be reached.*What is shown was fetched before/)
    expect((await ask('/api/runs?q=')).body.runs).toHaveLength(1)
    await page.close()
  })

  it('searches for the newest 1,500 runs, which Jaeger answers', async () => {
    const source = await openRunSource({ from: `jaeger=${jaeger.queryUrl}`, most: 1_500 })
    expect((await source.listRuns('service:big', 10)).total).toBe(1)
    source.close()
  })
})
