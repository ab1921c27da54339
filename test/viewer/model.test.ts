import { describe, expect, it } from 'vitest'
import { buildGraph } from '../../src/viewer/model/agent-graph.ts'
import { modelCall } from '../../src/viewer/model/call-content.ts'
import { buildConversation } from '../../src/viewer/model/conversation.ts'
import { digestSpan } from '../../src/viewer/model/digest.ts'
import { eventLog } from '../../src/viewer/model/event-log.ts'
import { lintRun } from '../../src/viewer/model/lint.ts'
import { mockRule } from '../../src/viewer/model/mock-rule.ts'
import type { SpanRecord } from '../../src/viewer/model/span.ts'
import { diffLines } from '../../src/viewer/model/text-diff.ts'
import { criticalPath, timeBreakdown } from '../../src/viewer/model/timing.ts'
import { buildTree, flatten } from '../../src/viewer/model/tree.ts'
import { plainSpan } from '../../src/viewer/otlp/plain.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { SAMPLE_TRACE, sampleRun } from './sample-run.ts'
import { id, otlp, otlpSpan, type TestSpan, TRACE } from './support.ts'

function load(traces: object, traceId = TRACE) {
  const store = new Store({ file: ':memory:' })
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(traces)), 'json').items)
  const run = store.run(traceId)!
  return {
    ...run,
    tree: buildTree(run.rows)!,
    open: (spanId: string) => store.span(traceId, spanId),
    records: [...store.records(traceId)],
  }
}

const record = (span: TestSpan): SpanRecord => plainSpan(otlpSpan(span) as never)
const sample = () => load(sampleRun(), SAMPLE_TRACE)

describe('where the time went', () => {
  it('adds up to the run, each moment counted once for the innermost work', () => {
    const { tree, summary } = sample()
    const times = timeBreakdown(tree, 0)
    expect(Object.values(times).reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(summary.durationMs, 0)
    expect(times.human).toBeCloseTo(5400, 0)
    expect(times.model).toBeCloseTo(1810 + 2040 + 1520 + 1710 + 1680 + 2360, 0)
  })

  it('counts tools that run at once as one', () => {
    const tool = (number: number, start: number, end: number) => ({
      spanId: id(number),
      parentSpanId: id(1),
      start,
      end,
      attributes: { 'gen_ai.tool.name': 'x' },
    })
    const { tree } = load(otlp([{ spanId: id(1), start: 0, end: 100 }, tool(2, 10, 60), tool(3, 20, 80)]))
    expect(timeBreakdown(tree, 0)).toEqual({ model: 0, tool: 70, human: 0, other: 0, idle: 30 })
  })

  it('finds the critical path: what each moment of the end waited for', () => {
    const span = (number: number, start: number, end: number, parent = 1) => ({
      spanId: id(number),
      parentSpanId: number === 1 ? '' : id(parent),
      start,
      end,
    })
    const { tree } = load(
      otlp([
        span(1, 0, 100),
        span(2, 0, 40),
        span(3, 5, 60),
        span(4, 60, 95),
        span(5, 62, 90, 4),
        span(6, 61, 70, 4),
      ]),
    )
    expect([...criticalPath(tree, 0)].sort()).toEqual([id(1), id(3), id(4), id(5)])
  })
})

describe('the tree', () => {
  it('gives each decision of a gate a row, whether it left a span or an event', () => {
    const gates = flatten(sample().tree).filter((node) => node.row.category === 'gate')
    expect(
      gates.map((node) => [node.row.label, node.row.gates?.[0]?.decision, node.row.gates?.[0]?.enforced]),
    ).toEqual([
      ['tool-policy', 'proceed', true],
      ['sql-guard', 'deny', true],
      ['ask-before-paying', 'require_approval', true],
      ['budget-service', 'deny', false],
    ])
  })
})

describe('the conversation', () => {
  it.each(['', ' \n', undefined])('shows no message of a model that only calls its tools: %j', (content) => {
    const said = (parts: object[]) => JSON.stringify([{ role: 'assistant', parts }])
    const call = { type: 'tool_call', id: 'c1', name: 'look', arguments: {} }
    const text = content === undefined ? [] : [{ type: 'text', content }]
    const { rows, open } = load(
      otlp([
        {
          ...{ spanId: id(1), name: 'chat m' },
          attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.output.messages': said([...text, call]) },
        },
      ]),
    )
    const kinds = buildConversation(rows, open).items.map(({ kind }) => kind)
    expect(kinds).toEqual(['step', 'tool'])
  })

  it('shows each message once, each call as one card, and what a compaction took away', () => {
    const { rows, open } = sample()
    const { items } = buildConversation(rows, open)
    expect(
      items.map((item) =>
        item.kind === 'message'
          ? item.role
          : item.kind === 'tool'
            ? item.name
            : item.kind === 'step'
              ? `step ${item.step}`
              : item.kind,
      ),
    ).toEqual([
      'step 0',
      'system',
      'user',
      'assistant',
      'search_bookings',
      'step 1',
      'assistant',
      'researcher',
      'drop_table',
      'agent',
      'compaction',
      'step 2',
      'user',
      'cancel_booking',
      'human',
      'step 3',
      'assistant',
    ])
    expect(items.find((item) => item.kind === 'compaction')).toMatchObject({
      tokensBefore: 14_200,
      dropped: [
        expect.stringContaining('user: Hi, I am Mei Sato'),
        expect.stringContaining('assistant: search_bookings'),
        expect.stringContaining('tool: {"bookings"'),
      ],
    })
    expect(items.find((item) => item.kind === 'tool' && item.name === 'drop_table')).toMatchObject({
      outcome: 'denied',
      gates: [{ id: 'sql-guard' }],
    })
  })

  it('tells two calls with one id apart', () => {
    const call = (query: string) => ({ type: 'tool_call', id: 'same', name: 'find', arguments: { query } })
    const tool = (number: number, query: string, result: string) => ({
      spanId: id(number),
      parentSpanId: id(1),
      start: number,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'find',
        'gen_ai.tool.call.id': 'same',
        'gen_ai.tool.call.arguments': JSON.stringify({ query }),
        'gen_ai.tool.call.result': JSON.stringify({ result }),
      },
    })
    const { rows, open } = load(
      otlp([
        {
          spanId: id(1),
          start: 0,
          end: 50,
          attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'a' },
        },
        {
          spanId: id(2),
          parentSpanId: id(1),
          start: 1,
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.output.messages': JSON.stringify([
              { role: 'assistant', parts: [call('one'), call('two')] },
            ]),
          },
        },
        tool(3, 'one', 'first'),
        tool(4, 'two', 'second'),
      ]),
    )
    const [agent] = buildConversation(rows, open).items
    const cards = (agent?.kind === 'agent' ? agent.items : buildConversation(rows, open).items).filter(
      (item) => item.kind === 'tool',
    )
    expect(
      cards.map((card) => [
        card.args.text.replace(/\s/g, ''),
        card.result?.text.replace(/\s/g, ''),
        card.spanId,
      ]),
    ).toEqual([
      ['{"query":"one"}', '{"result":"first"}', id(3)],
      ['{"query":"two"}', '{"result":"second"}', id(4)],
    ])
  })
})

describe('the graph', () => {
  it('says who called whom and how often', () => {
    const graph = buildGraph(sample().tree)
    const label = (nodeId: string) => graph.nodes.find((node) => node.id === nodeId)!.label
    expect(
      graph.edges.map((edge) => `${label(edge.from)} → ${label(edge.to)} ×${edge.calls}`).sort(),
    ).toEqual([
      'cancel_booking → human ×1',
      'researcher → fetch_page ×2',
      'researcher → gpt-4o ×2',
      'support → cancel_booking ×1',
      'support → drop_table ×1',
      'support → gpt-4o ×4',
      'support → researcher ×1',
      'support → search_bookings ×1',
    ])
    // A refused call has the status of an error in its span, and is one of a kind here.
    expect(graph.nodes.find((node) => node.label === 'drop_table')).toMatchObject({
      calls: 1,
      errors: 0,
      refused: 1,
    })
  })
})

describe('context lint', () => {
  const chat = (messages: object[], more: Record<string, string> = {}) =>
    load(
      otlp([
        {
          spanId: id(1),
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.input.messages': JSON.stringify(messages),
            ...more,
          },
        },
      ]),
    )
  const rules = (run: ReturnType<typeof load>) =>
    lintRun(run.rows, run.open)
      .findings.map((finding) => finding.rule)
      .sort()
  const call = (callId: string) => ({
    role: 'assistant',
    parts: [{ type: 'tool_call', id: callId, name: 'read', arguments: {} }],
  })
  const result = (callId: string, response: string) => ({
    role: 'tool',
    parts: [{ type: 'tool_call_response', id: callId, response }],
  })
  const block =
    'Rule: be kind to everyone who writes to you, whatever they say and however they say it. '.repeat(6)

  it.each([
    ['oversized-tool-result', [call('a'), result('a', 'x'.repeat(20_000))]],
    ['oversized-error', [call('a'), result('a', `Error: ${'at frame '.repeat(400)}`)]],
    [
      'repeated-block',
      [
        { role: 'system', content: block },
        { role: 'user', content: `${block}\n\nHello` },
      ],
    ],
    ['repetition', [{ role: 'assistant', content: 'again and again\n'.repeat(9) }]],
    ['orphan-tool-result', [call('a'), result('a', 'ok'), result('b', 'who asked?')]],
    ['orphan-tool-call', [call('a'), result('a', 'ok'), call('b')]],
    [
      'bloated-system-prompt',
      [{ role: 'system', content: Array.from({ length: 5000 }, (_, at) => `rule ${at}`).join(' ') }],
    ],
  ] as [string, object[]][])('finds: %s', (rule, messages) => {
    expect(rules(chat(messages))).toEqual([rule])
  })

  it('finds bloated and unused tool definitions', () => {
    const tools = Array.from({ length: 12 }, (_, at) => ({
      type: 'function',
      name: `tool_${at}`,
      description: 'long '.repeat(400),
    }))
    expect(
      rules(chat([{ role: 'user', content: 'hi' }], { 'gen_ai.tool.definitions': JSON.stringify(tools) })),
    ).toEqual(['bloated-tool-definitions', 'unused-tools'])
  })

  it('finds nothing in a clean run and says so with a full score', () => {
    const { rows, open } = sample()
    expect(lintRun(rows, open)).toEqual({ findings: [], score: 100, calls: 6, unreadCalls: 0 })
  })
})

describe('a span as a mock rule', () => {
  const tool = (args: string, more: Partial<TestSpan> = {}, result = '{"tempC":7,"it\'s":"a \\"quote\\""}') =>
    mockRule(
      record({
        spanId: id(1),
        ...more,
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'get_weather',
          'gen_ai.tool.call.arguments': args,
          'gen_ai.tool.call.result': result,
        },
      }),
    )

  it('repeats the call and its result, or its error', () => {
    expect(tool('{"city":"Berlin"}')).toBe(
      "mock('get_weather').when({ city: 'Berlin' }).returns({ tempC: 7, 'it\\'s': 'a \"quote\"' })",
    )
    expect(tool('{}', { error: 'sold\nout' })).toBe("mock('get_weather').throws(new Error('sold\\nout'))")
    expect(mockRule(record({ spanId: id(1), name: 'step 0' }))).toBeUndefined()
  })

  it('is code that means what was recorded, whatever the strings hold', () => {
    const hostile = { "'+alert(1)+'": '\u2028`$' + '{x}`\\', __proto__x: [1, null, { deep: ["'"] }] }
    const code = tool(JSON.stringify(hostile), {}, JSON.stringify(hostile))!
    const seen: unknown[] = []
    const chain = {
      when(args: unknown) {
        seen.push(args)
        return chain
      },
      returns(value: unknown) {
        seen.push(value)
        return chain
      },
    }
    new Function('mock', code)(() => chain)
    expect(seen).toEqual([hostile, hostile])
  })
})

describe('messages of other conventions', () => {
  const call = (attributes: Record<string, string | number>, events: TestSpan['events'] = []) =>
    modelCall(record({ spanId: id(1), attributes, events }))
  const expected = {
    input: [
      { role: 'system', parts: [{ type: 'text', text: 'Be brief' }] },
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
    ],
    output: [
      {
        role: 'assistant',
        parts: [
          { type: 'text', text: 'Hello' },
          { type: 'tool_call', id: 'c1', name: 'find', arguments: { q: 'x' } },
        ],
      },
    ],
  }

  it.each([
    [
      'OpenTelemetry',
      {
        'gen_ai.system_instructions': '[{"type":"text","content":"Be brief"}]',
        'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]',
        'gen_ai.output.messages':
          '[{"role":"assistant","parts":[{"type":"text","content":"Hello"},{"type":"tool_call","id":"c1","name":"find","arguments":{"q":"x"}}]}]',
      },
    ],
    [
      'OpenAI messages',
      {
        'gen_ai.prompt': '[{"role":"system","content":"Be brief"},{"role":"user","content":"Hi"}]',
        'gen_ai.completion':
          '[{"role":"assistant","content":"Hello","tool_calls":[{"id":"c1","type":"function","function":{"name":"find","arguments":"{\\"q\\":\\"x\\"}"}}]}]',
      },
    ],
    [
      'OpenInference',
      {
        'llm.input_messages.0.message.role': 'system',
        'llm.input_messages.0.message.content': 'Be brief',
        'llm.input_messages.1.message.role': 'user',
        'llm.input_messages.1.message.contents.0.message_content.type': 'text',
        'llm.input_messages.1.message.contents.0.message_content.text': 'Hi',
        'llm.output_messages.0.message.role': 'assistant',
        'llm.output_messages.0.message.content': 'Hello',
        'llm.output_messages.0.message.tool_calls.0.tool_call.id': 'c1',
        'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'find',
        'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments': '{"q":"x"}',
      },
    ],
    [
      'Traceloop',
      {
        'gen_ai.prompt.0.role': 'system',
        'gen_ai.prompt.0.content': 'Be brief',
        'gen_ai.prompt.1.role': 'user',
        'gen_ai.prompt.1.content': 'Hi',
        'gen_ai.completion.0.role': 'assistant',
        'gen_ai.completion.0.content': 'Hello',
        'gen_ai.completion.0.tool_calls.0.id': 'c1',
        'gen_ai.completion.0.tool_calls.0.name': 'find',
        'gen_ai.completion.0.tool_calls.0.arguments': '{"q":"x"}',
      },
    ],
    [
      'the AI SDK',
      {
        'ai.prompt.messages':
          '[{"role":"system","content":"Be brief"},{"role":"user","content":[{"type":"text","text":"Hi"}]}]',
        'ai.response.text': 'Hello',
        'ai.response.toolCalls': '[{"toolCallId":"c1","toolName":"find","input":{"q":"x"}}]',
      },
    ],
  ] as [string, Record<string, string>][])('%s read as the same call', (_name, attributes) => {
    expect(call(attributes)).toMatchObject(expected)
  })

  it('reads messages that were events', () => {
    const events: TestSpan['events'] = [
      { name: 'gen_ai.system.message', attributes: { content: 'Be brief' } },
      { name: 'gen_ai.user.message', attributes: { content: 'Hi' } },
      {
        name: 'gen_ai.choice',
        attributes: {
          message:
            '{"role":"assistant","content":"Hello","tool_calls":[{"id":"c1","function":{"name":"find","arguments":"{\\"q\\":\\"x\\"}"}}]}',
        },
      },
    ]
    expect(call({}, events)).toMatchObject(expected)
  })

  it.each([
    ['openinference.span.kind', 'LLM', 'llm'],
    ['openinference.span.kind', 'TOOL', 'tool'],
    ['openinference.span.kind', 'AGENT', 'agent'],
    ['traceloop.span.kind', 'workflow', 'agent'],
    ['traceloop.span.kind', 'tool', 'tool'],
    ['ai.operationId', 'ai.generateText', 'agent'],
    ['ai.operationId', 'ai.generateText.doGenerate', 'llm'],
    ['ai.operationId', 'ai.toolCall', 'tool'],
    ['gen_ai.operation.name', 'constructor', 'other'],
  ])('%s=%s is shown as %s', (key, value, category) => {
    expect(digestSpan('x', { [key]: value }, [], { code: 0, message: '' }).category).toBe(category)
  })
})

describe('line differences', () => {
  it('keep what is common and fold what is far from a change', () => {
    const before = Array.from({ length: 20 }, (_, at) => `line ${at}`)
    const after = before.with(10, 'changed')
    expect(
      diffLines(before.join('\n'), after.join('\n')).map((line) => `${line.kind[0]} ${line.text}`),
    ).toEqual([
      's … 8 unchanged lines',
      's line 8',
      's line 9',
      'r line 10',
      'a changed',
      's line 11',
      's line 12',
      's … 7 unchanged lines',
    ])
  })

  it('are found however far down they are', () => {
    const before = Array.from({ length: 20_000 }, (_, at) => `line ${at}`)
    const lines = diffLines(before.join('\n'), before.with(-1, 'changed').join('\n'))
    expect(lines.slice(-2)).toEqual([
      { kind: 'removed', text: 'line 19999' },
      { kind: 'added', text: 'changed' },
    ])
  })
})

describe('the event log', () => {
  it('lists starts, ends, events and gates in order of time', () => {
    const { rows, records } = sample()
    const log = eventLog(rows, records)
    expect(log.map((entry) => entry.timeUs)).toEqual(log.map((entry) => entry.timeUs).sort((a, b) => a - b))
    expect(
      log.filter((entry) => entry.kind === 'gate').map((entry) => `${entry.name} ${entry.text}`),
    ).toEqual(['tool-policy proceed', 'sql-guard deny policy', 'ask-before-paying require approval'])
    expect(log).toHaveLength(22 * 2 + 3)
  })
})
