import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Jaeger, startJaeger } from '../support/jaeger.ts'

const SERVICE = 'jaeger-self-test'

function otlpTrace(traceId: string, names: string[]) {
  const start = BigInt(Date.now()) * 1_000_000n
  const ids = names.map(() => randomBytes(8).toString('hex'))
  const spans = names.map((name, index) => ({
    traceId,
    spanId: ids[index],
    ...(index === 0 ? {} : { parentSpanId: ids[0] }),
    name,
    kind: index === 0 ? 1 : 3,
    startTimeUnixNano: String(start + BigInt(index)),
    endTimeUnixNano: String(start + 1_000_000n + BigInt(index)),
    attributes: [
      { key: 'text', value: { stringValue: 'ünï "quoted"\n' } },
      { key: 'count', value: { intValue: String(index) } },
      { key: 'ratio', value: { doubleValue: 0.5 } },
      { key: 'flag', value: { boolValue: false } },
      { key: 'list', value: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } } },
    ],
    events: [
      { name: 'note', timeUnixNano: String(start), attributes: [{ key: 'k', value: { stringValue: 'v' } }] },
    ],
    status: index === 0 ? {} : { code: 2, message: 'it broke' },
  }))
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: SERVICE } }] }
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'hand', version: '1' }, spans }] }] }
}

describe('a real Jaeger', () => {
  let jaeger: Jaeger
  beforeAll(async () => {
    jaeger = await startJaeger()
  })
  afterAll(() => jaeger?.stop())

  const send = async (trace: unknown) => {
    const response = await fetch(`${jaeger.otlpUrl}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(trace),
    })
    expect(response.status).toBe(200)
  }
  const newTraceId = () => randomBytes(16).toString('hex')

  it('gives back a posted trace with its tree, types, times and status', async () => {
    const traceId = newTraceId()
    await send(otlpTrace(traceId, ['invoke_agent', 'execute_tool']))

    const trace = await jaeger.getTrace(traceId, { spanCount: 2 })

    expect(trace.traceId).toBe(traceId)
    const [root, child] = trace.spans
    expect(root).toMatchObject({ name: 'invoke_agent', kind: 1, status: { code: 'UNSET' }, warnings: [] })
    expect(root?.parentSpanId).toBeUndefined()
    expect(child).toMatchObject({
      name: 'execute_tool',
      kind: 3,
      parentSpanId: root?.spanId,
      status: { code: 'ERROR', message: 'it broke' },
      attributes: { text: 'ünï "quoted"\n', count: 1, ratio: 0.5, flag: false, list: ['a', 'b'] },
      events: [{ name: 'note', attributes: { k: 'v' } }],
      resource: { 'service.name': SERVICE },
      scope: { name: 'hand', version: '1' },
    })
    expect(child!.endTimeUnixNano - child!.startTimeUnixNano).toBe(1_000_000n)
  })

  it('shows the same trace in the format of its web page and finds it by attribute', async () => {
    const traceId = newTraceId()
    await send(otlpTrace(traceId, ['invoke_agent', 'chat', 'chat']))

    const legacy = await jaeger.getLegacyTrace(traceId, { spanCount: 3 })
    expect(legacy.spans.map((span) => span.operationName).sort()).toEqual(['chat', 'chat', 'invoke_agent'])

    const found = await jaeger.findTraces({ service: SERVICE, operation: 'chat', tags: { count: '2' } })
    expect(found.map((trace) => trace.traceID)).toEqual([traceId])
    expect(await jaeger.findTraces({ service: 'nobody' })).toEqual([])
  })

  it('waits for spans that arrive later and says how many came when they do not', async () => {
    const traceId = newTraceId()
    const waiting = jaeger.getTrace(traceId, { spanCount: 2, timeoutMs: 5_000 })
    await send(otlpTrace(traceId, ['first']))
    await send(otlpTrace(traceId, ['second']))
    expect((await waiting).spans).toHaveLength(2)

    await expect(jaeger.getTrace(traceId, { spanCount: 3, timeoutMs: 100 })).rejects.toThrow(
      `Expected trace ${traceId} to hold 3 spans, found 2 after 100 ms`,
    )
    await expect(jaeger.getTrace(traceId, { spanCount: 1 })).rejects.toThrow('to hold 1 spans, found 2.')
    await expect(jaeger.getTrace(newTraceId(), { timeoutMs: 100 })).rejects.toThrow('found 0 after 100 ms')
  })

  it('takes traces from nobody once it is stopped', async () => {
    const other = await startJaeger()
    await other.stop()
    await expect(fetch(`${other.otlpUrl}/v1/traces`, { method: 'POST' })).rejects.toThrow()
  })

  it('does not outlive a test process that is killed', async () => {
    const module = JSON.stringify(new URL('../support/jaeger.ts', import.meta.url).href)
    const script = `import(${module}).then((it) => it.startJaeger()).then((jaeger) => console.log(jaeger.queryUrl))`
    const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [chunk] = (await once(owner.stdout, 'data')) as [Buffer]
    const url = String(chunk).trim()
    expect((await fetch(url)).ok).toBe(true)

    owner.kill('SIGKILL')

    await expect
      .poll(
        () =>
          fetch(url).then(
            () => 'answers',
            () => 'gone',
          ),
        { timeout: 60_000 },
      )
      .toBe('gone')
  })
})
