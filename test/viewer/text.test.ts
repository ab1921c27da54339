/** Runs as text: numbers and the tree, with what has not ended or went wrong. */
import { expect, it } from 'vitest'
import { buildConversation } from '../../src/viewer/model/conversation.ts'
import { formatCount, formatDuration } from '../../src/viewer/model/format.ts'
import { lintRun } from '../../src/viewer/model/lint.ts'
import { seenBy } from '../../src/viewer/model/seen.ts'
import { criticalPath, endOf } from '../../src/viewer/model/timing.ts'
import { buildTree, emptyRow, flatten } from '../../src/viewer/model/tree.ts'
import { sumsOf } from '../../src/viewer/model/tree-parts.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { createPaint } from '../../src/viewer/text/paint.ts'
import { conversationText } from '../../src/viewer/text/show-text.ts'
import { treeText } from '../../src/viewer/text/tree-text.ts'
import { id, otlp, type TestSpan, TRACE } from './support.ts'

const agent = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'a' }
const chat = (inputTokens: number) => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': 'm',
  'gen_ai.usage.input_tokens': inputTokens,
})

function load(spans: TestSpan[]) {
  const store = new Store({ file: ':memory:' })
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items)
  return { ...store.run(TRACE)!, open: (spanId: string) => store.span(TRACE, spanId) }
}

const lines = (spans: TestSpan[]) =>
  treeText(load(spans).rows, { paint: createPaint(false), width: 100, nowMs: Date.now() })

it.each([
  [0.9996, '1.0 ms'],
  [9.97, '10 ms'],
  [999.7, '1.00 s'],
  [9996, '10.0 s'],
  [59_970, '1 m 0 s'],
  [119_600, '2 m 0 s'],
  [3_599_900, '1 h 0 m'],
])('%d milliseconds are %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

it('counts are rounded to the next unit, never past it', () => {
  expect([99_960, 999_700].map(formatCount)).toEqual(['100k', '1.0M'])
})

it('a call that is made again after it failed says which try it is; one after a refusal, or with other arguments, does not', () => {
  const tool = (number: number, args: string, more: Partial<TestSpan> = {}): TestSpan => ({
    spanId: id(number),
    parentSpanId: id(1),
    name: 'execute_tool pay',
    start: number * 10,
    ...more,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'pay',
      'gen_ai.tool.call.arguments': args,
      ...more.attributes,
    },
  })
  const model = (number: number, error?: string): TestSpan => ({
    spanId: id(number),
    parentSpanId: id(1),
    name: 'chat m',
    start: number * 10,
    attributes: chat(1),
    ...(error !== undefined && { error }),
  })
  const denied = { error: 'no', attributes: { 'hookspan.tool.outcome': 'denied' } }
  const told = lines([
    { spanId: id(1), name: 'invoke_agent a', end: 200, attributes: agent },
    model(2, '429'),
    model(3, '429'),
    model(4),
    tool(5, '{"a":1}', { error: 'busy', end: 65 }),
    tool(6, '{"a":1}'),
    tool(7, '{"a":1}', { error: 'busy' }),
    tool(8, '{"a":2}'),
    model(9),
    tool(10, '{"a":1}'),
    tool(11, '{"a":1}'),
    tool(12, '{"b":1}', denied),
    tool(13, '{"b":1}'),
  ])
  // The sixth began before the fifth had failed.
  expect(told.slice(2).map((line) => /try \d/.exec(line)?.[0])).toEqual([
    undefined,
    'try 2',
    'try 3',
    ...Array(5).fill(undefined),
    'try 2',
    ...Array(3).fill(undefined),
  ])
})

it('a compaction that failed is not told as one that left nothing', () => {
  const failed: TestSpan[] = [
    { spanId: id(1), name: 'invoke_agent a', end: 100, attributes: agent },
    {
      spanId: id(2),
      parentSpanId: id(1),
      name: 'compact_context',
      start: 10,
      end: 14,
      error: '503 overloaded',
      attributes: { 'hookspan.compaction.tokens_before': 1180 },
    },
  ]
  expect(lines(failed)[2]).toContain('compact_context  ✗ 503 overloaded, 1,180 tokens')
  const { rows, open } = load(failed)
  expect(buildConversation(rows, open).items).toContainEqual(
    expect.objectContaining({ kind: 'compaction', error: '503 overloaded', tokensAfter: undefined }),
  )
})

it('what runs and who is waited for is said with the time until now', () => {
  const started = (attributes: TestSpan['attributes']) => ({
    ...attributes,
    'hookspan.span.state': 'started',
  })
  const text = lines([
    { spanId: id(1), name: 'invoke_agent a', end: 0, attributes: started(agent) },
    {
      spanId: id(2),
      parentSpanId: id(1),
      name: 'human_intervention',
      start: 1,
      end: 1,
      attributes: started({}),
    },
  ])
  expect(text[1]).toMatch(/^invoke_agent a {2}running +1\d\.\d s$/)
  expect(text[2]).toMatch(/human_intervention {2}waiting +1\d\.\d s$/)
})

it.each(['tool_calls', 'toolUse', 'tool-calls'])(
  'a conversation marks what failed, was cut, refused or ended early, and not %s',
  (whole) => {
    const said = (...messages: object[]) => JSON.stringify(messages)
    const text = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] })
    const cut = text('system', '[hookspan: 2 messages, 113047 bytes cut]')
    const calls = { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'pay', arguments: {} }] }
    const { rows, open } = load([
      { spanId: id(1), name: 'invoke_agent a', end: 100, attributes: agent },
      {
        ...{ spanId: id(2), parentSpanId: id(1), name: 'chat m', start: 1, end: 5 },
        attributes: {
          ...chat(10),
          'gen_ai.input.messages': said(text('system', 'You help.'), cut, text('user', 'Hi')),
          'gen_ai.output.messages': said(calls),
          'gen_ai.response.finish_reasons': [whole],
        },
      },
      {
        ...{
          spanId: id(3),
          parentSpanId: id(1),
          name: 'execute_tool pay',
          start: 6,
          end: 9,
          error: 'no money',
        },
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'pay',
          'gen_ai.tool.call.id': 'c1',
        },
      },
      {
        ...{ spanId: id(4), parentSpanId: id(1), name: 'human_intervention', start: 9, end: 10 },
        attributes: { 'hookspan.human.action': 'reject', 'hookspan.human.rejection_reason': 'too much' },
      },
      {
        ...{
          spanId: id(5),
          parentSpanId: id(1),
          name: 'chat m',
          start: 11,
          end: 15,
          error: '503 overloaded',
        },
        attributes: { ...chat(10), 'gen_ai.input.messages': said(text('user', 'Go on')) },
      },
      {
        ...{ spanId: id(6), parentSpanId: id(1), name: 'chat m', start: 16, end: 20 },
        attributes: {
          ...chat(10),
          'gen_ai.output.messages': said(text('assistant', 'It is')),
          'gen_ai.response.finish_reasons': ['length'],
        },
      },
    ])
    const told = conversationText(buildConversation(rows, open), createPaint(false)).split('\n')
    expect(told).toEqual(
      expect.arrayContaining([
        'not recorded',
        '  ✗ no money',
        '☺ reject because: too much',
        '✗ 503 overloaded',
        '── 3 ── the reply ended by length',
      ]),
    )
    expect(told.filter((line) => /the reply ended|^system/.test(line))).toEqual([
      'system',
      '── 3 ── the reply ended by length',
    ])
  },
)

it('the mark of what is not recorded is no message, and what it stands for was sent', () => {
  const words = (...all: string[]) => all.map((content) => ({ role: 'user', content }))
  const mark = (count: number) => ({
    role: 'system',
    content: `[hookspan: ${count} messages, 9000 bytes cut]`,
  })
  const call = (number: number, messages: object[]): TestSpan => ({
    ...{ spanId: id(number), parentSpanId: id(1), name: 'chat m', start: number, end: number + 1 },
    attributes: { ...chat(10), 'gen_ai.input.messages': JSON.stringify(messages) },
  })
  const { rows, open } = load([
    { spanId: id(1), name: 'invoke_agent a', end: 100, attributes: agent },
    call(2, words('a', 'b', 'c')),
    call(4, [mark(2), ...words('c', 'd')]),
    call(6, [mark(3), ...words('d', 'e')]),
    call(8, words('e')),
  ])
  const steps = buildConversation(rows, open).items.filter((item) => item.kind === 'step')
  expect(steps.map(({ messages, added, gone }) => [messages, added, gone])).toEqual([
    [3, 3, 0],
    [4, 1, 0],
    [5, 1, 0],
    [1, 0, 4],
  ])
  expect(seenBy({ rows, open, spanId: id(4) })!.gone).toEqual([])
  expect(seenBy({ rows, open, spanId: id(8) })!.gone).toEqual(['user: d'])
})

it.each(['a gate', 'a person'])(
  'where %s changed it, what the model asked for is told beside what ran',
  (who) => {
    const asked = { type: 'tool_call', id: 'c1', name: 'pay', arguments: { eur: 900 } }
    const tool: TestSpan = {
      ...{ spanId: id(3), parentSpanId: id(1), name: 'execute_tool pay', start: 6, end: 9 },
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'pay',
        'gen_ai.tool.call.id': 'c1',
        'gen_ai.tool.call.arguments': '{"eur":10}',
        'gen_ai.tool.call.result': '{"ok":true}',
      },
    }
    const mutate = { 'hookspan.gate.id': 'cap', 'hookspan.gate.decision': 'mutate' }
    const byGate: TestSpan[] = [{ ...tool, events: [{ name: 'hookspan.gate', at: 7, attributes: mutate }] }]
    const answer: TestSpan = {
      ...{ spanId: id(4), parentSpanId: id(3), name: 'human_intervention', start: 7, end: 8 },
      attributes: { 'hookspan.human.action': 'edit' },
    }
    const model: TestSpan = {
      ...{ spanId: id(2), parentSpanId: id(1), name: 'chat m', start: 1, end: 5 },
      attributes: {
        ...chat(10),
        'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [asked] }]),
      },
    }
    const root: TestSpan = { spanId: id(1), name: 'invoke_agent a', end: 100, attributes: agent }
    const { rows, open } = load([root, model, ...(who === 'a gate' ? byGate : [tool, answer])])
    const told = conversationText(buildConversation(rows, open), createPaint(false))
    expect(told).toContain('⚙ pay({ "eur": 10 })\n  the model asked for { "eur": 900 }')
    expect(seenBy({ rows, open, spanId: id(3) })!.asked).toBe('{"eur":900}')
    const bare = load([root, model, tool])
    expect(conversationText(buildConversation(bare.rows, bare.open), createPaint(false))).not.toContain(
      'asked for',
    )
    expect(seenBy({ ...bare, spanId: id(3) })!.asked).toBeUndefined()
  },
)

it('a picture counts as a picture, not as the letters it is written in', () => {
  const picture = { type: 'blob', modality: 'image', mime_type: 'image/png', content: 'A'.repeat(400_000) }
  const parts = [{ type: 'text', content: 'What is it?' }, picture]
  const { rows, open } = load([
    {
      ...{ spanId: id(1), name: 'chat m', end: 5 },
      attributes: { ...chat(10), 'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts }]) },
    },
  ])
  const [step] = buildConversation(rows, open).items
  expect(step).toMatchObject({ kind: 'step', chars: { user: 4_011 } })
})

it('a lint report says how many model calls it could not read', () => {
  const said = { ...chat(10), 'gen_ai.input.messages': '[{"role":"user","content":"Hi"}]' }
  const { rows, open } = load([
    { spanId: id(1), name: 'chat m', end: 5, attributes: said },
    { spanId: id(2), name: 'chat m', start: 6, end: 9, attributes: chat(10) },
  ])
  expect(lintRun(rows, open)).toMatchObject({ calls: 1, unreadCalls: 1, score: 100 })
})

it('what was interrupted lasted until the last thing in it that is known', () => {
  const row = (spanId: string, parentSpanId: string, startUs: number, endUs: number) => ({
    ...emptyRow(spanId, spanId),
    ...{ parentSpanId, startUs, endUs, category: 'tool' as const },
    state: endUs === 0 ? ('interrupted' as const) : ('ended' as const),
  })
  const root = buildTree([row('a', '', 1_000, 0), row('b', 'a', 2_000, 0), row('c', 'b', 3_000, 9_000)])!
  expect(flatten(root).map((node) => endOf(node.row, 99_000))).toEqual([9_000, 9_000, 9_000])
  expect([...criticalPath(root, 99_000)]).toEqual(['a', 'b', 'c'])
})

it('the tokens of nested instrumentation count once for an agent, as for the run', () => {
  const { rows, summary } = load([
    { spanId: id(1), name: 'invoke_agent a', end: 100, attributes: agent },
    { spanId: id(2), parentSpanId: id(1), name: 'chat m', start: 1, end: 50, attributes: chat(40) },
    { spanId: id(3), parentSpanId: id(2), name: 'chat m', start: 2, end: 49, attributes: chat(40) },
  ])
  const root = buildTree(rows)!
  expect(sumsOf(root).get(root)).toMatchObject({ inputTokens: 40 })
  expect(summary.inputTokens).toBe(40)
})
