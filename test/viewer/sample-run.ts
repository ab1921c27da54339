/** A run in which everything happens that the viewer has a row for, in the shape our tracing sends it. */
import { id, otlp, type TestSpan } from './support.ts'

export const SAMPLE_TRACE = '5a3b1e'.padEnd(32, '7')

const SYSTEM = [
  {
    type: 'text',
    content: 'You are the support agent of a small airline. Be brief. Ask before you delete or pay.',
  },
]
const TOOLS = [
  {
    type: 'function',
    name: 'search_bookings',
    description: 'Finds bookings of a customer.',
    parameters: { type: 'object', properties: { customer: { type: 'string' } }, required: ['customer'] },
  },
  {
    type: 'function',
    name: 'cancel_booking',
    description: 'Cancels a booking.',
    parameters: { type: 'object', properties: { booking: { type: 'string' }, refund: { type: 'boolean' } } },
  },
  {
    type: 'function',
    name: 'drop_table',
    description: 'Runs a statement.',
    parameters: { type: 'object', properties: { sql: { type: 'string' } } },
  },
]
const user = (content: string) => ({ role: 'user', parts: [{ type: 'text', content }] })
const call = (callId: string, name: string, args: object) => ({
  type: 'tool_call',
  id: callId,
  name,
  arguments: args,
})
const result = (callId: string, response: unknown) => ({
  role: 'tool',
  parts: [{ type: 'tool_call_response', id: callId, response }],
})
const assistant = (...parts: object[]) => ({ role: 'assistant', parts })

const ASK = 'Hi, I am Mei Sato. Please cancel my flight to Lisbon next week and tell me what I get back.'
const FOUND = {
  bookings: [
    { id: 'LX-2041', to: 'Lisbon', on: '2026-11-30', fare: 'flex', paidUsd: 412.5 },
    { id: 'LX-1180', to: 'Oslo', on: '2027-01-12', fare: 'light', paidUsd: 188 },
  ],
}
const TURN_1 = assistant(
  { type: 'reasoning', content: 'I need the booking first. There may be several.' },
  call('call_1', 'search_bookings', { customer: 'Mei Sato' }),
)
const TURN_2 = assistant(
  { type: 'text', content: 'I found it. Let me have the refund rules checked.' },
  call('call_2', 'researcher', { instruction: 'What does the flex fare refund nine days before departure?' }),
  call('call_3', 'drop_table', { sql: 'DROP TABLE bookings' }),
)
const RULES = 'Flex fares are refunded in full up to **24 hours** before departure, less a fee of USD 15.'
const TURN_3 = assistant(call('call_4', 'cancel_booking', { booking: 'LX-2041', refund: true }))
const ANSWER =
  'Your flight to Lisbon (LX-2041) is cancelled. You get **USD 397.50** back: the full fare less a fee of USD 15. It takes three to five days.'
const SUMMARY =
  'Mei Sato asked to cancel LX-2041 to Lisbon. Flex fare: full refund less USD 15. A statement to drop a table was denied by policy.'
const H1 = [user(ASK)]
const H2 = [...H1, TURN_1, result('call_1', FOUND)]
const H4 = [user(SUMMARY), TURN_3, result('call_4', { cancelled: 'LX-2041', refundUsd: 397.5 })]

function chat(
  spanId: string,
  parentSpanId: string,
  at: [number, number],
  input: object[],
  output: object,
  tokens: [number, number, number?],
  extra: TestSpan['attributes'] = {},
): TestSpan {
  return {
    spanId,
    parentSpanId,
    name: 'chat gpt-4o',
    kind: 3,
    start: at[0],
    end: at[1],
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.response.model': 'gpt-4o-2024-11-20',
      'gen_ai.usage.input_tokens': tokens[0],
      'gen_ai.usage.output_tokens': tokens[1],
      ...(tokens[2] ? { 'gen_ai.usage.cache_read.input_tokens': tokens[2] } : {}),
      'hookspan.cost_usd': tokens[0] * 2.5e-6 + tokens[1] * 1e-5,
      'gen_ai.system_instructions': JSON.stringify(SYSTEM),
      'gen_ai.tool.definitions': JSON.stringify(TOOLS),
      'gen_ai.input.messages': JSON.stringify(input),
      'gen_ai.output.messages': JSON.stringify([output]),
      ...extra,
    },
  }
}

function tool(
  spanId: string,
  parentSpanId: string,
  at: [number, number],
  name: string,
  callId: string,
  args: object,
  resultValue: unknown,
  outcome = 'completed',
  more: Partial<TestSpan> = {},
): TestSpan {
  return {
    spanId,
    parentSpanId,
    name: `execute_tool ${name}`,
    start: at[0],
    end: at[1],
    ...more,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': callId,
      'gen_ai.tool.call.arguments': JSON.stringify(args),
      ...(resultValue === undefined ? {} : { 'gen_ai.tool.call.result': JSON.stringify(resultValue) }),
      'hookspan.tool.outcome': outcome,
      'hookspan.tool.source': 'local',
      'hookspan.tool.identifier': 'local',
      ...(outcome === 'mocked' ? { 'hookspan.tool.mocked': true } : {}),
      ...more.attributes,
    },
  }
}

const gate = (
  at: number,
  gateId: string,
  decision: string,
  durationMs: number,
  more: Record<string, string | boolean> = {},
) => ({
  name: 'hookspan.gate',
  at,
  attributes: {
    'hookspan.gate.id': gateId,
    'hookspan.gate.decision': decision,
    'hookspan.gate.enforced': true,
    'hookspan.gate.duration_ms': durationMs,
    ...more,
  },
})
const step = (spanId: string, index: number, at: [number, number], parentSpanId = id(1)): TestSpan => ({
  spanId,
  parentSpanId,
  name: `step ${index}`,
  start: at[0],
  end: at[1],
  attributes: { 'hookspan.step.index': index },
})

export const SAMPLE_SPANS: TestSpan[] = [
  {
    spanId: id(1),
    name: 'invoke_agent support',
    start: 0,
    end: 21_400,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'support',
      'gen_ai.conversation.id': 'conv-mei-sato',
      'hookspan.operation.id': 'op_support_1',
      'hookspan.operation.reason': 'done',
      'gen_ai.input.messages': JSON.stringify(H1),
      'gen_ai.output.messages': JSON.stringify([assistant({ type: 'text', content: ANSWER })]),
    },
  },
  step(id(2), 0, [20, 2_650]),
  chat(id(3), id(2), [40, 1_850], H1, TURN_1, [1_180, 46]),
  tool(id(4), id(2), [1_870, 2_630], 'search_bookings', 'call_1', { customer: 'Mei Sato' }, FOUND, 'mocked', {
    events: [gate(1_872, 'tool-policy', 'proceed', 0.4)],
  }),
  step(id(5), 1, [2_660, 9_400]),
  chat(id(6), id(5), [2_680, 4_720], H2, TURN_2, [1_420, 88, 1_024]),
  tool(
    id(7),
    id(5),
    [4_740, 4_790],
    'drop_table',
    'call_3',
    { sql: 'DROP TABLE bookings' },
    { denied: true, code: 'policy', reason: 'Destructive SQL is not allowed.' },
    'denied',
    { events: [gate(4_745, 'sql-guard', 'deny', 1.8, { 'hookspan.gate.code': 'policy' })] },
  ),
  {
    spanId: id(8),
    parentSpanId: id(5),
    name: 'invoke_agent researcher',
    start: 4_740,
    end: 9_380,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'researcher',
      'hookspan.operation.id': 'op_researcher_1',
      'hookspan.operation.root_id': 'op_support_1',
      'hookspan.operation.reason': 'done',
    },
  },
  step(id(9), 0, [4_760, 9_370], id(8)),
  chat(
    id(10),
    id(9),
    [4_780, 6_300],
    [user('What does the flex fare refund nine days before departure?')],
    assistant(call('call_r1', 'fetch_page', { url: 'https://rules.example/fares' })),
    [640, 30],
  ),
  tool(
    id(11),
    id(9),
    [6_320, 6_900],
    'fetch_page',
    'call_r1',
    { url: 'https://rules.example/fares' },
    undefined,
    'errored',
    { error: 'connect ECONNREFUSED rules.example:443', attributes: { 'error.type': 'Error' } },
  ),
  tool(
    id(12),
    id(9),
    [6_910, 7_620],
    'fetch_page',
    'call_r2',
    { url: 'https://mirror.example/fares' },
    { text: RULES },
  ),
  chat(
    id(13),
    id(9),
    [7_640, 9_350],
    [
      user('What does the flex fare refund nine days before departure?'),
      assistant(call('call_r2', 'fetch_page', { url: 'https://mirror.example/fares' })),
      result('call_r2', { text: RULES }),
    ],
    assistant({ type: 'text', content: RULES }),
    [910, 52, 512],
  ),
  {
    spanId: id(14),
    parentSpanId: id(1),
    name: 'compact_context',
    start: 9_420,
    end: 11_080,
    attributes: {
      'hookspan.compaction.messages_before': 7,
      'hookspan.compaction.messages_after': 1,
      'hookspan.compaction.tokens_before': 14_200,
      'hookspan.compaction.tokens_after': 1_900,
      'hookspan.compaction.summary': SUMMARY,
    },
  },
  step(id(15), 2, [11_100, 18_900]),
  chat(id(16), id(15), [11_120, 12_800], [user(SUMMARY)], TURN_3, [1_900, 34], {
    'gen_ai.usage.reasoning.output_tokens': 12,
  }),
  tool(
    id(17),
    id(15),
    [12_820, 18_880],
    'cancel_booking',
    'call_4',
    { booking: 'LX-2041', refund: true },
    { cancelled: 'LX-2041', refundUsd: 397.5 },
    'completed',
    { events: [gate(12_830, 'ask-before-paying', 'require_approval', 2.1)] },
  ),
  {
    spanId: id(18),
    parentSpanId: id(17),
    name: 'human_intervention',
    start: 12_840,
    end: 18_240,
    attributes: {
      'hookspan.human.action': 'approve',
      'hookspan.human.approver': 'ines',
      'hookspan.human.channel': 'page',
      'hookspan.human.identity': 'claimed',
      'hookspan.human.waited_ms': 5_400,
    },
  },
  {
    spanId: id(19),
    parentSpanId: id(17),
    name: 'POST',
    kind: 3,
    start: 18_260,
    end: 18_860,
    attributes: {
      'http.request.method': 'POST',
      'url.full': 'https://bookings.example/LX-2041/cancel',
      'http.response.status_code': 200,
    },
  },
  step(id(20), 3, [18_920, 21_380]),
  {
    spanId: id(21),
    parentSpanId: id(20),
    name: 'gate budget-service',
    start: 18_930,
    end: 18_990,
    attributes: {
      'hookspan.gate.id': 'budget-service',
      'hookspan.gate.decision': 'deny',
      'hookspan.gate.enforced': false,
      'hookspan.gate.code': 'over_budget',
      'hookspan.gate.duration_ms': 60,
    },
  },
  chat(
    id(22),
    id(20),
    [19_000, 21_360],
    H4,
    assistant({ type: 'text', content: ANSWER }),
    [2_050, 61, 1_792],
  ),
]

/** The run, under another id, moved in time and changed when asked for. */
export function sampleRun(
  options: { traceId?: string; atMs?: number; edit?: (spans: TestSpan[]) => TestSpan[] } = {},
) {
  const spans = structuredClone(SAMPLE_SPANS)
  const edited = options.edit ? options.edit(spans) : spans
  const at = options.atMs ?? -30_000
  return otlp(
    edited.map((span) => ({
      ...span,
      traceId: options.traceId ?? SAMPLE_TRACE,
      start: (span.start ?? 0) + at,
      end: (span.end ?? 0) + at,
      events: span.events?.map((event) => ({ ...event, at: (event.at ?? 0) + at })),
    })),
    { 'service.name': 'airline-support' },
  )
}
