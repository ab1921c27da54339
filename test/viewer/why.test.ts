import { expect, it } from 'vitest'
import { buildTree } from '../../src/viewer/model/tree.ts'
import { whyOf } from '../../src/viewer/model/why.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { id, otlp, runSpan, type TestSpan, TRACE } from './support.ts'

const step = (number: number, start: number, end: number, error?: string): TestSpan => ({
  spanId: id(number),
  parentSpanId: id(1),
  name: `step ${number - 10}`,
  start,
  end,
  ...(error !== undefined && { error }),
  attributes: { 'hookspan.step.index': number - 10 },
})
const tool = (
  number: number,
  parent: number,
  start: number,
  end: number,
  more: Partial<TestSpan> = {},
): TestSpan => ({
  spanId: id(number),
  parentSpanId: id(parent),
  name: 'execute_tool pay',
  start,
  end,
  ...more,
  attributes: { 'gen_ai.tool.name': 'pay', ...more.attributes },
})
const model = (number: number, parent: number, start: number, end: number, error?: string): TestSpan => ({
  spanId: id(number),
  parentSpanId: id(parent),
  name: 'chat m',
  start,
  end,
  ...(error !== undefined && { error }),
  attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' },
})

function rowsOf(spans: TestSpan[], nowMs?: number, resource: object = {}) {
  const store = new Store({ file: ':memory:' })
  const here = { 'service.name': 'test', ...resource }
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans, here))), 'json').items)
  return store.run(TRACE, 0, nowMs)!
}

function why(spans: TestSpan[], nowMs?: number, resource: object = {}) {
  const { rows, summary } = rowsOf(spans, nowMs, resource)
  return whyOf(buildTree(rows)!, summary)
}

it('is the innermost failure after which nothing was done', () => {
  expect(
    why([
      runSpan('error', { error: 'gave up' }),
      step(10, 0, 40),
      tool(2, 10, 0, 10, { error: 'flaky' }),
      model(3, 10, 20, 40),
      step(11, 40, 100, 'gave up'),
      model(4, 11, 40, 90, '429: too many requests'),
    ]),
  ).toEqual({ what: 'failed', spanId: id(4), where: ['step 1', 'm'], message: '429: too many requests' })
})

it('is not what the run got over', () => {
  expect(
    why([
      runSpan('error', { error: 'the answer is no JSON' }),
      step(10, 0, 100),
      tool(2, 10, 0, 10, { error: 'flaky' }),
      model(3, 10, 20, 40),
    ]),
  ).toEqual({ what: 'failed', spanId: id(1), where: [], message: 'the answer is no JSON' })
})

it('is what the run failed with, and no other call at the same time', () => {
  const down = 'the database is down'
  const spans = [
    runSpan('error', { error: down }),
    step(10, 0, 50, down),
    tool(2, 10, 0, 30, { error: down }),
    tool(3, 10, 1, 30, { error: 'not allowed here' }),
  ]
  expect(why(spans)).toMatchObject({ spanId: id(2), message: down })
})

it('is the gate or the person that refused, in their words', () => {
  const denied = {
    'hookspan.gate.id': 'sql-guard',
    'hookspan.gate.decision': 'deny',
    'hookspan.gate.code': 'drop_table',
    'hookspan.gate.reason': 'No table is dropped\nhere.',
    'hookspan.gate.enforced': true,
  }
  const call = tool(2, 10, 0, 10, { events: [{ name: 'hookspan.gate', at: 5, attributes: denied }] })
  expect(why([runSpan('denied'), step(10, 0, 50), call])).toEqual({
    what: 'denied',
    spanId: id(2),
    where: ['step 0', 'pay', 'sql-guard'],
    message: 'drop_table: No table is dropped here.',
  })
  const asked: TestSpan = {
    spanId: id(3),
    parentSpanId: id(2),
    name: 'human_intervention',
    start: 20,
    attributes: { 'hookspan.human.action': 'reject', 'hookspan.human.approver': 'ines' },
  }
  expect(why([runSpan('denied'), step(10, 0, 50), tool(2, 10, 0, 30), asked])).toMatchObject({
    spanId: id(3),
    message: 'ines rejected it.',
  })
  const because = { ...asked.attributes, 'hookspan.human.rejection_reason': 'This account\nwas flagged.' }
  expect(
    why([runSpan('denied'), step(10, 0, 50), tool(2, 10, 0, 30), { ...asked, attributes: because }])?.message,
  ).toBe('ines rejected it: This account was flagged.')
})

it('is where a killed run was, and the limit that stopped one', () => {
  const began = { attributes: { 'hookspan.span.state': 'started' } }
  const open = (span: TestSpan): TestSpan => ({
    ...span,
    end: span.start ?? 0,
    attributes: { ...span.attributes, ...began.attributes },
  })
  const spans = [open(runSpan('')), step(10, 0, 10), open(step(11, 10, 0)), open(tool(2, 11, 20, 0))]
  expect(why(spans, Date.now() + 3_600_000)).toEqual({
    what: 'interrupted',
    spanId: id(2),
    where: ['step 1', 'pay'],
    message: 'It never ended: its process died, shut down its tracing, or was not heard of again.',
  })
  expect(why([runSpan('max_steps'), step(10, 0, 10), step(11, 10, 20)])).toEqual({
    what: 'stopped',
    spanId: id(11),
    where: ['step 1'],
    message: 'The run reached its limit of steps.',
  })
})

it('is nothing where all is well, or goes on', () => {
  expect(why([runSpan('done'), step(10, 0, 10), tool(2, 10, 0, 5, { error: 'flaky' })])).toBeUndefined()
})

it.each([
  ['a text', 'Error: no such order', 'Error: no such order'],
  ['what our tracing puts a text into', '{"content":"Error: no \\"such\\" order"}', 'Error: no "such" order'],
  [
    'one that is longer than what is read of it',
    `{"error":"no such order ${'x'.repeat(5_000)}"}`,
    /^no such order x+…$/,
  ],
  ['an object of other fields', '{"code":404}', '{"code":404}'],
])('is the result of a tool that only reported a failure: %s', (_what, result, message) => {
  const failed = tool(2, 1, 0, 10, {
    error: 'the tool reported a failure',
    attributes: { 'gen_ai.tool.call.result': result, 'error.type': 'tool_error' },
  })
  const { rows } = rowsOf([runSpan('error'), failed])
  expect(rows[1]!.errorText).toEqual(typeof message === 'string' ? message : expect.stringMatching(message))
})

it('is what the tool says of its failure, not its result', () => {
  const failed = tool(2, 1, 0, 10, {
    error: '503',
    attributes: { 'gen_ai.tool.call.result': 'half of it' },
  })
  expect(rowsOf([runSpan('error'), failed]).rows[1]!.errorText).toBe('503')
})

it('is one failure, however many were it in: a call, not also its step and its run', () => {
  const failed = [runSpan('error', { error: 'no' }), step(10, 0, 40, 'no'), model(3, 10, 20, 40, 'no')]
  expect(rowsOf(failed).summary.errors).toBe(1)
  // What was got over is another one, and so is a run that fails after it went on.
  const flaky = tool(2, 10, 0, 10, { error: 'flaky' })
  expect(rowsOf([...failed, flaky]).summary.errors).toBe(2)
  const later = [runSpan('error', { error: 'no time' }), step(10, 0, 40), flaky, model(3, 10, 20, 40)]
  expect(rowsOf(later).summary.errors).toBe(2)
})
