/** A run that comes whole is summed as it comes, from what is in hand; whatever may still change is summed later. */
import { DatabaseSync } from 'node:sqlite'
import { ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { openChunk } from '../../src/viewer/store/chunk.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { sampleRun } from './sample-run.ts'
import { databaseFile } from './start.ts'
import { id, otlp, recordedTraces, type TestSpan, TRACE } from './support.ts'

const COSTS = 'round(cost_usd, 9) AS cost_usd, round(estimated_usd, 9) AS estimated_usd'

/** Nothing happens in it but what it is told to do. */
function open() {
  const file = databaseFile()
  const store = new Store({ file })
  const db = new DatabaseSync(file)
  onTestFinished(() => {
    db.close()
    store.close()
  })
  return {
    store,
    db,
    add: (traces: object) => {
      const { items, rejected } = receiveTraces(Buffer.from(JSON.stringify(traces)), 'json')
      expect(rejected).toBe(0)
      store.addSpans(items)
    },
    waiting: () =>
      (db.prepare('SELECT trace_id FROM run WHERE dirty = 1').all() as { trace_id: string }[]).map(
        ({ trace_id }) => trace_id,
      ),
    // The first estimate of a price is the library's, whose last digit is another.
    runs: () => db.prepare(`SELECT *, ${COSTS} FROM run ORDER BY trace_id`).all(),
    uses: () =>
      db.prepare('SELECT *, round(cost_usd, 9) AS cost_usd FROM run_use ORDER BY run, kind, name').all(),
  }
}

const agent: TestSpan = {
  spanId: id(1),
  name: 'invoke_agent clerk',
  end: 9,
  attributes: { 'gen_ai.operation.name': 'invoke_agent', 'input.value': 'where is it?' },
}
const tool: TestSpan = {
  spanId: id(2),
  parentSpanId: id(1),
  name: 'execute_tool find',
  start: 1,
  end: 4,
  attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'find' },
}

it('is summed as it would be later', () => {
  const { add, store, db, waiting, runs, uses } = open()
  add(sampleRun())
  add(otlp([tool, agent]))
  for (const { traces } of recordedTraces()) add(traces)
  const asTheyCame = { runs: runs(), uses: uses() }
  const later = new Set(waiting())
  expect([...later]).not.toContain(TRACE)
  expect(asTheyCame.runs.find((run) => run.trace_id === TRACE)).toMatchObject({
    dirty: 0,
    status: 'ok',
    title: 'clerk',
    tools: '["find"]',
    input_preview: 'where is it?',
  })
  expect(uses().length).toBeGreaterThan(1)

  db.exec('UPDATE run SET dirty = 1')
  while (store.work(1_000)) {}
  // Those that were summed as they came, and got nothing since.
  const before = asTheyCame.runs.filter((run) => !later.has(run.trace_id as string))
  const ids = new Set(before.map((run) => run.id))
  expect(runs().filter((run) => ids.has(run.id))).toEqual(before)
  expect(uses().filter((use) => ids.has(use.run as never))).toEqual(
    asTheyCame.uses.filter((use) => ids.has(use.run as never)),
  )
})

it('is summed as it would be later from protobuf, too, of which less is read', async () => {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const tracer = provider.getTracer('test')
  const attributes = { 'gen_ai.tool.call.id': 'call-1', 'gen_ai.tool.call.arguments': '{"at":"home"}' }
  const run = tracer.startSpan('invoke_agent clerk', { attributes: { ...agent.attributes } })
  const inRun = trace.setSpan(ROOT_CONTEXT, run)
  tracer.startSpan('execute_tool find', { attributes: { ...tool.attributes, ...attributes } }, inRun).end()
  run.end()
  const body = Buffer.from(ProtobufTraceSerializer.serializeRequest(exporter.getFinishedSpans())!)
  const { items } = receiveTraces(body, 'protobuf')

  const { store, db, waiting, runs, uses } = open()
  store.addSpans(items)
  const asTheyCame = [runs(), uses()]
  expect([waiting(), runs()]).toMatchObject([[], [{ tool_calls: 1, tools: '["find"]', status: 'ok' }]])
  db.exec('UPDATE run SET dirty = 1')
  while (store.work(1_000)) {}
  expect([runs(), uses()]).toEqual(asTheyCame)

  const spans = items.flatMap(({ body: packed }) => {
    const chunk = openChunk(packed)
    return Array.from(
      { length: chunk.length },
      (_, at) => [chunk.facts(at)!, chunk.facts(at, true)!] as const,
    )
  })
  const [shown, forSums] = spans.find(([{ digest }]) => digest.category === 'tool')!
  expect(shown.digest).toMatchObject({ callId: 'call-1', preview: '{"at":"home"}' })
  expect(forSums).toEqual({ ...shown, digest: { ...shown.digest, preview: '' } })
})

it('reads from what was noted of a damaged request what is read from its bytes', () => {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const tracer = provider.getTracer('test')
  const runs = [1, 2].map((at) => tracer.startSpan(`invoke_agent ${at}`, { attributes: agent.attributes }))
  for (let at = 0; at < 6; at++) {
    const attributes = {
      ...tool.attributes,
      'gen_ai.usage.input_tokens': 100 * at,
      'gen_ai.response.finish_reasons': ['stop'],
      'hookspan.tool.mocked': at % 2 === 0,
      'gen_ai.tool.call.id': `call-${at}`,
      'gen_ai.tool.call.result': 'gone',
    }
    const span = tracer.startSpan(
      'execute_tool find',
      { attributes },
      trace.setSpan(ROOT_CONTEXT, runs[at % 2]!),
    )
    span.addEvent('hookspan.gate', { 'hookspan.gate.id': 'rule', 'hookspan.gate.decision': 'deny' })
    if (at > 3) span.setStatus({ code: SpanStatusCode.ERROR, message: 'boom' })
    span.end()
  }
  for (const run of runs) run.end()
  const whole = Buffer.from(ProtobufTraceSerializer.serializeRequest(exporter.getFinishedSpans())!)

  let read = 0
  let rejected = 0
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 3 }), (damages) => {
      const body = Buffer.from(whole)
      for (const [at, byte] of damages) body[at] = byte
      const received = receivedOf(body)
      rejected += received?.rejected ?? 0
      for (const { body: packed, noted } of received?.items ?? []) {
        const chunk = openChunk(packed)
        expect(noted!.length).toBe(chunk.length)
        for (let at = 0; at < chunk.length; at++, read++) {
          expect(noted!.facts(at)).toEqual(chunk.facts(at))
          expect(noted!.facts(at, true)).toEqual(chunk.facts(at, true))
          expect(noted!.span(at)).toEqual(chunk.span(at))
        }
      }
    }),
    { numRuns: 500 },
  )
  expect(read).toBeGreaterThan(1000)
  expect(rejected).toBeGreaterThan(10)
})

/** `undefined` for what is refused as a whole. */
function receivedOf(body: Buffer) {
  try {
    return receiveTraces(body, 'protobuf')
  } catch {
    return undefined
  }
}

it.each<[string, TestSpan[]]>([
  ['runs', [agent, { ...tool, attributes: { ...tool.attributes, 'hookspan.span.state': 'started' } }]],
  ['has no root yet', [tool]],
  ['lacks a parent', [agent, { ...tool, parentSpanId: id(7) }]],
  ['says a span twice', [agent, tool, tool]],
])('waits to be summed while it %s', (_, spans) => {
  const { add, waiting } = open()
  add(otlp(spans))
  expect(waiting()).toEqual([TRACE])
})

it('is summed again when another span of it comes, late or in place of one', () => {
  const { add, store, waiting } = open()
  add(otlp([agent, tool]))
  expect(waiting()).toEqual([])
  add(otlp([{ ...tool, spanId: id(3), error: 'gone' }]))
  expect(waiting()).toEqual([TRACE])
  expect(store.listRuns('', { limit: 10, offset: 0 }).runs).toMatchObject([
    { toolCalls: 2, status: 'with_errors' },
  ])
  add(otlp([{ ...agent, error: 'all of it' }]))
  expect(store.listRuns('', { limit: 10, offset: 0 }).runs).toMatchObject([
    { toolCalls: 2, status: 'failed', spans: 3 },
  ])
})

it('says who waits for a person, whenever that is told', () => {
  const { add, store, waiting } = open()
  store.tellAsked(new Map([[TRACE, { open: 1, agentName: 'clerk' }]]))
  add(otlp([agent, tool]))
  expect(store.listRuns('', { limit: 10, offset: 0 }).runs).toMatchObject([{ status: 'waiting', waiting: 1 }])
  store.tellAsked(new Map())
  expect(waiting()).toEqual([TRACE])
  expect(store.listRuns('', { limit: 10, offset: 0 }).runs).toMatchObject([{ status: 'ok', waiting: 0 }])
})

it('is summed later where a person is asked while it is being stored', () => {
  const { store, waiting } = open()
  const { items } = receiveTraces(Buffer.from(JSON.stringify(otlp([agent, tool]))), 'json')
  const adding = store.addingSpans(items)
  adding.next()
  store.tellAsked(new Map([[TRACE, { open: 1, agentName: 'clerk' }]]))
  while (!adding.next().done) {}
  expect(waiting()).toEqual([TRACE])
  expect(store.listRuns('', { limit: 10, offset: 0 }).runs).toMatchObject([{ status: 'waiting' }])
})

it('comes from two sides at once', () => {
  const { store } = open()
  const of = (spans: TestSpan[]) => receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items
  const one = store.addingSpans(of([agent]))
  const other = store.addingSpans(of([{ ...tool, parentSpanId: '' }]))
  one.next()
  other.next()
  while (!one.next().done) {}
  while (!other.next().done) {}
  expect(store.listRuns('', { limit: 10, offset: 0 }).runs).toMatchObject([{ spans: 2, toolCalls: 1 }])
})
