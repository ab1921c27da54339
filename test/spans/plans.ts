import fc from 'fast-check'
import { GATE_POINTS, type GatePoint } from 'hookspan/gates'

/** A run as plain data: what an agent does, who decides on it, and how it ends. */
export interface RunPlan {
  readonly agentName?: string | undefined
  readonly agentId?: string | undefined
  readonly userId?: string | undefined
  readonly conversationId?: string | undefined
  readonly input?: unknown
  readonly instructions?: string | undefined
  readonly attributes?: Readonly<Record<string, string | number | boolean>> | undefined
  readonly gates: readonly GatePlan[]
  /** The run is without one of the dispatcher's gates. */
  readonly disables: boolean
  readonly steps: readonly StepPlan[]
  readonly end:
    | 'complete'
    | 'last word'
    | 'max_steps'
    | 'error without a cause'
    | 'fail'
    | 'interrupt'
    | 'leave open'
}

export interface StepPlan {
  readonly stepType?: string | undefined
  readonly parallel: boolean
  readonly calls: readonly CallPlan[]
  readonly end: 'return' | 'throw'
  /** The signal of the whole tree is aborted when this step begins. */
  readonly aborts: boolean
  /** The run, unless it is another's, is parked behind it, and goes on out of JSON. */
  readonly parks: boolean
}

export type CallPlan = ToolPlan | LlmPlan | AgentPlan | CompactPlan | HumanPlan

export interface ToolPlan {
  readonly kind: 'tool'
  readonly name: 'search' | 'book' | 'mocked' | 'replaced' | 'broken mock'
  readonly args: unknown
  readonly description?: string | undefined
  readonly toolCallId?: 'repeated' | undefined
  readonly source: 'local' | 'mcp'
  readonly body:
    | 'return'
    | 'throw'
    | 'throw nothing'
    | 'report failure'
    | 'say failure'
    | 'hang'
    | 'stop the run'
  readonly result: unknown
  /** Made by the code of the tool. */
  readonly inner: readonly CallPlan[]
}

const REPLIES = [
  ...([
    'chat',
    'responses',
    'messages',
    'provider ran',
    'odd',
    'scripted',
    'throw',
    'scripted failure',
  ] as const),
  ...(['read', 'abandoned', 'failed', 'never read'] as const),
]

export interface LlmPlan {
  readonly kind: 'llm'
  readonly request: Readonly<Record<string, unknown>>
  readonly server: boolean
  readonly operationName?: 'embeddings' | undefined
  readonly reply: (typeof REPLIES)[number]
  readonly usage: boolean
}

export interface AgentPlan {
  readonly kind: 'agent'
  readonly name?: string | undefined
  readonly id?: string | undefined
  readonly body:
    | 'run'
    | 'run remotely'
    | 'answer'
    | 'answer remotely'
    | 'fail'
    | 'fail remotely'
    | 'give up remotely'
    | 'throw'
    | 'hang'
  readonly child: RunPlan
}

export interface CompactPlan {
  readonly kind: 'compact'
  readonly body: 'return' | 'empty' | 'throw'
}

/** A human whom the runtime asks itself. */
export interface HumanPlan {
  readonly kind: 'human'
  readonly answer: 'approve' | 'edit' | 'reject' | 'timeout' | 'error' | 'none'
}

export interface GatePlan {
  readonly point: GatePoint
  readonly decision: 'proceed' | 'mutate' | 'skip' | 'deny' | 'stop' | 'ask' | 'throw' | 'nonsense' | 'hang'
  readonly runtime: 'function' | 'command' | 'http'
  readonly shadow: boolean
  readonly open: boolean
  readonly human: 'approve' | 'edit' | 'reject' | 'reject and stop' | 'timeout' | 'error' | 'wrong'
}

const text = fc.constantFrom('', 'hi', 'größer', '{"a":1}', '[1, 2]', '{"content":"x"}', 'a'.repeat(200))
const json: fc.Arbitrary<unknown> = fc.oneof(
  text,
  fc.constantFrom(null, 7, true, [1, 'two'], { content: 'one field' }, { isError: true, content: 'no' }),
  fc.dictionary(fc.constantFrom('city', 'n', 'deep'), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
)
const maybe = <T>(arb: fc.Arbitrary<T>) => fc.option(arb, { nil: undefined })

const request = fc.record(
  {
    messages: fc.array(fc.record({ role: fc.constantFrom('system', 'user', 'assistant'), content: text }), {
      maxLength: 3,
    }),
    temperature: fc.constantFrom(0, 0.5),
    max_tokens: fc.constant(100),
    stop: fc.constantFrom('END', ['a', 'b']),
    n: fc.constantFrom(1, 3),
    tools: fc.constant([{ type: 'function', function: { name: 'search', parameters: { type: 'object' } } }]),
  },
  { requiredKeys: [] },
)

const gate: fc.Arbitrary<GatePlan> = fc.record({
  point: fc.constantFrom(
    ...GATE_POINTS,
    'beforeToolCall',
    'beforeToolCall',
    'afterToolCall',
    'beforeLlmCall',
  ),
  decision: fc.constantFrom(
    'proceed',
    'mutate',
    'skip',
    'deny',
    'stop',
    'ask',
    'ask',
    'throw',
    'nonsense',
    'hang',
  ),
  runtime: fc.constantFrom('function', 'function', 'command', 'http'),
  shadow: fc.boolean(),
  open: fc.boolean(),
  human: fc.constantFrom('approve', 'edit', 'reject', 'reject and stop', 'timeout', 'error', 'wrong'),
})

const leaf: fc.Arbitrary<CallPlan> = fc.oneof(
  fc.record({
    kind: fc.constant('llm' as const),
    request,
    server: fc.boolean(),
    operationName: maybe(fc.constant('embeddings' as const)),
    reply: fc.constantFrom(...REPLIES),
    usage: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('compact' as const), body: fc.constantFrom('return', 'empty', 'throw') }),
  fc.record({
    kind: fc.constant('human' as const),
    answer: fc.constantFrom('approve', 'edit', 'reject', 'timeout', 'error', 'none'),
  }),
)

const tool = (inner: fc.Arbitrary<CallPlan[]>): fc.Arbitrary<ToolPlan> =>
  fc.record({
    kind: fc.constant('tool' as const),
    name: fc.constantFrom('search', 'search', 'book', 'mocked', 'replaced', 'broken mock'),
    args: json,
    description: maybe(text),
    toolCallId: maybe(fc.constant('repeated' as const)),
    source: fc.constantFrom('local', 'mcp'),
    body: fc.constantFrom(
      ...(['return', 'return', 'throw', 'throw nothing', 'report failure', 'say failure', 'hang'] as const),
      'stop the run' as const,
    ),
    result: json,
    inner,
  })

/** Runs that call agents up to `depth` levels down. */
export function runPlan(depth: number): fc.Arbitrary<RunPlan> {
  const agent = (): fc.Arbitrary<AgentPlan> =>
    fc.record({
      kind: fc.constant('agent' as const),
      name: maybe(fc.constantFrom('researcher', 'search')),
      id: maybe(fc.constant('agent-7')),
      body: fc.constantFrom(
        'run',
        'run',
        'run remotely',
        'answer',
        'answer remotely',
        'fail',
        'fail remotely',
        'give up remotely',
        'throw',
        'hang',
      ),
      child: runPlan(depth - 1),
    })
  const nested = depth > 0 ? fc.oneof(leaf, agent()) : leaf
  const call = fc.oneof(tool(fc.array(nested, { maxLength: 2 })), leaf, ...(depth > 0 ? [agent()] : []))
  return fc.record({
    agentName: maybe(fc.constantFrom('support', 'researcher')),
    agentId: maybe(fc.constant('agent-1')),
    userId: maybe(fc.constant('u1')),
    conversationId: maybe(fc.constant('c1')),
    input: maybe(json),
    instructions: maybe(text),
    attributes: maybe(fc.constant({ tenant: 'acme', tier: 3, beta: true })),
    gates: fc.array(gate, { maxLength: 4 }),
    disables: fc.boolean(),
    steps: fc.array(
      fc.record({
        stepType: maybe(fc.constant('call_llm')),
        parallel: fc.boolean(),
        calls: fc.array(call, { maxLength: 3 }),
        end: fc.constantFrom('return', 'return', 'return', 'throw'),
        aborts: fc.integer({ min: 0, max: 20 }).map((n) => n === 0),
        parks: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
      }),
      { maxLength: 2 },
    ),
    end: fc.constantFrom(
      'complete',
      'complete',
      'last word',
      'max_steps',
      'error without a cause',
      'fail',
      'interrupt',
      'leave open',
    ),
  })
}
