import { expect, it } from 'vitest'
import { approvalContext } from '../../src/viewer/model/approval-context.ts'
import { finish } from '../../src/viewer/model/in-turns.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { id, otlp, type TestSpan, TRACE } from './support.ts'

const said = (...texts: string[]) => JSON.stringify(texts.map((content) => ({ role: 'user', content })))
const agent = (
  number: number,
  parent: number,
  name: string,
  more: TestSpan['attributes'] = {},
): TestSpan => ({
  spanId: id(number),
  ...(parent > 0 && { parentSpanId: id(parent) }),
  start: number,
  attributes: {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': name,
    'hookspan.span.state': 'started',
    ...more,
  },
})
const call = (number: number, parent: number, more: TestSpan['attributes'] = {}): TestSpan => ({
  spanId: id(number),
  parentSpanId: id(parent),
  start: number,
  attributes: {
    'gen_ai.tool.name': 'pay',
    'gen_ai.tool.call.id': 'c1',
    'hookspan.span.state': 'started',
    ...more,
  },
})
const chat = (number: number, parent: number, input: string): TestSpan => ({
  spanId: id(number),
  parentSpanId: id(parent),
  start: number,
  attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.input.messages': input },
})

function contextOf(...spans: TestSpan[]) {
  const store = new Store({ file: ':memory:' })
  const resource = { 'service.name': 'test', 'process.pid': process.pid }
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans, resource))), 'json').items)
  const run = finish(store.reading(TRACE))!
  return finish(approvalContext(run.rows, run.open, 'c1'))
}

it('is what the user said last, and what the agent that asks was told by the one above it', () => {
  expect(
    contextOf(
      agent(1, 0, 'support'),
      chat(2, 1, said('hello', 'refund me')),
      agent(3, 1, 'cashier'),
      chat(4, 3, said('pay back 4711')),
      call(5, 3),
    ),
  ).toEqual({ path: ['support', 'cashier'], userMessage: 'refund me', instruction: 'pay back 4711' })
})

it('is read from what the agents were given, where no model was called yet', () => {
  expect(
    contextOf(
      agent(1, 0, 'support', { 'gen_ai.input.messages': said('refund me') }),
      agent(3, 1, 'cashier', { 'gen_ai.input.messages': said('pay back') }),
      call(5, 3),
    ),
  ).toEqual({ path: ['support', 'cashier'], userMessage: 'refund me', instruction: 'pay back' })
})

it('goes by the call that waits, where one with its id has ended', () => {
  expect(
    contextOf(
      agent(1, 0, 'support'),
      agent(2, 1, 'first'),
      call(3, 2, { 'hookspan.span.state': '' }),
      call(4, 1),
    ),
  ).toEqual({ path: ['support'] })
})

it('names nobody when the call has not come', () => {
  expect(contextOf(agent(1, 0, 'support'), chat(2, 1, said('refund me')))).toEqual({
    path: [],
    userMessage: 'refund me',
  })
})
