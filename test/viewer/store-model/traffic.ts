/** Random runs, as hookspan and as other instrumentation tell them. */
import type { Random } from './random.ts'
import type { Attributes, Gate, Meaning, SentLog, SentSpan } from './sent.ts'

export const WORDS = [
  'apple',
  'Banana',
  'cherry',
  'order',
  'refund',
  'naïve',
  'Straße',
  'café',
  'ÅNGSTRÖM',
  'Ωμέγα',
  'привет',
  'שלום',
  'مرحبا',
  '東京',
  'नमस्ते',
  '部署v2失敗了',
  '失敗',
  'สวัสดีชาวโลก',
  "O'Brien",
  'x2',
  '4711',
  '-17',
  'SELECT * FROM run;--',
  '100%',
  '(a+)+$',
  '"quoted"',
  '\\backslash',
  '😀',
  'cut\ud800off',
  '\u202eright-to-left',
  'snake_case_word',
  'a.b@c.example',
  'https://example.com/path?q=1',
  `long${'g'.repeat(90)}`,
] as const
const TOOLS = [
  'search',
  'read_file',
  'write',
  'say "hi"',
  "o'brien",
  '100%',
  'a*b',
  'App\\Tools\\Read',
  'שלום',
  '東京',
  'tab\there',
  'half\ud800',
  `${'t'.repeat(210)}`,
  `${'e'.repeat(199)}😀`,
  '__proto__',
  'constructor',
  "'; DROP TABLE run;--",
] as const
const AGENTS = ['support', 'Support', 'research team', 'a"b', 'مساعد'] as const
const MODELS = ['zz-large', 'zz-small', 'zz/mini:free'] as const
const ERRORS = ['no such order', 'timed out', "it's broken", 'שגיאה'] as const
const GATES = ['budget', 'no "rm"', 'pii'] as const
const PEOPLE = ['ines', 'ada'] as const

export type Dialect = 'hookspan' | 'openinference' | 'traceloop' | 'ai-sdk' | 'older'
const DIALECTS: readonly Dialect[] = [
  'hookspan',
  'hookspan',
  'hookspan',
  'openinference',
  'traceloop',
  'ai-sdk',
  'older',
]

/** A run's spans, each as it was sent from its beginning to its end. */
export interface Traffic {
  spans: SentSpan[]
  logs: SentLog[]
}

export function randomRun(random: Random, beginUs: number): Traffic {
  return new RunMaker(random, beginUs).make()
}

interface Made {
  spanId: string
  startUs: number
}

class RunMaker {
  readonly #random: Random
  readonly #traceId: string
  readonly #dialect: Dialect
  readonly #resource: number
  readonly #conversation: string
  readonly #sendsStarts: boolean
  /** What begins after it, or ends, is not told any more: the process died. */
  readonly #diesUs: number
  readonly #spans: SentSpan[] = []
  readonly #logs: SentLog[] = []
  #atUs: number
  #left: number
  #ids = 0
  readonly #counts: boolean

  constructor(random: Random, beginUs: number) {
    this.#random = random
    this.#traceId = random.hex(32).replace(/^0/, '1')
    this.#dialect = random.pick(DIALECTS)
    this.#resource = random.between(0, 3)
    this.#conversation = random.chance(0.4) ? `talk ${random.pick(WORDS)}` : ''
    this.#sendsStarts = this.#dialect === 'hookspan' && random.chance(0.6)
    this.#counts = random.chance(0.3)
    this.#atUs = beginUs
    this.#left = random.between(1, 24)
    this.#diesUs = random.chance(0.2) ? beginUs + random.between(1, 60_000) : Number.POSITIVE_INFINITY
  }

  make(): Traffic {
    const random = this.#random
    const roots = random.chance(0.08) ? 2 : 1
    for (let root = 0; root < roots; root++) this.#agent('', 0)
    let spans = this.#spans
    // Some never come.
    if (random.chance(0.12)) spans = spans.filter(() => !random.chance(0.25))
    if (random.chance(0.03) && spans.length > 2) this.#ring(spans)
    return { spans, logs: this.#logs }
  }

  #ring(spans: SentSpan[]): void {
    const [first, second] = [
      spans[0]!.spanId,
      spans.find(({ spanId }) => spanId !== spans[0]!.spanId)?.spanId,
    ]
    if (second === undefined) return
    for (const span of spans) {
      if (span.spanId === first) span.parentSpanId = second
      if (span.spanId === second) span.parentSpanId = first
    }
  }

  #agent(parent: string, depth: number): void {
    const random = this.#random
    const name = random.pick(AGENTS)
    const reason = random.pick(['done', 'done', 'done', 'error', 'denied', 'interrupted', 'max_steps'])
    const failed = reason === 'error' || (this.#dialect !== 'hookspan' && random.chance(0.15))
    const told: Record<Dialect, Attributes> = {
      hookspan: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
      older: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
      openinference: { 'openinference.span.kind': 'AGENT', 'agent.name': name, 'input.value': this.#text() },
      traceloop: { 'traceloop.span.kind': 'workflow', 'traceloop.entity.name': name },
      'ai-sdk': { 'ai.operationId': 'ai.generateText', 'ai.telemetry.functionId': name },
    }
    const conversation = this.#conversationAttributes()
    const ending: Attributes = {}
    const means: Meaning = {
      category: 'agent',
      label: name,
      conversationId: Object.values(conversation)[0] as string,
    }
    const ended: Meaning = { ...means }
    if (this.#dialect === 'hookspan' && random.chance(0.9)) {
      ending['hookspan.operation.reason'] = reason
      ended.reason = reason
      if (random.chance(0.7))
        ending['gen_ai.output.messages'] = messages('assistant', this.#text(), random.chance(0.5))
    }
    const spanName = this.#dialect === 'traceloop' ? `${name}.workflow` : `invoke_agent ${name}`
    this.#span(
      {
        parent,
        name: spanName,
        begun: { ...told[this.#dialect], ...conversation },
        ending,
        means,
        ended,
        ...(failed && { error: this.#error() }),
      },
      ({ spanId }) => {
        const steps = random.between(1, 3)
        for (let step = 0; step < steps && this.#left > 0; step++) this.#step(spanId, step, depth)
      },
    )
  }

  #step(parent: string, index: number, depth: number): void {
    const inside = (spanId: string) => {
      this.#call(spanId)
      const tools = this.#random.between(0, 3)
      for (let tool = 0; tool < tools && this.#left > 0; tool++) this.#tool(spanId, depth)
      if (this.#random.chance(0.08)) this.#compact(spanId)
    }
    if (this.#dialect !== 'hookspan') return inside(parent)
    const means = { category: 'step', label: `step ${index}` }
    this.#span(
      { parent, name: 'step', begun: { 'hookspan.step.index': index }, ending: {}, means, ended: means },
      ({ spanId }) => inside(spanId),
    )
  }

  #call(parent: string, isInner = false): void {
    const random = this.#random
    const model = random.pick(MODELS)
    const [inputTokens, outputTokens, cachedTokens] = [
      random.between(0, 5_000),
      random.between(0, 500),
      random.between(0, 50),
    ]
    const costUsd = random.chance(0.7) ? random.between(1, 1_000) / 10_000 : 0
    const asked = messages('user', this.#text(), random.chance(0.5))
    const said = messages('assistant', this.#text(), random.chance(0.5))
    const number = (value: number): string | number => (random.chance(0.1) ? String(value) : value)
    const told: Record<Dialect, [begun: Attributes, ending: Attributes]> = {
      hookspan: [
        { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model, 'gen_ai.input.messages': asked },
        {
          'gen_ai.usage.input_tokens': inputTokens,
          'gen_ai.usage.output_tokens': outputTokens,
          'gen_ai.usage.cache_read.input_tokens': cachedTokens,
          'gen_ai.output.messages': said,
          ...(costUsd > 0 && { 'hookspan.cost_usd': costUsd }),
        },
      ],
      older: [
        { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model, 'gen_ai.system': 'zz' },
        {
          'gen_ai.usage.prompt_tokens': number(inputTokens),
          'gen_ai.usage.completion_tokens': number(outputTokens),
          'gen_ai.usage.cached_input_tokens': cachedTokens,
          ...(costUsd > 0 && {
            'gen_ai.usage.input_cost': costUsd / 2,
            'gen_ai.usage.output_cost': costUsd / 2,
          }),
        },
      ],
      openinference: [
        {
          'openinference.span.kind': 'LLM',
          'llm.model_name': model,
          'input.value': asked,
          'llm.input_messages.0.message.content': this.#text(),
        },
        {
          'llm.token_count.prompt': number(inputTokens),
          'llm.token_count.completion': outputTokens,
          'llm.token_count.prompt_details.cache_read': cachedTokens,
          'output.value': said,
          ...(costUsd > 0 && { 'llm.cost.total': costUsd }),
        },
      ],
      traceloop: [
        {
          'llm.request.type': 'chat',
          'gen_ai.request.model': model,
          'gen_ai.prompt.0.content': this.#text(),
          'gen_ai.prompt.0.role': 'user',
        },
        {
          'llm.usage.prompt_tokens': inputTokens,
          'llm.usage.completion_tokens': outputTokens,
          'gen_ai.usage.cache_read_input_tokens': cachedTokens,
          'gen_ai.completion.0.content': this.#text(),
          ...(costUsd > 0 && { 'gen_ai.usage.cost': costUsd }),
        },
      ],
      'ai-sdk': [
        { 'ai.operationId': 'ai.generateText.doGenerate', 'ai.model.id': model, 'ai.prompt.messages': asked },
        {
          'ai.usage.inputTokens': inputTokens,
          'ai.usage.outputTokens': outputTokens,
          'ai.usage.cachedInputTokens': cachedTokens,
          'ai.response.text': this.#text(),
          ...(costUsd > 0 && { 'gen_ai.usage.cost': costUsd }),
        },
      ],
    }
    const [begun, ending] = told[this.#dialect]
    const means: Meaning = { category: 'llm', label: model }
    const ended: Meaning = { ...means, inputTokens, outputTokens, cachedTokens, costUsd }
    const error = random.chance(0.1) ? this.#error() : undefined
    this.#span({ parent, name: `chat ${model}`, begun, ending, means, ended, error }, ({ spanId }) => {
      // Told twice, by the SDK and by what is around it.
      if (!isInner && random.chance(0.1)) this.#call(spanId, true)
    })
  }

  #tool(parent: string, depth: number): void {
    const random = this.#random
    const tool = random.pick(TOOLS)
    const callId = `call_${random.hex(6)}`
    const text = JSON.stringify({ query: this.#text() })
    const told: Record<Dialect, [begun: Attributes, result: string]> = {
      hookspan: [
        {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': tool,
          'gen_ai.tool.call.id': callId,
          'gen_ai.tool.call.arguments': text,
        },
        'gen_ai.tool.call.result',
      ],
      older: [
        {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': tool,
          'gen_ai.tool.call.id': callId,
          'gen_ai.tool.args': text,
        },
        'gen_ai.output',
      ],
      openinference: [
        { 'openinference.span.kind': 'TOOL', 'tool.name': tool, 'tool_call.id': callId, 'input.value': text },
        'output.value',
      ],
      traceloop: [
        {
          'traceloop.span.kind': 'tool',
          'ai.toolCall.name': tool,
          'tool_call.id': callId,
          'traceloop.entity.input': text,
        },
        'traceloop.entity.output',
      ],
      'ai-sdk': [
        {
          'ai.operationId': 'ai.toolCall',
          'ai.toolCall.name': tool,
          'ai.toolCall.id': callId,
          'ai.toolCall.args': text,
        },
        'ai.toolCall.result',
      ],
    }
    const [begun, result] = told[this.#dialect]
    const means: Meaning = { category: 'tool', label: tool, callId }
    const ended: Meaning = { ...means }
    const ending: Attributes = { [result]: JSON.stringify({ content: this.#text() }) }
    const gates: Gate[] = []
    let error: string | undefined
    let parked = false
    if (this.#dialect === 'hookspan') {
      const outcome = random.pick([
        'completed',
        'completed',
        'completed',
        'mocked',
        'skipped',
        'errored',
        'denied',
        'rejected',
        'waiting',
      ])
      parked = outcome === 'waiting' && this.#sendsStarts
      if (!parked && outcome !== 'waiting') {
        ending['hookspan.tool.outcome'] = outcome
        ended.outcome = outcome
        ended.mocked = outcome === 'mocked'
        ending['hookspan.tool.mocked'] = ended.mocked
      }
      if (['errored', 'denied', 'rejected'].includes(outcome)) error = this.#error()
      if (random.chance(0.3)) gates.push(this.#gate())
    } else if (random.chance(0.15)) error = this.#error()
    if (gates.length > 0) ended.gates = gates
    const parks = parked
      ? { begun: { 'hookspan.operation.waiting_for': 'human' }, means: { outcome: 'waiting' } }
      : undefined
    this.#span(
      { parent, name: `execute_tool ${tool}`, begun, ending, means, ended, error, gates, parks },
      ({ spanId }) => {
        if (this.#dialect === 'hookspan') {
          if (random.chance(0.15)) this.#gateSpan(spanId)
          if (random.chance(0.15)) this.#human(spanId)
        }
        if (depth < 3 && random.chance(0.15) && this.#left > 0) this.#agent(spanId, depth + 1)
      },
    )
  }

  #gate(): Gate {
    const random = this.#random
    return {
      id: random.pick(GATES),
      decision: random.pick(['proceed', 'proceed', 'deny', 'mutate', 'skip', 'require_approval']),
      enforced: random.chance(0.7),
      timeUs: this.#atUs,
      ...(random.chance(0.5) && { reason: random.pick(ERRORS) }),
      ...(random.chance(0.5) && { durationMs: random.between(0, 20) }),
    }
  }

  #gateSpan(parent: string): void {
    const gate = { ...this.#gate(), timeUs: 0 }
    const means: Meaning = { category: 'gate', label: gate.id, gates: [gate] }
    const attributes = gateAttributes(gate)
    this.#span(
      { parent, name: `gate ${gate.id}`, begun: attributes, ending: {}, means, ended: means },
      () => {},
    )
  }

  #human(parent: string): void {
    const random = this.#random
    const action = random.pick(['approve', 'approve', 'edit', 'reject', 'reject_and_stop', 'expire'])
    const approver = action === 'expire' ? '' : random.pick(PEOPLE)
    const waitedMs = random.between(1, 100_000)
    const ending: Attributes = { 'hookspan.human.action': action, 'hookspan.human.waited_ms': waitedMs }
    if (approver) ending['hookspan.human.approver'] = approver
    const means: Meaning = { category: 'human', label: '', human: {} }
    const ended: Meaning = { ...means, human: { action, waitedMs, ...(approver && { approver }) } }
    this.#span({ parent, name: 'human_intervention', begun: {}, ending, means, ended }, () => {})
  }

  #compact(parent: string): void {
    const means = { category: 'compact', label: '' }
    const ending = { 'hookspan.compaction.tokens_before': 900, 'hookspan.compaction.tokens_after': 90 }
    this.#span({ parent, name: 'compact_context', begun: {}, ending, means, ended: means }, () => {})
  }

  #span(
    {
      parent,
      name,
      begun,
      ending,
      means,
      ended,
      error,
      gates = [],
      parks,
    }: {
      parent: string
      name: string
      begun: Attributes
      ending: Attributes
      means: Meaning
      ended: Meaning
      error?: string | undefined
      gates?: Gate[]
      parks?: { begun: Attributes; means: Partial<Meaning> } | undefined
    },
    inside: (made: Made) => void,
  ): void {
    const random = this.#random
    this.#left--
    this.#ids++
    // Some count their spans: other runs have the same ids.
    const spanId = this.#counts
      ? this.#ids.toString(16).padStart(16, '0')
      : `${this.#ids.toString(16)}${random.hex(14)}`.slice(0, 16).padEnd(16, '1')
    const startUs = this.#tick()
    // Another process has another clock.
    const skewUs = parent !== '' && random.chance(0.05) ? random.between(-3_000, 3_000) : 0
    const at = {
      traceId: this.#traceId,
      spanId,
      parentSpanId: parent,
      name,
      resource: this.#resourceOf(),
      scope: random.between(0, 1),
    }
    const begin = startUs + skewUs
    const sends = this.#sendsStarts && startUs < this.#diesUs && random.chance(0.9)
    if (sends) {
      const attributes = { ...begun, 'hookspan.span.state': 'started' }
      const endUs = random.pick([0, begin, begin + random.between(0, 9_000)])
      this.#spans.push({
        ...at,
        startUs: begin,
        endUs,
        attributes,
        events: [],
        means: { ...means, started: true },
      })
    }
    inside({ spanId, startUs })
    const endUs = this.#tick() + skewUs
    if (parks) {
      const attributes = { ...begun, ...parks.begun, 'hookspan.span.state': 'started' }
      this.#spans.push({
        ...at,
        startUs: begin,
        endUs: random.pick([begin, begin + random.between(0, 9_000), endUs]),
        attributes,
        events: [],
        means: { ...means, ...parks.means, started: true },
      })
      if (random.chance(0.5)) return
    }
    if (endUs - skewUs >= this.#diesUs) return
    const events = gates.map((gate) => ({
      name: 'hookspan.gate',
      timeUs: gate.timeUs,
      attributes: gateAttributes(gate),
    }))
    if (random.chance(0.1)) events.push({ name: 'noted', timeUs: endUs, attributes: { text: this.#text() } })
    this.#spans.push({
      ...at,
      startUs: begin,
      endUs: random.chance(0.03) ? begin - 500 : endUs,
      attributes: {
        ...begun,
        ...ending,
        ...(random.chance(0.1) && {
          extra: [this.#text(), random.between(-5, 99_999), { deep: this.#text() }],
        }),
      },
      events,
      means: ended,
      ...(error !== undefined && { error }),
    })
    if (random.chance(0.04)) {
      const body = random.chance(0.5) ? this.#text() : { text: this.#text() }
      this.#logs.push({
        traceId: this.#traceId,
        spanId,
        timeUs: endUs + this.#logs.length,
        eventName: 'logged',
        body,
      })
    }
  }

  /** Mostly later, now and then at the same moment. */
  #tick(): number {
    if (!this.#random.chance(0.1)) this.#atUs += this.#random.between(1, 6_000)
    return this.#atUs
  }

  #resourceOf(): number {
    return this.#random.chance(0.05) ? this.#random.between(0, 3) : this.#resource
  }

  #conversationAttributes(): Attributes {
    if (this.#conversation === '') return {}
    const keys: Record<Dialect, string> = {
      hookspan: 'gen_ai.conversation.id',
      older: 'gen_ai.conversation.id',
      openinference: 'session.id',
      traceloop: 'traceloop.association.properties.session_id',
      'ai-sdk': 'ai.telemetry.metadata.sessionId',
    }
    return { [keys[this.#dialect]]: this.#conversation }
  }

  #error(): string {
    return this.#random.chance(0.1) ? '' : this.#random.pick(ERRORS)
  }

  #text(): string {
    const random = this.#random
    return Array.from({ length: random.between(1, 6) }, () => random.pick(WORDS)).join(
      random.pick([' ', ' ', '\n', ', ', '-']),
    )
  }
}

function gateAttributes(gate: Gate): Attributes {
  return {
    'hookspan.gate.id': gate.id,
    'hookspan.gate.decision': gate.decision,
    'hookspan.gate.enforced': gate.enforced,
    ...(gate.reason !== undefined && { 'hookspan.gate.reason': gate.reason }),
    ...(gate.durationMs !== undefined && { 'hookspan.gate.duration_ms': gate.durationMs }),
  }
}

/** As the conventions write them; by Python's JSON, whatever is not ASCII is an escape. */
function messages(role: string, content: string, isAscii: boolean): string {
  const json = JSON.stringify([{ role, parts: [{ type: 'text', content }] }])
  if (!isAscii) return json
  return json.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
