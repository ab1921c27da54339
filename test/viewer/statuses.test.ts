import { describe, expect, it } from 'vitest'
import { idsOfOperation } from '../../src/internal/operation-ids.ts'
import type { ViewerApprovals } from '../../src/viewer/http/approvals.ts'
import type { RunList } from '../../src/viewer/store/reader.ts'
import { start } from './start.ts'
import { getJson, id, otlp, post, runSpan, type TestSpan, TRACE } from './support.ts'

const failedTool: TestSpan = {
  spanId: id(2),
  parentSpanId: id(1),
  error: 'boom',
  attributes: { 'gen_ai.tool.name': 'x' },
}
const step: TestSpan = {
  spanId: id(3),
  parentSpanId: id(1),
  name: 'step 0',
  attributes: { 'hookspan.step.index': 0 },
}

/** By the status that each has. */
const RUNS: Record<string, TestSpan[]> = {
  ok: [runSpan('done')],
  with_errors: [runSpan('done'), failedTool],
  failed: [runSpan('error', { error: 'boom' })],
  denied: [runSpan('denied'), failedTool],
  interrupted: [runSpan('interrupted'), failedTool],
  running: [runSpan('', { end: 0, attributes: { 'hookspan.span.state': 'started' } })],
  waiting: [
    runSpan('', {
      end: 0,
      attributes: { 'hookspan.span.state': 'started', 'hookspan.operation.waiting_for': 'human' },
    }),
  ],
}

describe('how a run stands', () => {
  it('is one of seven, each found by its name and by no other', async () => {
    const viewer = await start()
    const traceOf = (at: number) => id(at + 1).padEnd(32, '0')
    for (const [at, [status, spans]] of Object.entries(RUNS).entries()) {
      const here = { 'process.pid': process.pid, 'service.name': status }
      await post(
        viewer,
        otlp(
          spans.map((span) => ({ ...span, traceId: traceOf(at) })),
          here,
        ),
      )
    }
    const found = async (query: string) =>
      (await getJson<RunList>(viewer, `/api/runs?q=${encodeURIComponent(query)}`)).runs
    expect(
      (await found('')).map(({ service, status }) => [service, status]).filter(([a, b]) => a !== b),
    ).toEqual([])
    for (const status of Object.keys(RUNS))
      expect(
        (await found(`status:${status}`)).map(({ service }) => service),
        status,
      ).toEqual([status])
    const names: [string, string[]][] = [
      ['status:done', ['ok', 'with_errors']],
      ['status:Done -status:with-errors', ['ok']],
      ['status:"with errors"', ['with_errors']],
      ['status:error', ['failed']],
      ['-status:done -status:failed status:denied', ['denied']],
    ]
    for (const [query, services] of names)
      expect((await found(query)).map(({ service }) => service).sort(), query).toEqual(services)
  })

  it('is never done while steps came and the span of their run did not', async () => {
    const viewer = await start()
    await post(viewer, otlp([step]))
    const { runs } = await getJson<RunList>(viewer, '/api/runs')
    expect(runs).toMatchObject([{ status: 'running', title: 'step 0' }])
    expect(viewer.store.recheckOpenRuns(Date.now() + 3_600_000)).toHaveLength(1)
    expect((await getJson<RunList>(viewer, '/api/runs')).runs).toMatchObject([{ status: 'interrupted' }])
  })

  it('is interrupted when its process died, also where only what is below a lost span came', async () => {
    const viewer = await start()
    const call = {
      spanId: id(3),
      parentSpanId: id(1),
      end: 0,
      attributes: { 'hookspan.span.state': 'started' },
    }
    // No process has such a number.
    await post(viewer, otlp([call], { 'process.pid': 2 ** 22 + 7 }))
    expect((await getJson<RunList>(viewer, '/api/runs')).runs).toMatchObject([{ status: 'interrupted' }])
  })

  it('waits for no more people than are still asked', async () => {
    const viewer = await start()
    const started = { 'hookspan.span.state': 'started' }
    const parked = { ...started, 'hookspan.operation.waiting_for': 'human' }
    const asking = {
      spanId: id(3),
      parentSpanId: id(1),
      name: 'human_intervention',
      end: 0,
      attributes: started,
    }
    await post(
      viewer,
      otlp([runSpan('', { end: 0, attributes: parked }), asking], { 'process.pid': process.pid }),
    )
    const asked = (query: string) => getJson<RunList>(viewer, `/api/runs?q=${query}`)
    expect((await asked('waiting:yes')).runs).toMatchObject([{ status: 'waiting', waiting: 1 }])
    // Of the process that asked, nothing is heard any more; the run was parked.
    await post(viewer, otlp([{ ...asking, spanId: id(4) }]))
    expect((await asked('waiting:2')).total).toBe(1)
    expect(viewer.store.recheckOpenRuns(Date.now() + 3_600_000)).toEqual([TRACE])
    expect((await asked('')).runs).toMatchObject([{ status: 'waiting', waiting: 1 }])
  })

  it('is waiting while a person is asked, whatever spans came, and no longer', async () => {
    const operationId = 'asked-1'
    const { traceId } = idsOfOperation(operationId)
    let isOpen = true
    const request = {
      id: 'r1',
      operationId,
      rootOperationId: operationId,
      agentName: 'clerk',
      toolCallId: 'c1',
      callKey: 'k',
      gateId: 'g',
      point: 'beforeToolCall' as const,
      identifier: 'local',
      apiName: 'pay',
      args: {},
      argsDigest: 'd',
      requestedAt: Date.now(),
      allow: ['approve' as const],
    }
    const approvals: ViewerApprovals = {
      list: async () => (isOpen ? [{ request, status: 'pending' as const }] : []),
      get: async () => undefined,
      respond: async () => {
        throw new Error('nobody answers here')
      },
    }
    const viewer = await start({ approvals })
    await post(viewer, otlp([{ ...step, traceId }]))
    const runs = async (query: string) => (await getJson<RunList>(viewer, `/api/runs?q=${query}`)).runs
    await expect
      .poll(() => runs('status:waiting'))
      .toMatchObject([{ title: 'clerk', waiting: 1, status: 'waiting' }])
    const { summary } = await getJson<{ summary: object }>(viewer, `/api/runs/${traceId}`)
    expect(summary).toMatchObject({ status: 'waiting' })
    isOpen = false
    await expect.poll(() => runs('')).toMatchObject([{ waiting: 0, status: 'running' }])
  })
})

it('a snapshot that is sent again, or comes late, hides neither that the run waits nor that it went on', async () => {
  const viewer = await start()
  const snapshot = (since: number, attributes: Record<string, string> = {}) =>
    runSpan('', { end: since, attributes: { 'hookspan.span.state': 'started', ...attributes } })
  const parked = snapshot(2_000, { 'hookspan.operation.waiting_for': 'human' })
  const statuses: string[] = []
  for (const span of [snapshot(10), parked, snapshot(10), snapshot(3_000), parked, runSpan('done'), parked]) {
    await post(viewer, otlp([span]))
    statuses.push((await getJson<RunList>(viewer, '/api/runs')).runs[0]!.status)
  }
  expect(statuses).toEqual(['running', 'waiting', 'waiting', 'running', 'running', 'ok', 'ok'])
})

describe('a process that died, of which the next one with its spool tells', () => {
  const began = 10
  const snapshot = runSpan('', { start: began, end: 500, attributes: { 'hookspan.span.state': 'started' } })
  const died = runSpan('', { start: began, end: began, attributes: { 'hookspan.span.state': 'interrupted' } })
  const laterSnapshot = { ...snapshot, end: 5_000 }
  const ended = { ...runSpan('done'), start: began }
  const here = { 'process.pid': process.pid, 'service.name': 'first' }
  const elsewhere = { ...here, 'service.name': 'second' }

  it.each<[string, [TestSpan, typeof here][], string]>([
    ['was not done', [[died, here]], 'interrupted'],
    [
      'whatever it had sent before',
      [
        [snapshot, here],
        [died, here],
      ],
      'interrupted',
    ],
    [
      'also where that is sent again',
      [
        [died, here],
        [snapshot, here],
      ],
      'interrupted',
    ],
    [
      'unless another goes on with it',
      [
        [died, here],
        [laterSnapshot, elsewhere],
      ],
      'running',
    ],
    [
      'also where that is told late',
      [
        [laterSnapshot, elsewhere],
        [died, here],
      ],
      'running',
    ],
    [
      'and ends it',
      [
        [died, here],
        [ended, elsewhere],
      ],
      'ok',
    ],
    [
      'and ended it before',
      [
        [ended, elsewhere],
        [died, here],
      ],
      'ok',
    ],
  ])('%s', async (_what, sent, expected) => {
    const viewer = await start()
    for (const [span, resource] of sent) await post(viewer, otlp([span], resource))
    const { runs } = await getJson<RunList>(viewer, '/api/runs')
    expect(runs.map(({ status }) => status)).toEqual([expected])
  })
})

it('is not done where several of its parts wait for the agent that called them', async () => {
  const viewer = await start()
  const part = (number: number, parent: number, step: boolean): TestSpan => ({
    ...{ spanId: id(number), parentSpanId: id(parent), start: number - 60_000, end: number - 59_990 },
    name: step ? 'step' : 'chat m',
    attributes: step ? { 'hookspan.step.index': 0 } : { 'gen_ai.operation.name': 'chat' },
  })
  await post(viewer, otlp([part(3, 1, true), part(4, 3, false), part(6, 5, false)]))
  await expect
    .poll(async () => {
      viewer.store.recheckOpenRuns(Date.now() + 3_600_000)
      return (await getJson<RunList>(viewer, '/api/runs')).runs.map(({ status }) => status)
    })
    .toEqual(['interrupted'])
})
