import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { deny, requireApproval } from 'hookspan/gates'
import {
  callTools,
  human,
  mock,
  mockTools,
  readTrajectory,
  recordEvents,
  scriptedApprovals,
  scriptedModel,
} from 'hookspan/mock'
import { traceHooks } from 'hookspan/tracing'
import { expect } from 'hookspan/vitest'
import { beforeAll, describe, it } from 'vitest'
import { recordingsFolder } from '../support/recordings-folder.ts'

const tool = (name: string) => ({ name, parameters: { type: 'object' }, execute: () => 'real' })

/** A run with a mocked, a failing, a denied and an approved call, in all the forms in which one can look at it. */
async function run(api: 'chat' | 'responses') {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ tracer: provider.getTracer('test'), captureContent: true }))
  dispatcher.use({
    name: 'policy',
    gates: [
      {
        id: 'policy',
        point: 'beforeToolCall',
        decide: ({ apiName }) =>
          apiName === 'drop'
            ? deny('no drops', { code: 'policy_denied' })
            : apiName === 'refund'
              ? requireApproval({})
              : undefined,
      },
    ],
  })
  const log = recordEvents(dispatcher)
  using _mocks = mockTools(dispatcher, [
    mock('search').returns({ hits: 2 }),
    mock('flaky').throws(new Error('down')),
    mock('refund').returns('refunded'),
  ])
  using _humans = scriptedApprovals(dispatcher, [human('refund').by('anna').edits({ amount: 5 })])
  using client = scriptedModel([
    callTools(['search', { q: 'x' }], ['flaky', {}], ['drop', { table: 't' }], ['refund', { amount: 50 }]),
    'done',
  ])
  const agent = { name: 'support', model: 'm', api, tools: ['search', 'flaky', 'drop', 'refund'].map(tool) }
  const agentRun = await execAgent({ agent, prompt: 'go', dispatcher, client })
  await dispatcher.drain()
  const spans = exporter.getFinishedSpans()
  return { agentRun, log, spans, otlp: toOtlp(spans), jaeger: toJaeger(spans) }
}

type Spans = ReturnType<InMemorySpanExporter['getFinishedSpans']>

function toOtlp(spans: Spans) {
  const value = (v: unknown): object =>
    typeof v === 'string'
      ? { stringValue: v }
      : typeof v === 'boolean'
        ? { boolValue: v }
        : Array.isArray(v)
          ? { arrayValue: { values: v.map(value) } }
          : Number.isInteger(v)
            ? { intValue: String(v) }
            : { doubleValue: v }
  return {
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: spans.map((span) => ({
              name: span.name,
              kind: span.kind + 1,
              traceId: span.spanContext().traceId,
              spanId: span.spanContext().spanId,
              parentSpanId: span.parentSpanContext?.spanId ?? '',
              startTimeUnixNano: `${span.startTime[0]}${String(span.startTime[1]).padStart(9, '0')}`,
              status: span.status.code === 2 ? { code: 'STATUS_CODE_ERROR' } : {},
              attributes: Object.entries(span.attributes).map(([key, v]) => ({ key, value: value(v) })),
            })),
          },
        ],
      },
    ],
  }
}

function toJaeger(spans: Spans) {
  return {
    data: [
      {
        traceID: spans[0]?.spanContext().traceId,
        spans: spans.map((span) => ({
          operationName: span.name,
          traceID: span.spanContext().traceId,
          spanID: span.spanContext().spanId,
          references: span.parentSpanContext
            ? [{ refType: 'CHILD_OF', spanID: span.parentSpanContext.spanId }]
            : [],
          startTime: span.startTime[0] * 1e6 + Math.floor(span.startTime[1] / 1e3),
          tags: [
            ...Object.entries(span.attributes).map(([key, value]) => ({
              key,
              type: typeof value,
              value: Array.isArray(value) ? JSON.stringify(value) : value,
            })),
            { key: 'span.kind', value: ['internal', 'server', 'client'][span.kind] },
            ...(span.status.code === 2 ? [{ key: 'otel.status_code', value: 'ERROR' }] : []),
          ],
        })),
        processes: {},
      },
    ],
  }
}

describe.each(['chat', 'responses'] as const)('a run on the %s API', (api) => {
  let seen: Awaited<ReturnType<typeof run>>
  beforeAll(async () => {
    seen = await run(api)
  })
  const sources = ['agentRun', 'log', 'spans', 'otlp', 'jaeger'] as const

  it.each(sources)('is asserted on as %s', (form) => {
    const source = seen[form]
    expect(source).toMatchTrajectory(
      [
        { name: 'search', args: { q: 'x' }, result: { hits: 2 } },
        { name: 'flaky', outcome: 'errored' },
        { name: 'drop', outcome: 'denied', args: { table: 't' } },
        'refund',
      ],
      { mode: 'unordered', forbidden: ['delete_*'] },
    )
    expect(source).toHaveCalledTool('search', { q: 'x' }, { times: 1 })
    expect(source).not.toHaveCalledTool('search', { q: 'y' })
    expect(source).toHaveCalledTool('refund', { amount: 5 })
    expect(source).toHaveBeenDenied('drop', { code: 'policy_denied', reason: 'no drops' })
    expect(source).not.toHaveBeenDenied('search')
    expect(source).toHaveAskedHuman('refund', { action: 'edit', approver: 'anna', times: 1 })
    expect(source).not.toHaveAskedHuman('search')
  })

  it.each(sources)('has its spans in %s', (form) => {
    expect(seen[form]).toHaveSpans([
      'invoke_agent support',
      { name: 'chat *', kind: 'client', parent: 'step 0' },
      { name: 'execute_tool *', attributes: { 'hookspan.tool.outcome': 'denied' }, under: 'invoke_agent *' },
      { name: /^execute_tool fl/, failed: true },
      { name: 'human_intervention', parent: 'execute_tool refund' },
    ])
    expect(seen[form]).not.toHaveSpans(['execute_tool search', 'execute_tool search'])
  })

  it('knows the agent of each call, where the source tells', () => {
    expect(readTrajectory(seen.spans).map(({ agent }) => agent)).toEqual(Array(4).fill('support'))
    expect(readTrajectory(seen.log).map(({ agent }) => agent)).toEqual(Array(4).fill('support'))
  })
})

describe('an AgentRun whose events are recorded', () => {
  const agent = (name: string, tools: string[], more = {}) => ({
    name,
    model: 'm',
    tools: tools.map(tool),
    ...more,
  })

  it('has made its own calls, not those of the conversation before it', async () => {
    const dispatcher = new HookDispatcher()
    using _mocks = mockTools(dispatcher, [mock('search').returns(1)])
    using client = scriptedModel([callTools(['search', { q: 'x' }]), 'found', 'you are welcome'])
    const searcher = agent('support', ['search'])
    const first = await execAgent({ agent: searcher, prompt: 'find it', dispatcher, client })
    using _log = recordEvents(dispatcher)
    const messages = [...first.messages, { role: 'user' as const, content: 'thanks' }]
    const second = await execAgent({ agent: searcher, messages, dispatcher, client })
    expect(first).toHaveCalledTool('search')
    expect(second).not.toHaveCalledTool('search')
  })

  it('has the spans of its sub-agents, and says what it needs where nothing is recorded', async () => {
    const dispatcher = new HookDispatcher()
    const log = recordEvents(dispatcher)
    using _mocks = mockTools(dispatcher, [mock('researcher > search').named('rule').returns(1)])
    const researcher = agent('researcher', ['search'], { description: 'finds things' })
    using client = scriptedModel([
      callTools(['researcher', { instruction: 'find it' }]),
      callTools(['search', { q: 'x' }]),
      'found',
      'done',
    ])
    const support = agent('support', [], { subAgents: [researcher] })
    const run = await execAgent({ agent: support, prompt: 'go', dispatcher, client })
    expect(run).toHaveSpans([
      { name: 'invoke_agent researcher', parent: 'execute_tool researcher', under: 'invoke_agent support' },
      {
        name: 'execute_tool search',
        under: 'invoke_agent researcher',
        attributes: { 'hookspan.tool.mocked': true, 'hookspan.mock.rule': expect.stringContaining('rule') },
      },
    ])
    log[Symbol.dispose]()
    expect(() => expect(run).toHaveSpans(['step 0'])).toThrow('an AgentRun whose events are recorded')
  })
})

describe('a misspelt expectation', () => {
  const calls = [{ name: 'pay', args: {}, outcome: 'denied', reason: 'no' }]
  it.each([
    ['toHaveCalledTool', () => expect(calls).toHaveCalledTool('pay', {}, { time: 2 } as never)],
    ['toHaveBeenDenied', () => expect(calls).toHaveBeenDenied('pay', { reasn: 'x' } as never)],
    ['toHaveAskedHuman', () => expect({ events: [] }).not.toHaveAskedHuman('pay', { aprover: 'x' } as never)],
    ['toHaveSpans', () => expect([]).not.toHaveSpans([{ nme: 'x' } as never])],
  ])('is refused by %s', (_name, assertion) => {
    expect(assertion).toThrow(/Unknown option `(time|reasn|aprover|nme)`/)
  })
})

describe('a matcher that fails', () => {
  it('says what was found instead', async () => {
    const { log, agentRun, spans } = await run('chat')
    expect(() => expect(log).toHaveCalledTool('search', { q: 'y' })).toThrow(
      /Expected a call of "search" with these arguments, found 0[\s\S]*args\.q: expected "y", got "x"/,
    )
    expect(() => expect(log).not.toHaveCalledTool('search')).toThrow('Expected no call of "search", found 1')
    expect(() => expect(log).not.toHaveCalledTool('search', {}, { times: 1 })).toThrow(
      'Expected not 1 calls of "search" with these arguments, found 1',
    )
    const late = Promise.resolve(agentRun)
    expect(() => expect(late).toHaveCalledTool('search')).toThrow('got a promise. Await it first.')
    expect(() => expect(late).toHaveSpans(['chat *'])).toThrow('got a promise. Await it first.')
    expect(() => expect(spans).toHaveSpans(['execute_tool drp'])).toThrow('nearest: execute_tool drop')
    expect(() => expect(agentRun).toHaveCalledTool('serch')).toThrow(
      /Calls:\n {2}search\({"q":"x"}\) \[mocked\]/,
    )
    expect(() => expect(log).toHaveBeenDenied('search')).toThrow(
      /Denied:\n {2}drop\({"table":"t"}\) \[denied: policy_denied, no drops\]/,
    )
    expect(() => expect(log).toHaveAskedHuman('refund', { action: 'reject' })).toThrow(
      /Asked:\n {2}refund: edit/,
    )
    expect(() => expect(spans).toHaveSpans([{ name: 'execute_tool drop', failed: false }])).toThrow(
      /failed: expected false, got true[\s\S]*Spans:\n {2}invoke_agent support\n {4}step 0/,
    )
    expect(() => expect({ messages: [] }).toHaveAskedHuman()).toThrow(
      'Only events and spans tell whether a human was asked',
    )
    expect(() => expect({ nothing: 1 }).toMatchTrajectory([])).toThrow(
      'Expected an AgentRun, hook events, spans',
    )
  })
})

const data = recordingsFolder()
describe.skipIf(data === undefined)('real traces of other frameworks', () => {
  const folder = join(data ?? '', 'any-agent-otel')
  const files =
    data === undefined
      ? []
      : ['AGNO', 'LANGCHAIN', 'SMOLAGENTS', 'TINYAGENT'].flatMap((framework) =>
          readdirSync(join(folder, framework)).map((file) => join(folder, framework, file)),
        )

  it('are read: each tool span is a call', () => {
    let calls = 0
    let withoutArgs = 0
    for (const file of files) {
      const trace = JSON.parse(readFileSync(file, 'utf8')) as {
        spans: { name: string; attributes: Record<string, string> }[]
      }
      const tools = trace.spans.flatMap(({ name, attributes }) => {
        const openInference =
          attributes['openinference.span.kind'] === 'TOOL' ? (attributes['tool.name'] ?? name) : undefined
        return attributes['gen_ai.tool.name'] ?? openInference ?? []
      })
      const trajectory = readTrajectory(trace)
      expect(trajectory.map(({ name }) => name).sort()).toEqual(tools.sort())
      withoutArgs += trajectory.filter(({ args }) => args === undefined).length
      calls += trajectory.length
    }
    expect(files.length).toBeGreaterThan(50)
    expect(calls).toBeGreaterThan(200)
    // Two spans of an old version name no arguments.
    expect(withoutArgs).toBe(2)
  })

  it('are asserted on', () => {
    const file = files.find((name) => name.includes('21_a3') || name.includes('AGNO/21'))
    const trace = JSON.parse(readFileSync(file as string, 'utf8'))
    expect(trace).toMatchTrajectory([
      { name: 'get_current_time', args: { timezone: 'America/New_York' } },
      { name: 'write_file', args: { text: '2025' } },
    ])
  })
})

describe('conversations in shapes that are not known', () => {
  const call = { name: 'refund', args: { id: '7' }, id: '1' }
  it.each<[string, object[]]>([
    [
      'of LangChain',
      [
        { type: 'human', content: 'hi' },
        { type: 'ai', content: '', tool_calls: [call] },
      ],
    ],
    [
      'of LangChain, as JSON',
      [{ lc: 1, type: 'constructor', id: ['AIMessage'], kwargs: { tool_calls: [call] } }],
    ],
    ['of calls with fields of their own', [{ role: 'assistant', content: null, tool_calls: [call] }]],
    ['of toolCalls', [{ role: 'assistant', content: '', toolCalls: [{ function: call }] }]],
    [
      'of function_call',
      [{ role: 'assistant', content: null, function_call: { name: 'refund', arguments: '{}' } }],
    ],
    [
      'of the Agents SDK, as items of a run',
      [{ type: 'tool_call_item', rawItem: { type: 'function_call', name: 'refund' } }],
    ],
    ['of the AI SDK, as calls', [{ type: 'tool-call', toolCallId: '1', toolName: 'refund', input: {} }]],
    [
      'of the AI SDK, for a page',
      [{ role: 'assistant', parts: [{ type: 'tool-refund', state: 'output-available', input: {} }] }],
    ],
    [
      'of Anthropic, as blocks',
      [
        { type: 'text', text: 'hm' },
        { type: 'tool_use', id: '1', name: 'refund', input: {} },
      ],
    ],
    [
      'of the Claude Agent SDK',
      [
        {
          type: 'assistant',
          message: { role: 'assistant', content: [{ type: 'tool_use', name: 'refund' }] },
        },
      ],
    ],
    ['of Bedrock', [{ role: 'assistant', content: [{ toolUse: { name: 'refund', input: {} } }] }]],
    ['of Strands', [{ role: 'assistant', content: [{ type: 'toolUseBlock', name: 'refund', input: {} }] }]],
    ['of Mastra', [{ role: 'assistant', content: { format: 2, parts: [{ type: 'tool-invocation' }] } }]],
    ['of OpenAI, as calls', [{ id: '1', type: 'function', function: { name: 'refund', arguments: '{}' } }]],
    ['of a shell', [{ type: 'shell_call', call_id: '1', action: { commands: ['rm'] } }]],
  ])('are refused, %s: read as no call, what was done would be what was not', (_name, messages) => {
    for (const source of [messages, { messages }]) {
      expect(() => readTrajectory(source)).toThrow(/a shape that is not known .*Give the `trace` fixture/)
    }
  })

  it.each<[string, object[]]>([
    [
      'texts and media',
      [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://a/' } }] }],
    ],
    [
      'what is approved',
      [{ role: 'tool', content: [{ type: 'tool-approval-response', approvalId: '1', approved: true }] }],
    ],
    [
      'items in which no call is',
      [
        { type: 'item_reference', id: '1' },
        { type: 'reasoning', summary: [] },
      ],
    ],
  ])('are none where no call can be missed: %s', (_name, messages) => {
    expect(readTrajectory(messages)).toEqual([])
  })

  it('has what a tool gave in the history of the Agents SDK', () => {
    const history = [
      { type: 'message', role: 'user', content: 'hi' },
      { type: 'function_call', id: 'fc', callId: '1', name: 'refund', arguments: '{"id":"7"}' },
      {
        type: 'function_call_result',
        callId: '1',
        name: 'refund',
        output: { type: 'text', text: '{"ok":true}' },
      },
    ]
    expect(readTrajectory(history)).toEqual([
      { name: 'refund', args: { id: '7' }, toolCallId: '1', outcome: 'completed', result: { ok: true } },
    ])
  })
})
